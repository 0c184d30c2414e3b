--[[
  Gives `text(number)`: the number as Redis writes it. Redis writes out every number among the arguments of a
  command, which takes as long as the command itself; many are the same.
]]
local texts = {}
local function text(number)
  local known = texts[number]
  if not known then
    known = string.format('%.17g', number)
    texts[number] = known
  end
  return known
end
