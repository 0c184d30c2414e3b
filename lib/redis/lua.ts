// Made from lua/*.lua by `npm run lua`; change those.

/** lua/decide.lua */
export const DECIDE: string = `--[[
  Decides chains of limits, each all or nothing: every limit admits and is charged, or none is.
  Several chains may come in one call; each finds what those before it left. Everything of a chain is
  read before anything of it is written, and a denied chain writes nothing. A key that several chains
  share, as the whole server's, is read once and its tokens are written once, when all are decided.

  KEYS     one per limit, chain by chain: a hash for tokens, a sorted set for leases; before those of
           a chain that has one, the hash of its gate (see gate.lua)
  ARGV[1]  the time in microseconds, or '' to take the server's, once for all
  ARGV[2]  how many plans follow, each as: kind, quota, a, b, shadow
             kind 1  token bucket    a tokens come back every b microseconds
             kind 2  sliding window  of a microseconds
             kind 3  concurrency     leases of a microseconds
  then chains, those of one shape that follow each other told together: how many chains, the number of
  their shape, if it is a new one what it is, and where one of its plans is of kind 3, for each chain
  its lease id. A shape is: mode (0 take, 1 peek, 2 reserve), longest wait, how long a probe may take if
  there is a gate or 0, how many limits, for each limit its plan and its cost

  last     a number that comes back, by which the caller knows that the answer is its own

  Returns integers: that number, the time, then for each chain
    1 allowed, 0 denied, 2 undecided because a key holds something that is not ours,
    of a gate: generation, cut, wait until it lets this chain pass, 1 if it is a probe or 2 if one is
    out, blocks in a row,
    and for each limit: wait in microseconds (-1 never, -2 not ours), what remains, microseconds until all is back
]]
local call, pcall, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack
local KEYS, ARGV, ceil = KEYS, ARGV, math.ceil

local BUCKET, LEASES = 1, 3
local PEEK, RESERVE = 1, 2
local NEVER, UNREADABLE = -1, -2
-- Twenty years, more than can be booked: beyond, microseconds are no longer exact, and counting up to them would never end.
local LONGEST = 630720000000000
local SCHEMA = '1'
-- Tolerance of comparisons, in tokens; never part of a subtraction, so that nothing drifts.
local EPSILON = 1e-9
-- A clock that went back further than this is believed, and counting goes on from its time.
local CLOCK_STEP = 100000
-- Leases of turns that are booked ahead may end this much later than those taken now.
local LEASE_STEP = 600000000

-- A time that was given is a test's, and its keys must outlive it.
local now, keep_ms = tonumber(ARGV[1]), 600000
if not now then
  keep_ms = 1
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

-- Redis writes out every number that it is given, which takes as long as the command it is given for;
-- many are the same.
local texts = {}
local function text(number)
  local known = texts[number]
  if not known then
    known = string.format('%.17g', number)
    texts[number] = known
  end
  return known
end

local now_text = text(now)
local after_now = '(' .. now_text
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

-- What was found for the chain at hand, by the position of the limit.
local found, wait, admits = {}, {}, {}

-- What is held under each key, as the chains so far leave it; and what is to be written of that.
local buckets, windows, lease_sets = {}, {}, {}
local charged_buckets, charged_windows = {}, {}
local NOT_OURS = {}

-- Tokens of a bucket that held \`tokens\` at \`since\`, at another time.
local function tokens_at(p, tokens, since, at)
  if at > since then tokens = tokens + (at - since) * a[p] / b[p] end
  if tokens > quota[p] then return quota[p] end
  return tokens
end

-- Until a bucket holds the cost: solved, then settled with the comparison that will admit it.
local function bucket_wait(p, tokens, since, need)
  if need > quota[p] then return NEVER end
  local missing = (need - EPSILON - tokens) * b[p] / a[p]
  if missing > LONGEST then return LONGEST end
  local due = since + ceil(missing)
  if due <= now then due = now + 1 end
  while tokens_at(p, tokens, since, due) + EPSILON < need do due = due + 1 end
  while due > now + 1 and tokens_at(p, tokens, since, due - 1) + EPSILON >= need do due = due - 1 end
  return due - now
end

-- The window that holds \`at\`, of one that began at \`since\`.
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

-- The finders read what is held under a key, once.

local function find_bucket(key)
  local held = pcall('HMGET', key, 't', 'ts', 'v', 'x')
  if held.err or (held[3] and held[3] ~= SCHEMA) then return NOT_OURS end
  local bucket = { key = key, since = now, expires = 0 }
  -- Anything that is not a number as we write it is taken for nothing, and written anew.
  if held[1] and held[2] and #held[1] == 8 and #held[2] == 8 then
    local tokens = unpack('<d', held[1])
    if tokens < 1e15 and tokens > -1e15 then bucket.tokens, bucket.since = tokens, unpack('<i8', held[2]) end
  end
  if held[4] and #held[4] == 16 then bucket.expires, bucket.quota = unpack('<i8d', held[4]) end
  return bucket
end

local function find_window(key)
  local held = pcall('HMGET', key, 'ws', 'c', 'p', 'v')
  if held.err or (held[4] and held[4] ~= SCHEMA) then return NOT_OURS end
  local since, cur, prev = tonumber(held[1] or ''), tonumber(held[2] or ''), tonumber(held[3] or '')
  local is_kept = held[4]
  if not (since and cur and prev and cur >= 0 and prev >= 0 and cur < 1e15 and prev < 1e15) then
    since, cur, prev, is_kept = now, 0, 0, false
  end
  return { key = key, since = since, cur = cur, prev = prev, is_kept = is_kept }
end

local function find_leases(key)
  local count = pcall('ZCARD', key)
  if type(count) == 'table' then return NOT_OURS end
  -- Most clients hold nothing, so that there is nothing to be counted or swept.
  local live = count > 0 and call('ZCOUNT', key, after_now, '+inf') or 0
  return { live = live, ended = count - live, expires = 0 }
end

-- The readers see what was found as plan p does, and return how long to wait for the cost.

local function read_bucket(p, bucket, need)
  local full = quota[p]
  local tokens, since, held_quota = bucket.tokens or full, bucket.since, bucket.quota or full
  bucket.is_ahead = since - now > CLOCK_STEP
  if bucket.is_ahead then since = now end
  -- A bucket that was full when its plan grew is full of what the plan holds now.
  if held_quota < full and tokens + (now - since) * a[p] / b[p] >= held_quota then tokens = full end
  bucket.level = tokens_at(p, tokens, since, now)
  if bucket.level + EPSILON < need then return bucket_wait(p, tokens, since, need) end
  return 0
end

-- Now is the same for all chains: what one found of a window is good for the next of the same plan.
local function see_window(p, window)
  local since = window.since
  window.is_ahead = since - now > CLOCK_STEP
  if window.is_ahead then since = now end
  local start, current, previous = window_at(p, since, window.cur, window.prev, now)
  local rest = fading(p, start, previous, now)
  window.seen_by, window.start, window.current, window.previous = p, start, current, previous
  window.rest, window.rest_up = rest, ceil(rest - EPSILON)
end

local function read_window(p, window, need)
  if window.seen_by ~= p then see_window(p, window) end
  local current = window.current
  if window.rest <= quota[p] - need - current + EPSILON then return 0 end
  return window_wait(p, window.start, current, window.previous, need)
end

local function read_leases(p, leases, _, key, lease_id)
  local over = leases.live - quota[p]
  if over < 0 then return 0 end
  -- A lease that ends so late was taken before the clock went back, and ends after its length from now.
  for _, id in ipairs(call('ZRANGEBYSCORE', key, now + a[p] + LEASE_STEP, '+inf')) do
    call('ZADD', key, now + a[p], id)
  end
  -- Taking a lease again that is held already takes no other slot.
  local ends = call('ZSCORE', key, lease_id)
  if ends and tonumber(ends) > now then return 0 end
  local sure = call('ZRANGEBYSCORE', key, after_now, '+inf', 'WITHSCORES', 'LIMIT', over, 1)
  return tonumber(sure[2]) - now
end

-- The chargers spend the cost. A key lives until its limit is restored.

local function charge_bucket(p, bucket, need)
  local tokens = bucket.level - need
  if not bucket.is_charged then charged_buckets[#charged_buckets + 1] = bucket end
  bucket.is_charged, bucket.level, bucket.tokens, bucket.since = true, tokens, tokens, now
  local full_at = now + ceil((quota[p] - tokens) * b[p] / a[p])
  -- Not armed anew while it will live long enough: that saves a command and two fields mostly.
  if bucket.expires >= full_at and bucket.quota == quota[p] then return end
  bucket.expires, bucket.quota = full_at + ceil(quota[p] * b[p] / a[p]), quota[p]
  bucket.is_armed = true
end

local function charge_window(p, window, need)
  local current = window.current + need
  window.current, window.cur = current, current
  if window.charged_by == p then return end
  if not window.charged_by then charged_windows[#charged_windows + 1] = window end
  local start = window.start
  if window.since ~= start then window.is_kept = false end
  window.charged_by, window.since, window.prev = p, start, window.previous
  window.expires = start + 2 * a[p]
end

-- Written at once: only the set knows who is in it already.
local function charge_leases(p, leases, _, key, lease_id, from)
  local ends, is_first = from + a[p], leases.live == 0
  if leases.ended > 0 then
    call('ZREMRANGEBYSCORE', key, '-inf', now_text)
    leases.ended = 0
  end
  leases.live = leases.live + call('ZADD', key, text(ends), lease_id)
  if leases.expires >= ends then return end
  local last = is_first and ends or tonumber(call('ZRANGE', key, -1, -1, 'WITHSCORES')[2])
  leases.expires = last
  call('PEXPIRE', key, text(ceil((last - now) / 1000) + keep_ms))
end

-- The writers keep what all chains have left.

local function write_bucket(bucket)
  local key, tokens = bucket.key, pack('<d', bucket.tokens)
  if not bucket.is_armed then
    call('HSET', key, 't', tokens, 'ts', now_packed)
    return
  end
  call('HSET', key, 't', tokens, 'ts', now_packed, 'v', SCHEMA, 'x', pack('<i8d', bucket.expires, bucket.quota))
  call('PEXPIRE', key, text(ceil((bucket.expires - now) / 1000) + keep_ms))
end

local function write_window(window)
  local key, current = window.key, text(window.cur)
  if window.is_kept then
    call('HSET', key, 'c', current)
  else
    call('HSET', key, 'ws', text(window.since), 'c', current, 'p', text(window.prev), 'v', SCHEMA)
  end
  call('PEXPIRE', key, text(ceil((window.expires - now) / 1000) + keep_ms))
end

-- What remains, and when all of it is back.

local function answer_bucket(p, bucket)
  local left = bucket.level + EPSILON
  -- Rounded by \`%\`, down and up: calls of math.floor and math.ceil cost more than the rest of this.
  left = left - left % 1
  local missing = (bucket.level - quota[p]) * b[p] / a[p]
  if missing < -LONGEST then missing = -LONGEST end
  return left > 0 and left or 0, missing % 1 - missing
end

local function answer_window(p, window)
  local current = window.current
  local left = quota[p] - current - window.rest_up
  local reset = current > 0 and window.start + 2 * a[p] - now
    or window.previous > 0 and window.start + a[p] - now or 0
  return left > 0 and left or 0, reset
end

local function answer_leases(p, leases)
  local left = quota[p] - leases.live
  return left > 0 and left or 0, 0
end

-- What is done for a plan, by its kind.
local HELD = { buckets, windows, lease_sets }
local FIND = { find_bucket, find_window, find_leases }
local READ = { read_bucket, read_window, read_leases }
local CHARGE = { charge_bucket, charge_window, charge_leases }
local ANSWER = { answer_bucket, answer_window, answer_leases }
local held, find, read, charge, answer = {}, {}, {}, {}, {}
for p = 1, plan_count do
  local k = kind[p]
  held[p], find[p], read[p], charge[p], answer[p] = HELD[k], FIND[k], READ[k], CHARGE[k], ANSWER[k]
end

-- What a shape asks, and where its arguments end.
local function read_shape(at)
  local plan, cost, lends = {}, {}, false
  local limit_count = tonumber(ARGV[at + 3])
  for i = 1, limit_count do
    local p = tonumber(ARGV[at + 2 + 2 * i])
    plan[i], cost[i] = p, tonumber(ARGV[at + 3 + 2 * i])
    if kind[p] == LEASES then lends = true end
  end
  local shape = {
    mode = tonumber(ARGV[at]), longest = tonumber(ARGV[at + 1]), probe_length = tonumber(ARGV[at + 2]),
    limit_count = limit_count, plan = plan, cost = cost, lends = lends,
  }
  return shape, at + 4 + 2 * limit_count
end

-- The one thing a denial writes, at once: without it the limit would stand still until the clock is
-- where it was before it went back.
local function rebase(p, one, key)
  one.since, one.is_ahead = now, false
  if kind[p] == BUCKET then call('HSET', key, 'ts', now_packed)
  else call('HSET', key, 'ws', now_text) end
end

local out, size = { tonumber(ARGV[#ARGV]), now }, 2

-- Appends what a gate says. Returns whether it could be read, whether it is shut, and whether the
-- chain that passes is a probe.
local function read_gate(key)
  local held = pcall('HMGET', key, 'g', 'c', 'b', 'u', 'pu', 'x')
  local readable = not held.err
  if now >= (tonumber(held[6] or '') or 0) then held = {} end
  local till, probe_till = tonumber(held[4] or '') or 0, tonumber(held[5] or '') or 0
  local shut_for = 0
  if till > now then shut_for = till - now elseif till > 0 and probe_till > now then shut_for = probe_till - now end
  local is_probe = till > 0 and shut_for == 0
  out[size + 1], out[size + 2] = tonumber(held[1] or '') or 0, tonumber(held[2] or '') or 0
  out[size + 3], out[size + 4] = shut_for, is_probe and 1 or (shut_for > 0 and till <= now) and 2 or 0
  out[size + 5] = tonumber(held[3] or '') or 0
  size = size + 5
  return readable, shut_for > 0, is_probe
end

-- Decides the chain whose first key is KEYS[first + 1], and appends the answer.
local function decide(first, shape, lease_id)
  local limit_count, mode, longest, probe_length = shape.limit_count, shape.mode, shape.longest, shape.probe_length
  local plan, cost = shape.plan, shape.cost
  local allowed, readable, act_after = 1, true, 0
  local shut, is_probe = false, false
  local status_at = size + 1
  size = status_at
  if probe_length > 0 then
    first = first + 1
    readable, shut, is_probe = read_gate(KEYS[first])
  end
  for i = 1, limit_count do
    local p, key = plan[i], KEYS[first + i]
    local one = held[p][key]
    if not one then
      one = find[p](key)
      held[p][key] = one
    end
    found[i] = one
    local w = UNREADABLE
    if one == NOT_OURS then readable = false else w = read[p](p, one, cost[i], key, lease_id) end
    wait[i], admits[i] = w, true
    if w ~= 0 then
      admits[i] = mode == RESERVE and kind[p] == BUCKET and w > 0 and w <= longest
      if not shadow[p] then
        if not admits[i] then allowed = 0 end
        if w > act_after then act_after = w end
      end
    end
  end
  if shut then allowed = 0 end
  if not readable then allowed = 2 end
  out[status_at] = allowed
  if is_probe and allowed == 1 and mode ~= PEEK then
    call('HSET', KEYS[first], 'pu', now + act_after + probe_length)
  end
  for i = 1, limit_count do
    local p, one, left, reset = plan[i], found[i], 0, 0
    if one ~= NOT_OURS then
      if mode ~= PEEK then
        local key = KEYS[first + i]
        if allowed == 1 and admits[i] then charge[p](p, one, cost[i], key, lease_id, now + act_after)
        elseif one.is_ahead then rebase(p, one, key) end
      end
      left, reset = answer[p](p, one)
    end
    out[size + 1], out[size + 2], out[size + 3] = wait[i], left, reset
    size = size + 3
  end
end

local shapes, first, arg_count = {}, 0, #ARGV - 1
arg = arg + 1
while arg <= arg_count do
  local chain_count, number = tonumber(ARGV[arg]), ARGV[arg + 1]
  arg = arg + 2
  local shape = shapes[number]
  if not shape then
    shape, arg = read_shape(arg)
    shapes[number] = shape
  end
  local key_count = shape.limit_count + (shape.probe_length > 0 and 1 or 0)
  for _ = 1, chain_count do
    decide(first, shape, shape.lends and ARGV[arg])
    if shape.lends then arg = arg + 1 end
    first = first + key_count
  end
end
for _, bucket in ipairs(charged_buckets) do write_bucket(bucket) end
for _, window in ipairs(charged_windows) do write_window(window) end
return out
`;

