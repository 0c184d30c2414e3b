--[[
  Step: gives `left`, the whole tokens that remain at `level`, and `reset`, the microseconds until the bucket
  is full. x % 1 - x is -floor(x): it rounds -x up. Counterparts: TokenBucket.remaining and .resetUs in
  lib/core/token-bucket.ts.

  Expects `level`, `full`, `a`, `b`.
]]
local left = level + EPSILON
left = left >= 1 and left - left % 1 or 0
local reset = (level - full) * b / a
if reset < -LONGEST then reset = -LONGEST end
reset = reset % 1 - reset
