--[[
  Gives `expire_at(key, at)`: the key lives until that time, in microseconds.
]]
-- @part texts

local function expire_at(key, at)
  call('PEXPIRE', key, text(ceil((at - now) / 1000) + keep_ms))
end
