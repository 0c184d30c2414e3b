--[[
  Gives `is_of_bucket(x)` and `is_of_window(x)`: which kind of plan the field `x` says was charged last. Of a
  bucket `x` is when its key expires and how long it lives at least, in 0.1 the capacity, which is less;
  before another count, the tokens per microsecond. Of a window it is its kind, length and limit, in 0.1
  nothing; then how long it lives at least, if that is longer, and before another count in any case.
]]
local function is_of_bucket(x) return x and (#x == 16 or #x == 64) end
local function is_of_window(x) return x and (#x == 17 or #x == 25 or #x == 65) end
