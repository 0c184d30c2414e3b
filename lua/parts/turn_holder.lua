--[[
  Gives `note_holder`: the process of the field `holder` is alive, and the last of its turns behind the gate is due
  then. Takes what is stored: the field itself, and `mx`, `x` and `e` as numbers (see gate.lua). Returns when
  the hash of the gate ends. Counterpart: TurnHolders.note in lib/core/turn-holders.ts.
]]
-- @part keep_gate

-- A process with turns counts as dead when it has not been heard of for so long.
local HOLDER_LIFE = 2250000

local function note_holder(key, holder, due, known, sweep_at, remembered, ends)
  local latest = known and tonumber(string.match(known, '^%d+')) or 0
  if due > latest then latest = due end
  call('HSET', key, holder, string.format('%.0f %.0f', latest, now))
  if not sweep_at or sweep_at > now + HOLDER_LIFE then call('HSET', key, 'mx', text[now + HOLDER_LIFE]) end
  return keep_gate(key, ends, remembered, latest)
end