/** lua/decide_buckets.lua */
export const DECIDE_BUCKETS: string = `--[[
  Decides chains of token buckets, as decide.lua does and with the same arguments, answers and stored
  values. Most chains hold nothing else; without functions and the other kinds a batch of 32 takes a
  tenth less of the server's time, and a lone decision a third less.

  KEYS     one per limit, chain by chain: a hash
  ARGV[1]  the time in microseconds, or '' to take the server's, once for all
  ARGV[2]  how many plans follow, each as: kind (always 1), quota, a, b, shadow
             a tokens come back every b microseconds
  then chains, those of one shape that follow each other told together: how many chains, the number of
  their shape, and if it is a new one what it is: mode (0 take, 1 peek, 2 reserve), longest wait, 0, how
  many limits, for each limit its plan and its cost

  last     a number that comes back, by which the caller knows that the answer is its own

  Returns integers: that number, the time, then for each chain
    1 allowed, 0 denied, 2 undecided because a key holds something that is not ours,
    and for each limit: wait in microseconds (-1 never, -2 not ours), what remains, microseconds until all is back

  x % 1 - x is -floor(x): it rounds -x up, and is several times cheaper than calling math.ceil.
]]
local call, pcall, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack
local KEYS, ARGV, tonumber = KEYS, ARGV, tonumber

local PEEK, RESERVE = '1', '2'
local NEVER, UNREADABLE = -1, -2
-- Twenty years, more than can be booked: beyond, microseconds are no longer exact, and counting up to them would never end.
local LONGEST = 630720000000000
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
local now_packed = pack('<i8', now)

-- What the shape at hand asks and what was read of its chain, by the position of the limit.
local quota, refill, period, shadow, cost = {}, {}, {}, {}, {}
local level, expiry, wait, books, stepped = {}, {}, {}, {}, {}

-- Where each shape is told, by its number.
local shape_at = {}
local out, size, first = { tonumber(ARGV[#ARGV]), now }, 2, 0
local arg, arg_count = 3 + 5 * tonumber(ARGV[2]), #ARGV - 1
while arg <= arg_count do
  local chain_count, number = tonumber(ARGV[arg]), ARGV[arg + 1]
  -- A shape that was told before is read where it stands.
  local at = shape_at[number] or arg + 2
  local mode, longest, limit_count = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 3])
  arg = shape_at[number] and arg + 2 or at + 4 + 2 * limit_count
  shape_at[number] = at
  for i = 1, limit_count do
    at = at + 2
    local plan = 5 * tonumber(ARGV[at + 2]) - 2
    quota[i], refill[i], period[i] = tonumber(ARGV[plan + 1]), tonumber(ARGV[plan + 2]), tonumber(ARGV[plan + 3])
    shadow[i], cost[i] = ARGV[plan + 4] == '1', tonumber(ARGV[at + 3])
  end

  for _ = 1, chain_count do
    local allowed, readable = 1, true

    for i = 1, limit_count do
      local full, a, b, need = quota[i], refill[i], period[i], cost[i]
      local tokens, since, expires, held_quota = full, now, 0, full
      local unreadable = false
      local held = pcall('HMGET', KEYS[first + i], 't', 'ts', 'v', 'x')
      if held.err or (held[3] and held[3] ~= SCHEMA) then
        readable, unreadable = false, true
      else
        local t, ts, x = held[1], held[2], held[4]
        -- Anything that is not a number as we write it is taken for nothing, and written anew.
        if t and ts and #t == 8 and #ts == 8 then
          tokens, since = unpack('<d', t), unpack('<i8', ts)
          if not (tokens < 1e15 and tokens > -1e15) then tokens, since = full, now end
        end
        if x and #x == 16 then expires, held_quota = unpack('<i8d', x) end
      end
      stepped[i] = since - now > CLOCK_STEP
      if stepped[i] then since = now end
      if held_quota ~= full then
        expires = 0
        -- A bucket that was full when its plan grew is full of what the plan holds now.
        if held_quota < full and tokens + (now - since) * a / b >= held_quota then tokens = full end
      end
      local tokens_now = tokens
      if now > since then tokens_now = tokens + (now - since) * a / b end
      if tokens_now > full then tokens_now = full end
      level[i], expiry[i], wait[i], books[i] = tokens_now, expires, unreadable and UNREADABLE or 0, true

      if tokens_now + EPSILON < need then
        local waits = NEVER
        if need <= full then
          -- Solved, then settled with the comparison that will admit it.
          local missing = (tokens - need + EPSILON) * b / a
          local due = since + (missing % 1 - missing)
          if missing < -LONGEST then due, tokens = now + LONGEST, full end
          if due <= now then due = now + 1 end
          while true do
            local then_tokens = due > since and tokens + (due - since) * a / b or tokens
            if then_tokens + EPSILON >= need or then_tokens >= full then break end
            due = due + 1
          end
          while due > now + 1 and missing >= -LONGEST do
            local then_tokens = due - 1 > since and tokens + (due - 1 - since) * a / b or tokens
            if then_tokens + EPSILON < need then break end
            due = due - 1
          end
          waits = due - now
        end
        wait[i] = waits
        books[i] = mode == RESERVE and waits > 0 and waits <= longest
        if not books[i] and not shadow[i] then allowed = 0 end
      end
    end

    if not readable then allowed = 2 end
    size = size + 1
    out[size] = allowed
    for i = 1, limit_count do
      local full, a, b, tokens = quota[i], refill[i], period[i], level[i]
      if mode ~= PEEK then
        if allowed == 1 and books[i] then
          tokens = tokens - cost[i]
          local missing = (tokens - full) * b / a
          local full_at = now + (missing % 1 - missing)
          -- Not armed anew while it will live long enough: saves a command and two fields.
          if expiry[i] >= full_at then
            call('HSET', KEYS[first + i], 't', pack('<d', tokens), 'ts', now_packed)
          else
            local spare = -full * b / a
            local expires = full_at + (spare % 1 - spare)
            call('HSET', KEYS[first + i], 't', pack('<d', tokens), 'ts', now_packed, 'v', SCHEMA,
              'x', pack('<i8d', expires, full))
            call('PEXPIRE', KEYS[first + i], math.ceil((expires - now) / 1000) + keep_ms)
          end
        elseif stepped[i] then
          -- The one thing a denial writes: without it the limit would stand still until the clock is
          -- where it was before it went back.
          call('HSET', KEYS[first + i], 'ts', now_packed)
        end
      end
      local left, missing = tokens + EPSILON, (tokens - full) * b / a
      if missing < -LONGEST then missing = -LONGEST end
      out[size + 1] = wait[i]
      out[size + 2] = left >= 1 and left - left % 1 or 0
      out[size + 3] = missing % 1 - missing
      size = size + 3
    end
    first = first + limit_count
  end
end
return out
`;

