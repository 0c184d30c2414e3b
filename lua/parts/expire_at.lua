--[[
  Gives `expire_at(key, at)`: the key lives until that time, in microseconds.
]]
-- @part texts

local function expire_at(key, at)
  local ms = (at - now) / 1000
  -- Rounded up: a call of math.ceil is several times as expensive.
  call('PEXPIRE', key, text[ms + -ms % 1 + keep_ms])
end
