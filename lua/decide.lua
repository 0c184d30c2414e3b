--[[
  Decides chains of limits, each all or nothing: every limit admits and is charged, or none is.
  Several chains may come in one call; each finds what those before it left. Everything is read
  before anything is written, and a denied chain writes nothing.

  KEYS     one per limit, chain by chain: a hash for tokens, a sorted set for leases
  ARGV[1]  the time in microseconds, or '' to take the server's, once for all
  ARGV[2]  how many plans follow, each as: kind, quota, a, b, shadow
             kind 1  token bucket    a tokens come back every b microseconds
             kind 2  sliding window  of a microseconds
             kind 3  concurrency     leases of a microseconds
  then for each chain: mode (0 take, 1 peek, 2 reserve), longest wait, lease id, how many limits,
  and for each limit: its plan, its cost

  Returns integers: the time, then for each chain
    1 allowed, 0 denied, 2 undecided because a key holds something that is not ours
    and for each limit: wait in microseconds (-1 never), what remains, microseconds until all is back
]]
local call, pcall, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack
local ceil, floor = math.ceil, math.floor

local BUCKET, WINDOW = 1, 2
local PEEK, RESERVE = 1, 2
local NEVER = -1
local SCHEMA = '1'
-- Tolerance of comparisons, in tokens; never part of a subtraction, so that nothing drifts.
local EPSILON = 1e-9
-- A clock that went back further than this is believed, and counting goes on from its time.
local CLOCK_STEP = 100000

-- A time that was given is a test's, and its keys must outlive it.
local now, keep_ms = tonumber(ARGV[1]), 600000
if not now then
  keep_ms = 1
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end
local now_text = string.format('%.0f', now)
local now_packed = pack('<i8', now)

local kind, quota, a, b, shadow = {}, {}, {}, {}, {}
local arg = 2
local plan_count = tonumber(ARGV[arg])
for p = 1, plan_count do
  kind[p] = tonumber(ARGV[arg + 1])
  quota[p] = tonumber(ARGV[arg + 2])
  a[p] = tonumber(ARGV[arg + 3])
  b[p] = tonumber(ARGV[arg + 4])
  shadow[p] = ARGV[arg + 5] == '1'
  arg = arg + 5
end

-- What was read of the chain at hand, by the position of the limit.
local plan, cost, wait, level, stepped, expiry, same_quota, current, previous, start =
  {}, {}, {}, {}, {}, {}, {}, {}, {}, {}

-- Tokens of a bucket that held `tokens` at `since`, at another time.
local function tokens_at(p, tokens, since, at)
  if at > since then tokens = tokens + (at - since) * a[p] / b[p] end
  if tokens > quota[p] then return quota[p] end
  return tokens
end

-- Until a bucket holds the cost: solved, then settled with the comparison that will admit it.
local function bucket_wait(p, tokens, since, need)
  if need > quota[p] then return NEVER end
  local due = since + ceil((need - EPSILON - tokens) * b[p] / a[p])
  if due <= now then due = now + 1 end
  while tokens_at(p, tokens, since, due) + EPSILON < need do due = due + 1 end
  while due > now + 1 and tokens_at(p, tokens, since, due - 1) + EPSILON >= need do due = due - 1 end
  return due - now
end

-- The window that holds `at`, of one that began at `since`.
local function window_at(p, since, cur, prev, at)
  local elapsed = at - since
  if elapsed < a[p] then return since, cur, prev end
  if elapsed < 2 * a[p] then return since + a[p], 0, cur end
  return at, 0, 0
end

-- What is still counted of the previous window.
local function fading(p, since, prev, at)
  local elapsed = at - since
  if elapsed < 0 then elapsed = 0 end
  return prev * (a[p] - elapsed) / a[p]
end

local function window_admits(p, since, cur, prev, need, at)
  since, cur, prev = window_at(p, since, cur, prev, at)
  return fading(p, since, prev, at) <= quota[p] - need - cur + EPSILON
end

