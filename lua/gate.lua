--[[
  Changes a gate: counts blocks and successes, shuts it for a cooldown, opens it again, and plans the
  turns of the bucket behind it anew. All of it in one step, published to those who listen.
  Counterpart: lib/core/gate-record.ts.

  The hash also holds the processes that have booked turns: `m:<process>` is when the last of its turns is due
  and when the process was last heard of; `mx` is the first time at which one of them may count as dead; `pm` is the
  process that makes the probe; `e` is when the hash expires.

  KEYS[1]  the gate: a hash
  KEYS[2]  the bucket behind it, or the gate again where the bucket cannot be reached: its turns
           stay, and so they do where the key holds something that is not a bucket of ours
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
  ARGV[11] the channel on which changes are published
  ARGV[12] what to call the gate there

  ARGV[13] a number that comes back, by which the caller knows that the answer is its own

  Returns integers: that number, generation, cut, blocks, rest of the cooldown, 1 while probes are tried, 1 if the
  gate or the plan of turns changed
]]
local call, pcall, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack
local KEYS, ARGV, tonumber, max, min = KEYS, ARGV, tonumber, math.max, math.min

local LOOK, BLOCK, SUCCESS, PLAN, FREE, BEAT = 0, 1, 2, 3, 4, 5
-- Turns that are due within this time keep their time: the new plan may arrive too late for them.
local GRACE = 50000
-- Waste that is worth a new plan: this long at least, and this part of the queue.
local WASTE, WASTE_SHARE = 100000, 0.1
-- The same when a process has died: no process acts on a plan that is older than that.
local HOLDER_GRACE = 1500000

-- @part constants
-- @part clock

local gate_key, bucket_key, slots_key = KEYS[1], KEYS[2], KEYS[3]
local event, memory, sent_under = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local full, a, b = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])

local held = call('HMGET', gate_key, 'g', 'c', 'b', 'u', 'o', 'pu', 'w', 'x', 'mx', 'pm', 'e')
local remembered, sweep_at, prober = tonumber(held[8] or '') or 0, tonumber(held[9] or ''), held[10]
local ends_at = tonumber(held[11] or '') or 0
for i = 1, 7 do held[i] = tonumber(held[i] or '') or 0 end
if now >= remembered then held = { 0, 0, 0, 0, 0, 0, 0 } end
local generation, cut, blocks, till, opened, probe_till, wasted =
  held[1], held[2], held[3], held[4], held[5], held[6], held[7]
local changed = 0

local function state()
  return { tonumber(ARGV[13]), generation, cut, blocks, max(0, till - now), (till > 0 and now >= till) and 1 or 0,
    changed }
end
if event == LOOK then return state() end

-- @part keep_gate
-- @part stored_bucket
-- @part set_bucket

local function keep()
  local expires = max(now, till) + memory
  call('HSET', gate_key, 'g', text[generation], 'c', text[cut], 'b', text[blocks], 'u', text[till],
    'o', text[opened], 'pu', text[probe_till], 'w', text[wasted], 'x', text[expires])
  ends_at = keep_gate(gate_key, ends_at, remembered, expires)
end

-- Numbered by time, so that a gate that was forgotten never counts the same twice.
local function plan_until(at)
  generation, cut, wasted, changed = max(now, generation + 1), at, 0, 1
end

-- Returns the tokens of the bucket behind the gate, and its field `x`; nil where it cannot be reached.
local function read_bucket()
  if bucket_key == gate_key then return nil end
  return read_stored_bucket(bucket_key, full, a, b)
end

local stale = sent_under and sent_under < opened
local shut, trying = now < till, till > 0 and now >= till

if event == BLOCK then
  local retry_after = tonumber(ARGV[7])
  -- Many blocks at once are one event: those that come while it is shut only prolong.
  if shut and now + retry_after > till then
    till, changed = now + retry_after, 1
    keep()
  elseif not shut and not stale then
    blocks = blocks + 1
    local cooldown = blocks >= tonumber(ARGV[5]) and tonumber(ARGV[6]) or 0
    local length = max(cooldown, retry_after)
    if length > 0 then
      till, opened, probe_till = now + length, now, 0
      plan_until(now)
      -- All turns that were booked are void, and owed no more.
      local level, x = read_bucket()
      if level and level < 0 then set_bucket(bucket_key, 0, x, full, a, b) end
    end
    keep()
  end

elseif event == SUCCESS then
  if blocks > 0 and not shut and not (trying and stale) then
    blocks, till = 0, 0
    if trying then
      plan_until(now)
      -- No burst when a cooldown ends.
      local level, x = read_bucket()
      if level and level > 0 then set_bucket(bucket_key, 0, x, full, a, b) end
    end
    keep()
  end

elseif event == PLAN then
  local level, x = read_bucket()
  local owed = level and -level * b / a or 0
  wasted = owed > 0 and min(owed, wasted + tonumber(ARGV[5])) or 0
  if ARGV[6] == '1' or (wasted >= WASTE and wasted >= owed * WASTE_SHARE) then
    plan_until(now + GRACE)
    if owed > GRACE then set_bucket(bucket_key, -GRACE * a / b, x, full, a, b) end
  end
  keep()

elseif event == FREE then
  changed = 1
  -- Only the probe that is being waited for can be given up: another one may have followed it.
  local given_up = tonumber(ARGV[5])
  if given_up > 0 and given_up == probe_till then call('HSET', gate_key, 'pu', 0) end

elseif event == BEAT then
  -- @part turn_holder
  local holder, due = 'm:' .. ARGV[4], tonumber(ARGV[5])
  if due == 0 then
    pcall('HDEL', gate_key, holder)
  elseif due then
    local latest = call('HMGET', gate_key, holder)[1]
    ends_at = note_holder(gate_key, holder, due, latest, sweep_at, remembered, ends_at)
  end
  -- Where the bucket cannot be reached, the turns of the dead could not be handed on.
  if sweep_at and now >= sweep_at and bucket_key ~= gate_key then
    -- @part dead_holders
    local dead = take_dead(gate_key)
    if next(dead) then
      if slots_key then free_slots(slots_key, dead, tonumber(ARGV[6])) end
      if prober and dead[prober] and probe_till > now then
        probe_till, changed = 0, 1
        call('HSET', gate_key, 'pu', 0)
      end
      local level, x = read_bucket()
      if level and -level * b / a > HOLDER_GRACE then
        plan_until(now + HOLDER_GRACE)
        set_bucket(bucket_key, -HOLDER_GRACE * a / b, x, full, a, b)
        keep()
      end
    end
  end
end

local answer = state()
-- Also that blocks are counted, so that others know that a success is worth publishing.
if changed == 1 or event == BLOCK then
  local numbers = string.format('%.0f %.0f %.0f %.0f %.0f %.0f ',
    answer[2], answer[3], answer[4], answer[5], answer[6], answer[7])
  -- A user who may not publish still shares what is stored.
  pcall('PUBLISH', ARGV[11], numbers .. ARGV[12])
end
return answer