/** lua/give_back.lua */
export const GIVE_BACK: string = `--[[
  Gives back what was spent for nothing. What is no longer there is left alone: a limit that was
  forgotten is full, and giving back never creates one.

  KEYS     one per limit; before them the gate that their chain passed, if ARGV[2] is not ''
  ARGV[1]  the time in microseconds, or '' to take the server's
  ARGV[2]  the plan of turns that a cancelled turn belongs to (see gate.lua), or ''
  then for each limit: action, quota, a, b, tokens, when they were spent or '', when the limit would have
  been whole again, due, lease id
    action 1  refund tokens to a bucket   (a tokens come back every b microseconds)
    action 2  refund tokens to a window   (of a microseconds)
    action 3  release a lease
    action 4  cancel a turn of a bucket that was due at \`due\`; only the last in the queue comes back

  last     a number that comes back, by which the caller knows that the answer is its own

  Returns that number, and how many of them changed anything.
]]
local call, pcall, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack
local max, min = math.max, math.min

local REFUND_BUCKET, REFUND_WINDOW, RELEASE = 1, 2, 3
local SCHEMA = '1'
-- Tokens that a bucket may seem to owe although nobody waits.
local ROUNDING = 1e-6
-- A refund counts in the same sum as those before it for this part of a refill.
local PARTS_OF_REFILL = 8

local now = tonumber(ARGV[1])
if not now then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

-- What came back to a bucket, as two sums that began at different times: too much may be told, never too
-- little. Made anew where it is not of our form.
local function read_log(text)
  if not text or #text ~= 40 then return 0, 0, 0, 0, 0 end
  return unpack('<i8i8di8d', text)
end

-- At least the tokens that came back at that time or later.
local function returned_since(at, log)
  local last, since, sum, older_since, older_sum = read_log(log)
  if at > last then return 0 end
  if at >= since then return sum end
  return at >= older_since and older_sum or math.huge
end

-- What is not refilled of a charge: all that was missing right after it, less what was refilled and given
-- back since; or the charge alone, less all that was refilled, where that is more.
local function left_of(tokens, at, whole, rate_a, rate_b, log)
  if not at then return tokens end
  local alone = tokens - max(0, now - at) * rate_a / rate_b
  -- Told in whole microseconds, rounded up.
  local left = (whole - 1 - now) * rate_a / rate_b - returned_since(at, log)
  return min(tokens, max(alone, left))
end

-- The log with one more refund. A sum lasts twice as long as that was held, or an eighth of a refill.
local function logged(log, tokens, held, refill)
  local _, since, sum, older_since, older_sum = read_log(log)
  if now - since > max(2 * held, refill / PARTS_OF_REFILL) then
    older_since, older_sum, since, sum = since, sum, now, 0
  end
  return pack('<i8i8di8d', now, since, sum + tokens, older_since, older_sum + tokens)
end

local function refund_bucket(key, quota, a, b, tokens, at, whole, due)
  local held = pcall('HMGET', key, 't', 'ts', 'v', 'r')
  if held.err or held[3] ~= SCHEMA then return 0 end
  if not held[1] or not held[2] or #held[1] ~= 8 or #held[2] ~= 8 then return 0 end
  local level, since, log = unpack('<d', held[1]), unpack('<i8', held[2]), held[4]
  if now > since then level = level + (now - since) * a / b end
  level = min(level, quota)
  -- Whoever queued behind owed a token or more at that time; rounding, much less.
  if due and -level > ROUNDING and -level + (now - due) * a / b > 0.5 then return 0 end
  -- Before a turn is due the bucket has owed tokens all the time, so nothing has been refilled in vain.
  -- Nobody was admitted after the last in the queue, so no other refund has to know of this one.
  if due and now < due and returned_since(at or now, log) == 0 then
    call('HSET', key, 't', pack('<d', min(quota, level + tokens)), 'ts', pack('<i8', max(now, since)))
    return 1
  end
  local left = min(quota - level, left_of(tokens, at, whole, a, b, log))
  if left <= 0 then return 0 end
  -- A bucket that is full is kept as well: what is in its log must not come back again.
  call('HSET', key, 't', pack('<d', level + left), 'ts', pack('<i8', max(now, since)),
    'r', logged(log, left, now - (at or now), quota * b / a))
  return 1
end

local function refund_window(key, a, tokens, at)
  local held = pcall('HMGET', key, 'ws', 'c', 'p', 'v')
  if held.err or held[4] ~= SCHEMA then return 0 end
  local start, current, previous = tonumber(held[1] or ''), tonumber(held[2] or ''), tonumber(held[3] or '')
  if not (start and current and previous) or now - start >= 2 * a then return 0 end
  if now - start >= a then start, current, previous = start + a, 0, current end
  -- From the window in which they were counted, if that is not over.
  local is_of_current = not at or at >= start
  local is_of_previous = not at or (not is_of_current and at >= start - a)
  local from_current = is_of_current and min(tokens, current) or 0
  local from_previous = is_of_previous and min(tokens - from_current, previous) or 0
  if from_current + from_previous <= 0 then return 0 end
  call('HSET', key, 'ws', start, 'c', current - from_current, 'p', previous - from_previous)
  return 1
end

-- Turns due after this were made void by a new plan, and nothing is owed for them.
local void_after
local generation = tonumber(ARGV[2])
if generation then
  local gate = pcall('HMGET', KEYS[1], 'g', 'c')
  if not gate.err and gate[1] and tonumber(gate[1]) ~= generation then void_after = tonumber(gate[2]) end
end

local changed = 0
local first = generation and 1 or 0
for i = 1, #KEYS - first do
  local arg = 3 + (i - 1) * 9
  local action, key = tonumber(ARGV[arg]), KEYS[first + i]
  local quota, a, b = tonumber(ARGV[arg + 1]), tonumber(ARGV[arg + 2]), tonumber(ARGV[arg + 3])
  local tokens, at, whole = tonumber(ARGV[arg + 4]), tonumber(ARGV[arg + 5]), tonumber(ARGV[arg + 6])
  local due, lease_id = tonumber(ARGV[arg + 7]), ARGV[arg + 8]
  if action == REFUND_BUCKET then
    changed = changed + refund_bucket(key, quota, a, b, tokens, at, whole, nil)
  elseif action == REFUND_WINDOW then
    changed = changed + refund_window(key, a, tokens, at)
  elseif action == RELEASE then
    local removed = pcall('ZREM', key, lease_id)
    if type(removed) == 'number' then changed = changed + removed end
  elseif not void_after or due <= void_after then
    changed = changed + refund_bucket(key, quota, a, b, tokens, at, whole, due)
  end
end
return { tonumber(ARGV[#ARGV]), changed }
`;