local function window_wait(p, since, cur, prev, need)
  if need > quota[p] then return NEVER end
  local free, due = quota[p] - need - cur, since
  if free >= 0 then
    due = since + ceil(a[p] - (free + EPSILON) * a[p] / prev)
  else
    due = since + a[p] + ceil(a[p] - (quota[p] - need + EPSILON) * a[p] / cur)
  end
  if due <= now then due = now + 1 end
  while not window_admits(p, since, cur, prev, need, due) do due = due + 1 end
  while due > now + 1 and window_admits(p, since, cur, prev, need, due - 1) do due = due - 1 end
  return due - now
end

-- The readers fill in what was read at position i, and return whether the key could be read.

local function read_bucket(i, p, key)
  local held = pcall('HMGET', key, 't', 'ts', 'v', 'x', 'q')
  if held.err or (held[3] and held[3] ~= SCHEMA) then return false end
  local tokens, since = quota[p], now
  -- Anything that is not a number as we write it is taken for nothing, and written anew.
  if held[1] and held[2] and #held[1] == 8 and #held[2] == 8 then
    tokens, since = unpack('<d', held[1]), unpack('<i8', held[2])
    if tokens ~= tokens or tokens > 1e15 or tokens < -1e15 then tokens, since = quota[p], now end
  end
  stepped[i] = since - now > CLOCK_STEP
  if stepped[i] then since = now end
  -- A bucket that was full when its plan grew is full of what the plan holds now.
  local held_quota = tonumber(held[5] or '')
  if held_quota and held_quota < quota[p] and tokens + (now - since) * a[p] / b[p] >= held_quota then
    tokens = quota[p]
  end
  level[i] = tokens_at(p, tokens, since, now)
  wait[i] = 0
  if level[i] + EPSILON < cost[i] then wait[i] = bucket_wait(p, tokens, since, cost[i]) end
  same_quota[i] = held_quota == quota[p]
  expiry[i] = held[4] and #held[4] == 8 and unpack('<i8', held[4]) or 0
  return true
end

local function read_window(i, p, key)
  local held = pcall('HMGET', key, 'ws', 'c', 'p', 'v')
  if held.err or (held[4] and held[4] ~= SCHEMA) then return false end
  local since, cur, prev = tonumber(held[1] or ''), tonumber(held[2] or ''), tonumber(held[3] or '')
  if not (since and cur and prev and cur >= 0 and prev >= 0 and cur < 1e15 and prev < 1e15) then
    since, cur, prev = now, 0, 0
  end
  stepped[i] = since - now > CLOCK_STEP
  if stepped[i] then since = now end
  start[i], current[i], previous[i] = window_at(p, since, cur, prev, now)
  wait[i] = 0
  if not window_admits(p, since, cur, prev, cost[i], now) then
    wait[i] = window_wait(p, start[i], current[i], previous[i], cost[i])
  end
  return true
end

local function read_leases(i, p, key, lease_id)
  local held = pcall('ZCOUNT', key, '(' .. now_text, '+inf')
  if type(held) == 'table' then return false end
  level[i] = quota[p] - held
  wait[i], stepped[i] = 0, false
  if level[i] > 0 then return true end
  -- Taking a lease again that is held already takes no other slot.
  local ends = call('ZSCORE', key, lease_id)
  if ends and tonumber(ends) > now then return true end
  local sure = call('ZRANGEBYSCORE', key, '(' .. now_text, '+inf', 'WITHSCORES', 'LIMIT', held - quota[p], 1)
  wait[i] = tonumber(sure[2]) - now
  return true
end

-- The writers charge position i. A key lives until its limit is restored, and is not armed anew
-- while it will live long enough: that saves a command and two fields for most charges.

