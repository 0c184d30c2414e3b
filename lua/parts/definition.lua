--[[
  Gives `kind_of(x)`: 'bucket' or 'window', whichever the field `x` says was charged last, or nil. Of a
  bucket `x` is when its key expires and how long it lives at least, in 0.1 the capacity, which is less;
  before another count, the tokens per microsecond. Of a window it is its kind, length and limit, in 0.1
  nothing; then how long it lives at least, if that is longer, and before another count in any case.
]]
local function kind_of(x)
  local size = x and #x
  if size == 16 or size == 64 then return 'bucket' end
  if size == 17 or size == 25 or size == 65 then return 'window' end
end