/** lua/release.lua */
export const RELEASE: string = `--[[
  Gives back slots that were lent. One whose lease has ended, or that was given back before, stays as
  it is: nothing is counted, so that nothing can be given back twice.

  KEYS     one per held slot
  ARGV     for each its lease id

  last     a number that comes back, by which the caller knows that the answer is its own

  Returns that number, and for each slot 1 if it was still there, else 0.
]]
local out = { tonumber(ARGV[#ARGV]) }
for i = 1, #KEYS do
  out[i + 1] = redis.pcall('ZREM', KEYS[i], ARGV[i]) == 1 and 1 or 0
end
return out
`;

/** lua/renew.lua */
export const RENEW: string = `--[[
  Prolongs leases that have not ended. One that has ended stays so: its slot may be somebody else's.

  KEYS     one per held slot
  ARGV[1]  the time in microseconds, or '' to take the server's
  then for each slot: lease id, length of its lease in microseconds

  last     a number that comes back, by which the caller knows that the answer is its own

  Returns that number, and for each slot 1 if it was still held, else 0.
]]
local call, pcall = redis.call, redis.pcall

local now, keep_ms = tonumber(ARGV[1]), 600000
if not now then
  keep_ms = 1
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

local out = { tonumber(ARGV[#ARGV]) }
for i = 1, #KEYS do
  local key, lease_id, length = KEYS[i], ARGV[2 * i], tonumber(ARGV[2 * i + 1])
  local ends = pcall('ZSCORE', key, lease_id)
  out[i + 1] = 0
  if type(ends) == 'string' and tonumber(ends) > now then
    call('ZADD', key, now + length, lease_id)
    local last = call('ZRANGE', key, -1, -1, 'WITHSCORES')
    call('PEXPIRE', key, math.ceil((tonumber(last[2]) - now) / 1000) + keep_ms)
    out[i + 1] = 1
  end
end
return out
`;

