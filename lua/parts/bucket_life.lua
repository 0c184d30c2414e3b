--[[
  Step: how long the key of a bucket has to live once it holds `tokens`. Gives `needed`, the time until
  which it must exist, and `lasts`, how long the slowest definition of its plan takes to fill a bucket:
  `span` is that of earlier charges, `fills` that of the definition at hand.

  Expects `tokens`, `span`, `fills`, `a`, `b`.
]]
local lasts = span > fills and span or fills
local needed = now + lasts
if tokens < 0 then
  local owed = tokens * b / a
  owed = owed % 1 - owed
  needed = needed + (owed < LONGEST and owed or LONGEST)
end
