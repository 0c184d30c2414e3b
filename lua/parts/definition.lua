--[[
  Gives `kind_of(x)`: which kind of plan the field `x` says was charged last, nil where it does not say. Of a
  bucket `x` is when its key expires and how long it lives at least, in 0.1 the capacity, which is less;
  before another count, the tokens per microsecond. Of a window it is its kind, length and limit, in 0.1
  nothing; then how long it lives at least, if that is longer, and before another count in any case.
]]
local BUCKET, WINDOW = 1, 2

local function kind_of(x)
  local size = x and #x
  if size == 16 or size == 64 then return BUCKET end
  if size == 17 or size == 25 or size == 65 then return WINDOW end
end