/** lua/gate.lua */
export const GATE: string = `--[[
  Changes a gate: counts blocks and successes, shuts it for a cooldown, opens it again, and plans the
  turns of the bucket behind it anew. All of it in one step, told to everybody who listens.

  KEYS[1]  the gate: a hash
  KEYS[2]  the bucket behind it, or the gate again where the bucket cannot be reached: its turns stay
  ARGV[1]  the time in microseconds, or '' to take the server's
  ARGV[2]  what happened: 0 nothing, only look; 1 block; 2 success; 3 new plan; 4 there is room
  ARGV[3]  how long the gate remembers, in microseconds
  ARGV[4]  the plan of turns that the request was sent under, or ''
  ARGV[5]  block: how many in a row open a cooldown    new plan: microseconds that are wasted
           room: until when the others would have waited for a probe that is not made, or 0 for a slot
  ARGV[6]  block: length of the cooldown               new plan: 1 to make one in any case
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
local call, pack, unpack, ceil, max, min = redis.call, struct.pack, struct.unpack, math.ceil, math.max, math.min

local BLOCK, SUCCESS, PLAN, FREE = 1, 2, 3, 4
local SCHEMA = '1'
-- Turns due so soon stay as they are: the news may come too late for them.
local GRACE = 50000
-- Waste that is worth a new plan: this long at least, and this part of the queue.
local WASTE, WASTE_SHARE = 100000, 0.1

local now, keep_ms = tonumber(ARGV[1]), 600000
if not now then
  keep_ms = 1
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

local gate_key, bucket_key = KEYS[1], KEYS[2]
local event, memory, sent_under = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local quota, a, b = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])

local held = call('HMGET', gate_key, 'g', 'c', 'b', 'u', 'o', 'pu', 'w', 'x')
for i = 1, 8 do held[i] = tonumber(held[i] or '') or 0 end
if now >= held[8] then held = { 0, 0, 0, 0, 0, 0, 0 } end
local generation, cut, blocks, till, opened, probe_till, wasted =
  held[1], held[2], held[3], held[4], held[5], held[6], held[7]

local function keep()
  local expires = max(now, till) + memory
  call('HSET', gate_key, 'g', generation, 'c', cut, 'b', blocks, 'u', till, 'o', opened,
    'pu', probe_till, 'w', wasted, 'x', expires)
  call('PEXPIRE', gate_key, ceil((expires - now) / 1000) + keep_ms)
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

local function set_bucket(tokens)
  if bucket_key == gate_key then return end
  local expires = now + ceil((quota - tokens) * b / a) + ceil(quota * b / a)
  call('HSET', bucket_key, 't', pack('<d', tokens), 'ts', pack('<i8', now), 'v', SCHEMA,
    'x', pack('<i8d', expires, quota))
  call('PEXPIRE', bucket_key, ceil((expires - now) / 1000) + keep_ms)
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
`;

