--[[
  Gives `text[number]`: the number as Redis writes it. Redis writes out every number among the arguments of a
  command, which takes as long as the command itself; many are the same.
]]
local text = setmetatable({}, {
  __index = function(known, number)
    local written = string.format('%.17g', number)
    known[number] = written
    return written
  end,
})
