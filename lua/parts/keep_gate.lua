--[[
  Gives `keep_gate(key, ends, remembered, expires)`: the hash of a gate lives until then and as long as the gate is
  remembered (its field `x`), never shorter than it was to (`ends`, its field `e`): turns may be due later than
  the gate is remembered. Returns when it ends.
]]
-- @part expire_at

local function keep_gate(key, ends, remembered, expires)
  if expires < remembered then expires = remembered end
  if expires <= ends then return ends end
  call('HSET', key, 'e', text[expires])
  expire_at(key, expires)
  return expires
end