local function write_bucket(i, p, key)
  level[i] = level[i] - cost[i]
  local full = now + ceil((quota[p] - level[i]) * b[p] / a[p])
  if expiry[i] >= full and same_quota[i] then
    call('HSET', key, 't', pack('<d', level[i]), 'ts', now_packed)
    return
  end
  local spare = ceil(quota[p] * b[p] / a[p])
  call('HSET', key, 't', pack('<d', level[i]), 'ts', now_packed, 'v', SCHEMA, 'q', quota[p],
    'x', pack('<i8', full + spare))
  call('PEXPIRE', key, ceil((full + spare - now) / 1000) + keep_ms)
end

local function write_window(i, p, key)
  current[i] = current[i] + cost[i]
  call('HSET', key, 'ws', start[i], 'c', current[i], 'p', previous[i], 'v', SCHEMA)
  call('PEXPIRE', key, ceil((start[i] + 2 * a[p] - now) / 1000) + keep_ms)
end

local function write_leases(i, p, key, lease_id, from)
  call('ZREMRANGEBYSCORE', key, '-inf', now_text)
  call('ZADD', key, from + a[p], lease_id)
  level[i] = quota[p] - call('ZCARD', key)
  local last = call('ZRANGE', key, -1, -1, 'WITHSCORES')
  call('PEXPIRE', key, ceil((tonumber(last[2]) - now) / 1000) + keep_ms)
end

local function remaining_and_reset(i, p)
  if kind[p] == BUCKET then
    local left = floor(level[i] + EPSILON)
    return left > 0 and left or 0, ceil((quota[p] - level[i]) * b[p] / a[p])
  end
  if kind[p] == WINDOW then
    local left = quota[p] - current[i] - ceil(fading(p, start[i], previous[i], now) - EPSILON)
    local reset = current[i] > 0 and start[i] + 2 * a[p] - now
      or previous[i] > 0 and start[i] + a[p] - now or 0
    return left > 0 and left or 0, reset
  end
  return level[i] > 0 and level[i] or 0, 0
end

local out = { now }
local size = 1
local first_key = 1
local arg_count = #ARGV
arg = arg + 1
while arg <= arg_count do
  local mode = tonumber(ARGV[arg])
  local longest = tonumber(ARGV[arg + 1])
  local lease_id = ARGV[arg + 2]
  local limit_count = tonumber(ARGV[arg + 3])
  arg = arg + 4

  local allowed, readable, act_after = 1, true, 0
  local admits = {}
  for i = 1, limit_count do
    local p = tonumber(ARGV[arg])
    plan[i], cost[i] = p, tonumber(ARGV[arg + 1])
    arg = arg + 2
    local key = KEYS[first_key + i - 1]
    local ok
    if kind[p] == BUCKET then ok = read_bucket(i, p, key)
    elseif kind[p] == WINDOW then ok = read_window(i, p, key)
    else ok = read_leases(i, p, key, lease_id) end
    if not ok then
      readable = false
      wait[i], level[i], current[i], previous[i], start[i], stepped[i] = 0, 0, 0, 0, now, false
    end
    local w = wait[i]
    admits[i] = w == 0 or (mode == RESERVE and kind[p] == BUCKET and w > 0 and w <= longest)
    if not shadow[p] then
      if not admits[i] then allowed = 0 end
      if w > act_after then act_after = w end
    end
  end

  out[size + 1] = readable and allowed or 2
  size = size + 1
  local spends = readable and allowed == 1 and mode ~= PEEK
  for i = 1, limit_count do
    local p, key = plan[i], KEYS[first_key + i - 1]
    if spends and admits[i] then
      if kind[p] == BUCKET then write_bucket(i, p, key)
      elseif kind[p] == WINDOW then write_window(i, p, key)
      else write_leases(i, p, key, lease_id, now + act_after) end
    elseif stepped[i] and mode ~= PEEK then
      -- The one thing a denial writes: without it the limit would stand still until the clock is
      -- where it was before it went back.
      if kind[p] == BUCKET then call('HSET', key, 'ts', now_packed) else call('HSET', key, 'ws', now) end
    end
    out[size + 1] = wait[i]
    out[size + 2], out[size + 3] = remaining_and_reset(i, p)
    size = size + 3
  end
  first_key = first_key + limit_count
end
return out
