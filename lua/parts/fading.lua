--[[
  Gives `fading(length, since, prev, at)`: what is still counted of the previous window. Counterpart: fading in
  lib/core/sliding-window.ts.
]]
local function fading(length, since, prev, at)
  local elapsed = at - since
  if elapsed < 0 then elapsed = 0 end
  return prev * (length - elapsed) / length
end
