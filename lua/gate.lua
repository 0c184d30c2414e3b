--[[
  Changes a gate: counts blocks and successes, shuts it for a cooldown, opens it again, and plans the
  turns of the bucket behind it anew. All of it in one step, told to everybody who listens.

  The hash also holds the processes that have booked turns: `m:<process>` is when the last of its turns is due
  and when it was heard of; `mx` is the first time at which one of them may be taken for dead; `pm` is the
  process that makes the probe; `e` is when the hash expires.

  KEYS[1]  the gate: a hash
  KEYS[2]  the bucket behind it, or the gate again where the bucket cannot be reached: its turns stay
  KEYS[3]  beat: the slots that turns hold, if there are any
  ARGV[1]  the time in microseconds, or '' to take the server's
  ARGV[2]  what happened: 0 nothing, only look; 1 block; 2 success; 3 new plan; 4 there is room; 5 beat
  ARGV[3]  how long the gate remembers, in microseconds
  ARGV[4]  the plan of turns that the request was sent under, or ''    beat: the process, or ''
  ARGV[5]  block: how many in a row open a cooldown    new plan: microseconds that are wasted
           room: until when the others would have waited for a probe that is not made, or 0 for a slot
           beat: when its last turn is due, 0 if it has none left, '' to look after the others only
  ARGV[6]  block: length of the cooldown               new plan: 1 to make one in any case
           beat: how long a slot is lent
  ARGV[7]  block: what the other side asked for, or 0
  ARGV[8]  quota of the bucket
  ARGV[9]  tokens that come back ...
  ARGV[10] ... every so many microseconds
  ARGV[11] the channel to tell changes on
  ARGV[12] what to call the gate there

  ARGV[13] a number that comes back, by which the caller knows that the answer is its own

  Returns integers: that number, generation, cut, blocks, rest of the cooldown, 1 while probes are tried, 1 if the
  gate or the plan of turns changed
]]
local call, pcall, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack
local ceil, max, min = math.ceil, math.max, math.min

local BLOCK, SUCCESS, PLAN, FREE, BEAT = 1, 2, 3, 4, 5
local SCHEMA = '1'
-- Turns due so soon stay as they are: the news may come too late for them.
local GRACE = 50000
-- Twenty years, more than can be booked.
local LONGEST = 630720000000000
-- Waste that is worth a new plan: this long at least, and this part of the queue.
local WASTE, WASTE_SHARE = 100000, 0.1
-- A process with turns is taken for dead when it was not heard of for so long.
local HOLDER_LIFE = 2250000
-- Turns due so soon stay as they are then: nobody acts on a plan that it heard of longer ago.
local HOLDER_GRACE = 1500000
-- A clock that went back further than this is believed.
local CLOCK_STEP = 100000

local now, keep_ms = tonumber(ARGV[1]), 600000
if not now then
  keep_ms = 1
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

local gate_key, bucket_key = KEYS[1], KEYS[2]
local event, memory, sent_under = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local quota, a, b = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])

local held = call('HMGET', gate_key, 'g', 'c', 'b', 'u', 'o', 'pu', 'w', 'x', 'mx', 'pm', 'e')
local sweep_at, prober, ends_at = tonumber(held[9] or ''), held[10], tonumber(held[11] or '') or 0
local gate_till = tonumber(held[8] or '') or 0
for i = 1, 8 do held[i] = tonumber(held[i] or '') or 0 end
if now >= held[8] then held = { 0, 0, 0, 0, 0, 0, 0 } end
local generation, cut, blocks, till, opened, probe_till, wasted =
  held[1], held[2], held[3], held[4], held[5], held[6], held[7]

-- Never sooner than it was to: turns may be due later than the gate remembers.
local function live_until(expires)
  if expires < gate_till then expires = gate_till end
  if expires <= ends_at then return end
  ends_at = expires
  call('HSET', gate_key, 'e', expires)
  call('PEXPIRE', gate_key, ceil((expires - now) / 1000) + keep_ms)
end

local function keep()
  local expires = max(now, till) + memory
  call('HSET', gate_key, 'g', generation, 'c', cut, 'b', blocks, 'u', till, 'o', opened,
    'pu', probe_till, 'w', wasted, 'x', expires)
  live_until(expires)
end

-- Numbered by time, so that a gate that was forgotten never counts the same twice.
local function plan_until(at)
  generation, cut, wasted = max(now, generation + 1), at, 0
end

local function bucket_level()
  if bucket_key == gate_key then return quota end
  local state = call('HMGET', bucket_key, 't', 'ts', 'v')
  if not (state[1] and state[2]) or state[3] ~= SCHEMA then return quota end
  if #state[1] ~= 8 or #state[2] ~= 8 then return quota end
  local tokens, since = unpack('<d', state[1]), unpack('<i8', state[2])
  if now > since then tokens = tokens + (now - since) * a / b end
  return min(tokens, quota)
end

-- Its key lives as long as the slowest definition of the plan needs (see decide.lua).
local function set_bucket(tokens)
  if bucket_key == gate_key then return end
  local lasts, x = quota * b / a, call('HMGET', bucket_key, 'x')[1]
  if x and #x == 16 then lasts = max(lasts, select(2, unpack('<i8d', x))) end
  local expires = ceil(now + 1.25 * lasts + min(max(-tokens, 0) * b / a, LONGEST))
  call('HSET', bucket_key, 't', pack('<d', tokens), 'ts', pack('<i8', now), 'v', SCHEMA,
    'x', pack('<i8d', expires, lasts))
  call('PEXPIRE', bucket_key, ceil((expires - now) / 1000) + keep_ms)