/** lua/document.lua */
export const DOCUMENT: string = `--[[
  Reads or replaces a text that all processes share, and publishes the change.

  KEYS[1]  a hash: the text and its version
  ARGV[1]  how long it lives without being read, in milliseconds
  ARGV[2]  0 to read, 1 to replace
  ARGV[3]  the version that it must have to be replaced (compare and set)
  ARGV[4]  the new text
  ARGV[5]  the channel to publish the new version on
  ARGV[6]  the name of the document in that message
  ARGV[7]  a number that is returned, by which the caller recognises its own answer

  Returns that number, 1 if it was replaced, the version and the text as they are now.
]]
local call = redis.call

local held = call('HMGET', KEYS[1], 'n', 'text')
local version, text = tonumber(held[1] or '') or 0, held[2] or ''
local replaced = 0
if ARGV[2] == '1' and version == tonumber(ARGV[3]) then
  replaced, version, text = 1, version + 1, ARGV[4]
  call('HSET', KEYS[1], 'n', version, 'text', text)
end
if version > 0 then call('PEXPIRE', KEYS[1], ARGV[1]) end
-- A user who may not publish can still change what is stored.
if replaced == 1 then redis.pcall('PUBLISH', ARGV[5], version .. ' ' .. ARGV[6]) end
return { tonumber(ARGV[7]), replaced, version, text }
`;

/** lua/forbidden.lua */
export const FORBIDDEN: string = `--[[
  Tells which commands the user of this connection may not run on our keys. Runs none of them.

  KEYS     none: nothing is touched, so that any server of a cluster can be asked
  ARGV[1]  a key as ours are
  then the names of commands

  Returns those that are forbidden; none on servers that cannot tell (Redis before 7.0).
]]
local forbidden = {}
if not redis.acl_check_cmd then return forbidden end
-- Newer servers also check how many arguments there are: the largest number that fits is taken, for
-- only with its key is a command checked for that.
local function is_allowed(command, key)
  for count = 4, 0, -1 do
    local args = {}
    for i = 1, count do args[i] = key end
    local fits, allowed = pcall(redis.acl_check_cmd, command, unpack(args))
    if fits then return allowed end
  end
  return false
end

for i = 2, #ARGV do
  if not is_allowed(ARGV[i], ARGV[1]) then forbidden[#forbidden + 1] = ARGV[i] end
end
return forbidden
`;
