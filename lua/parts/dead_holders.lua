--[[
  Gives `take_dead(key)`, which forgets the processes whose turns are over or who have died, and returns the dead
  whose turns were to come; and `free_slots`, which frees the slots that those held for turns to come. Slots
  of calls under way end with their lease. Counterparts: TurnHolders.sweep in lib/core/turn-holders.ts,
  LeaseSet.releaseOf in lib/core/lease-set.ts.
]]
-- @part turn_holder

-- Of a process: when its last turn is due and when it counts as dead. One that was heard of before the clock
-- went back was heard of now.
local function read_holder(key, field, value)
  local due, seen = string.match(value, '^(%d+) (%d+)$')
  due, seen = tonumber(due) or 0, tonumber(seen) or 0
  if seen > now + CLOCK_STEP then
    seen = now
    call('HSET', key, field, string.format('%.0f %.0f', due, seen))
  end
  return due, seen + HOLDER_LIFE
end

-- A user who may not run HGETALL and HDEL still shares what is stored; the turns of the dead are waited for then.
local function take_dead(key)
  local fields, dead, next_at = pcall('HGETALL', key), {}, math.huge
  if fields.err then return dead end
  for i = 1, #fields, 2 do
    local field = fields[i]
    if string.sub(field, 1, 2) == 'm:' then
      local due, dies = read_holder(key, field, fields[i + 1])
      if due > now and dies > now then next_at = min(next_at, dies) else pcall('HDEL', key, field) end
      if due > now and dies <= now then dead[string.sub(field, 3)] = true end
    end
  end
  if next_at < math.huge then call('HSET', key, 'mx', next_at) else pcall('HDEL', key, 'mx') end
  return dead
end

local function free_slots(slots_key, dead, lease)
  local ahead = pcall('ZRANGEBYSCORE', slots_key, '(' .. text[now + lease], '+inf')
  if ahead.err then return end
  for _, id in ipairs(ahead) do
    if dead[string.match(id, '^([^:]+):')] then call('ZREM', slots_key, id) end
  end
end