end

-- The process is alive, and has turns up to then.
local function note_holder(holder, due)
  local known = call('HMGET', gate_key, 'm:' .. holder)[1]
  local latest = max(due, known and tonumber(string.match(known, '^%d+')) or 0)
  call('HSET', gate_key, 'm:' .. holder, string.format('%.0f %.0f', latest, now))
  if not sweep_at or sweep_at > now + HOLDER_LIFE then
    sweep_at = now + HOLDER_LIFE
    call('HSET', gate_key, 'mx', sweep_at)
  end
  live_until(latest)
end

-- Who may not run HGETALL and HDEL still shares what is stored; the turns of the dead are waited for then.
-- Forgets processes whose turns are over or who have died. Returns the dead whose turns were to come.
local function sweep()
  local fields, dead, next_at = pcall('HGETALL', gate_key), {}, math.huge
  if fields.err then return dead end
  for i = 1, #fields, 2 do
    local field = fields[i]
    if string.sub(field, 1, 2) == 'm:' then
      local due, seen = string.match(fields[i + 1], '^(%d+) (%d+)$')
      due, seen = tonumber(due) or 0, tonumber(seen) or 0
      if seen > now + CLOCK_STEP then
        seen = now
        call('HSET', gate_key, field, string.format('%.0f %.0f', due, seen))
      end
      local ends = seen + HOLDER_LIFE
      if due > now and ends > now then next_at = min(next_at, ends) else pcall('HDEL', gate_key, field) end
      if due > now and ends <= now then dead[string.sub(field, 3)] = true end
    end
  end
  if next_at < math.huge then call('HSET', gate_key, 'mx', next_at) else pcall('HDEL', gate_key, 'mx') end
  return dead
end

-- Frees the slots that the dead held for turns to come; those of calls under way end with their lease.
local function free_slots(slots_key, dead, lease)
  local ahead = pcall('ZRANGEBYSCORE', slots_key, '(' .. string.format('%.0f', now + lease), '+inf')
  if ahead.err then return end
  for _, id in ipairs(ahead) do
    if dead[string.match(id, '^([^:]+):')] then call('ZREM', slots_key, id) end
  end
end

local stale = sent_under and sent_under < opened
local shut, trying = now < till, till > 0 and now >= till
local changed = false

-- Many blocks at once are one event: those that come while it is shut only prolong.
if event == BLOCK then
  local retry_after = tonumber(ARGV[7])
  if shut then
    if now + retry_after > till then
      till, changed = now + retry_after, true
      keep()
    end
  elseif not stale then
    blocks = blocks + 1
    local cooldown = blocks >= tonumber(ARGV[5]) and tonumber(ARGV[6]) or 0
    local length = max(cooldown, retry_after)
    if length > 0 then
      till, opened, probe_till, changed = now + length, now, 0, true
      plan_until(now)
      -- All turns that were booked are void, and owed no more.
      if bucket_level() < 0 then set_bucket(0) end
    end
    keep()
  end

elseif event == SUCCESS then
  if blocks > 0 and not shut and not (trying and stale) then
    blocks, till = 0, 0
    if trying then
      changed = true
      plan_until(now)
      -- No burst when a cooldown ends.
      local level = bucket_level()
      if level > 0 then set_bucket(0) end
    end
    keep()
  end

elseif event == PLAN then
  local owed = -bucket_level() * b / a
  wasted = owed > 0 and min(owed, wasted + tonumber(ARGV[5])) or 0
  if ARGV[6] == '1' or (wasted >= WASTE and wasted >= owed * WASTE_SHARE) then
    changed = true
    plan_until(now + GRACE)
    if owed > GRACE then set_bucket(-GRACE * a / b) end
  end
  keep()

elseif event == FREE then
  changed = true
  -- Only the probe that is being waited for can be given up: another one may have followed it.
  local given_up = tonumber(ARGV[5])
  if given_up > 0 and given_up == probe_till then call('HSET', gate_key, 'pu', 0) end

elseif event == BEAT then
  local holder, due = ARGV[4], tonumber(ARGV[5])
  if due == 0 then pcall('HDEL', gate_key, 'm:' .. holder)
  elseif due then note_holder(holder, due) end
  -- Where the bucket cannot be reached, nobody could be given the turns of the dead.
  if sweep_at and now >= sweep_at and bucket_key ~= gate_key then
    local dead = sweep()
    if next(dead) then
      if KEYS[3] then free_slots(KEYS[3], dead, tonumber(ARGV[6])) end
      if prober and dead[prober] and probe_till > now then
        probe_till, changed = 0, true
        call('HSET', gate_key, 'pu', 0)
      end
      if -bucket_level() * b / a > HOLDER_GRACE then
        changed = true
        plan_until(now + HOLDER_GRACE)
        set_bucket(-HOLDER_GRACE * a / b)
        keep()
      end
    end
  end
end

local state = { generation, cut, blocks, max(0, till - now), (till > 0 and now >= till) and 1 or 0,
  changed and 1 or 0 }
-- Also that blocks are counted, so that others know that a success is worth telling.
if changed or event == BLOCK then
  local text = {}
  for i = 1, 6 do text[i] = string.format('%.0f', state[i]) end
  -- Who may not publish still shares what is stored.
  redis.pcall('PUBLISH', ARGV[11], table.concat(text, ' ') .. ' ' .. ARGV[12])
end
table.insert(state, 1, tonumber(ARGV[13]))
return state
