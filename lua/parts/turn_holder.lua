--[[
  Gives `note_holder(key, holder, due)`: a process is alive, and the last of its turns behind the gate is due then.
  Returns when the hash of the gate ends. Gate.lua describes the fields. Counterpart: TurnHolders.note in
  lib/core/turn-holders.ts.
]]
-- @part keep_gate

-- A process with turns counts as dead when it has not been heard of for so long.
local HOLDER_LIFE = 2250000

local function note_holder(key, holder, due)
  local field = 'm:' .. holder
  local known = call('HMGET', key, field, 'mx', 'x', 'e')
  local latest = known[1] and tonumber(string.match(known[1], '^%d+')) or 0
  if due > latest then latest = due end
  call('HSET', key, field, text(latest) .. ' ' .. text(now))
  local sweep_at = tonumber(known[2] or '')
  if not sweep_at or sweep_at > now + HOLDER_LIFE then call('HSET', key, 'mx', text(now + HOLDER_LIFE)) end
  return keep_gate(key, tonumber(known[4] or '') or 0, tonumber(known[3] or '') or 0, latest)
end
