--[[
  Decides chains of limits, each all or nothing: every limit admits and is charged, or none is.
  Several chains may come in one call; each finds what those before it left. Everything of a chain is
  read before anything of it is written, and a denied chain charges nothing. A key that several chains
  share, as the whole server's, is read once and its tokens are written once, when all are decided.

  While an application is deployed a plan may have two definitions, of which each process knows one. All
  buckets of a key count in the same tokens, whatever their capacities and rates, and so do windows of
  the same length. A bucket and a window, or windows of two lengths, count apart: the one that was charged
  last in the fields of its kind, the other one in `x`. Every charge is taken from both. A count that
  begins has as much room as the other one, so that no definition ever has more room than a bucket of the
  larger capacity and the larger rate would. A key lives as long as the slowest of its definitions needs.

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
  there is a gate or 0, how many limits, for each limit its plan and its cost, and if there is a gate the
  process that books turns behind it (see gate.lua), or ''

  last     a number that comes back, by which the caller knows that the answer is its own

  Returns integers: that number, the time, then for each chain
    1 allowed, 0 denied, 2 undecided because a key holds something that is not ours,
    of a gate: generation, cut, wait until it lets this chain pass, 1 if it is a probe or 2 if one is
    out, blocks in a row, 1 if a process that booked turns may have died,
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
-- The key of a bucket lives longer than it has to by this part.
local SPARE = 0.25
-- Leases of turns that are booked ahead may end this much later than those taken now.
local LEASE_STEP = 600000000
-- A process with turns is taken for dead when it was not heard of for so long.
local HOLDER_LIFE = 2250000

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

-- `of` tells counts apart: the length of windows, nothing for buckets. `restores` is the time in which a
-- plan is restored.
local kind, quota, a, b, shadow, of, restores, window_x = {}, {}, {}, {}, {}, {}, {}, {}
local arg = 2
local plan_count = tonumber(ARGV[arg])
for p = 1, plan_count do
  kind[p] = tonumber(ARGV[arg + 1])
  quota[p] = tonumber(ARGV[arg + 2])
  a[p] = tonumber(ARGV[arg + 3])
  b[p] = tonumber(ARGV[arg + 4])
  shadow[p] = ARGV[arg + 5] == '1'
  if kind[p] == BUCKET then
    restores[p] = quota[p] * b[p] / a[p]
  elseif kind[p] ~= LEASES then
    of[p], restores[p], window_x[p] = a[p], a[p], pack('<bdd', 2, a[p], quota[p])
  end
  arg = arg + 5
end

-- What was found for the chain at hand, by the position of the limit.
local found, wait, admits = {}, {}, {}

-- What is held under each key, as the chains so far leave it; and what is to be written of that.
local held = {}
local charged_buckets, charged_windows = {}, {}
local NOT_OURS = {}

-- Tokens of a bucket that held `tokens` at `since`, at another time.
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

-- The window of a length that holds `at`, of one that began at `since`.
local function window_at(length, since, cur, prev, at)
  local elapsed = at - since
  if elapsed < length then return since, cur, prev end
  if elapsed < 2 * length then return since + length, 0, cur end
  return at, 0, 0
end

-- What is still counted of the previous window.
local function fading(length, since, prev, at)
  local elapsed = at - since
  if elapsed < 0 then elapsed = 0 end
  return prev * (length - elapsed) / length
end

local function window_admits(p, since, cur, prev, need, at)
  since, cur, prev = window_at(a[p], since, cur, prev, at)
  return fading(a[p], since, prev, at) <= quota[p] - need - cur + EPSILON
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

-- Of a bucket `x` is when its key expires and how long it lives at least, in 0.1 the capacity, which is
-- less; before another count, the tokens per microsecond. Of a window it is its kind, length and limit, in
-- 0.1 nothing; then how long it lives at least, if that is longer, and before another count in any case.
local function is_of_bucket(x) return #x == 16 or #x == 64 end
local function is_of_window(x) return #x == 17 or #x == 25 or #x == 65 end

local function unpack_other(x, at)
  local lasts, length, one, two, three = unpack('<ddddd', x, at)
  if length == 0 then
    return { is_apart = true, lasts = lasts, tokens = one, since = two, rate = three }
  end
  return { of = length, is_apart = true, lasts = lasts, since = one, cur = two, prev = three }
end

local function pack_other(other)
  if not other.of then return pack('<ddddd', other.lasts, 0, other.tokens, other.since, other.rate) end
  return pack('<ddddd', other.lasts, other.of, other.since, other.cur, other.prev)
end

local function as_bucket(key, fields, x)
  local tokens, since, expires, span = fields[1], fields[2], 0, 0
  -- Anything that is not a number as we write it is taken for nothing, and written anew.
  if tokens and since and #tokens == 8 and #since == 8 then
    tokens, since = unpack('<d', tokens), unpack('<i8', since)
    if not (tokens < 1e15 and tokens > -1e15) then tokens, since = nil, now end
  else
    tokens, since = nil, now
  end
  if x and is_of_bucket(x) then expires, span = unpack('<i8d', x) end
  local bucket = { key = key, tokens = tokens, since = since, expires = expires, span = span }
  if x and #x == 64 then
    bucket.rate, bucket.other, bucket.is_apart = unpack('<d', x, 17), unpack_other(x, 25), true
  end
  return bucket
end

local function as_window(key, fields, x, p)
  local since, cur, prev = tonumber(fields[1] or ''), tonumber(fields[2] or ''), tonumber(fields[3] or '')
  if not (since and cur and prev and cur >= 0 and prev >= 0 and cur < 1e15 and prev < 1e15) then
    return { of = of[p], key = key, is_new = true, since = now, cur = 0, prev = 0 }
  end
  local window = { of = of[p], key = key, is_kept = x == window_x[p], since = since, cur = cur, prev = prev, x = x }
  if x ~= window_x[p] and x and is_of_window(x) then
    window.of = unpack('<d', x, 2)
    if #x > 17 then window.span = unpack('<d', x, 18) end
    if #x == 65 then window.other, window.is_apart = unpack_other(x, 26), true end
  end
  return window
end

local function find_bucket(key, p)
  local fields = pcall('HMGET', key, 't', 'ts', 'v', 'x')
  if fields.err or (fields[3] and fields[3] ~= SCHEMA) then return NOT_OURS end
  local x = fields[4]
  if x and is_of_window(x) then return as_window(key, call('HMGET', key, 'ws', 'c', 'p'), x, p) end
  return as_bucket(key, fields, x)
end

local function find_window(key, p)
  local fields = pcall('HMGET', key, 'ws', 'c', 'p', 'x')
  if fields.err then return NOT_OURS end
  local x = fields[4]
  -- What the definition at hand has written is of this schema, and each field that is read takes time.
  if x ~= window_x[p] then
    local schema = call('HMGET', key, 'v')[1]
    if schema and schema ~= SCHEMA then return NOT_OURS end
  end
  if x and is_of_bucket(x) then return as_bucket(key, call('HMGET', key, 't', 'ts'), x) end
  return as_window(key, fields, x, p)
end

local function find_leases(key)
  local count = pcall('ZCARD', key)
  if type(count) == 'table' then return NOT_OURS end
  -- Most clients hold nothing, so that there is nothing to be counted or swept.
  local live = count > 0 and call('ZCOUNT', key, after_now, '+inf') or 0
  return { live = live, ended = count - live, expires = 0 }
end

-- Until when a count matters to its own definition, and to the key.
local function lasts_of(one)
  if not one.of then return one.tokens and one.since + one.span or 0 end
  if one.is_new then return 0 end
  return one.since + one.of + math.max(one.of, one.span or 0)
end

-- What is left of a count, of a bucket also beyond its capacity.
local function room_of(one)
  if not one.of then
    return now > one.since and one.tokens + (now - one.since) * one.rate or one.tokens
  end
  local since, cur, prev = window_at(one.of, one.since, one.cur, one.prev, now)
  -- A window of 0.1 does not tell its limit.
  local limit = one.x and #one.x > 16 and unpack('<d', one.x, 10) or math.huge
  local room = limit - cur - fading(one.of, since, prev, now)
  return room > 0 and room or 0
end

-- The count that plan p goes by where another definition was charged last. One that begins has the same
-- room. What a window lacks of its limit fades as what was counted in the window before.
local function own_count(p, last)
  local own = last.other
  if not own or own.of ~= of[p] then
    -- How fast a bucket refills is kept only while there is another count.
    if not last.of and not last.rate then last.rate = quota[p] / a[p] end
    own = { of = of[p], is_apart = true, since = now }
    local room = quota[p]
    if lasts_of(last) > now or (last.tokens or 0) < 0 then
      own.is_begun, room = true, math.min(room, room_of(last))
    end
    if kind[p] == BUCKET then own.tokens = room
    else own.prev, own.cur = quota[p] - math.max(room, 0), ceil(math.max(-room, 0)) end
  end
  own.last = last
  return own
end

-- Makes a count the one that is kept in the fields of its kind.
local function take_over(p, own)
  local last = own.last
  own.key, own.expires, own.span = last.key, 0, restores[p]
  own.x, own.last, own.is_begun, own.is_over = nil, nil, nil, nil
  own.is_kept, own.charged_by, own.seen_by = nil, nil, nil
  last.lasts, last.other, last.is_over = lasts_of(last), nil, true
  if last.lasts > 0 then own.span = math.max(own.span, last.span or 0, last.of or 0) end
  if last.lasts > now then own.other, last.is_apart = last, true end
  held[own.key] = own
end

-- Takes the cost from the other count as well, unless it has been restored since its own definition was
-- last charged: that one is not used any more.
local function charge_other(p, one, need)
  local other = one.other
  if other.lasts <= now then
    one.other, one.expires, one.is_kept, one.x = nil, 0, nil, nil
    return
  end
  if other.of then
    local cur
    other.since, cur, other.prev = window_at(other.of, other.since, other.cur, other.prev, now)
    other.cur, other.seen_by = cur + need, nil
    return
  end
  local tokens = math.min(quota[p], room_of(other))
  -- Never below nothing: a bucket that comes back later need not pay for all that a larger plan let through.
  other.tokens, other.since = math.max(math.min(tokens, 0), tokens - need), now
end

-- The readers see what was found as plan p does, and return how long to wait for the cost.

local function read_bucket(p, bucket, need)
  local tokens, since = bucket.tokens or quota[p], bucket.since
  bucket.is_ahead = since - now > CLOCK_STEP
  if bucket.is_ahead then since = now end
  bucket.level = tokens_at(p, tokens, since, now)
  if bucket.level + EPSILON < need then return bucket_wait(p, tokens, since, need) end
  return 0
end

-- Now is the same for all chains: what one found of a window is good for the next of the same plan.
local function see_window(p, window)
  local since = window.since
  window.is_ahead = since - now > CLOCK_STEP
  if window.is_ahead then since = now end
  local start, current, previous = window_at(a[p], since, window.cur, window.prev, now)
  local rest = fading(a[p], start, previous, now)
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
  local lasts = restores[p]
  if bucket.span > lasts then lasts = bucket.span end
  local needed = now + lasts
  if tokens < 0 then needed = needed + math.min(ceil(-tokens * b[p] / a[p]), LONGEST) end
  if bucket.other then
    needed = math.max(needed, bucket.other.lasts)
    bucket.rate, bucket.is_armed = a[p] / b[p], true
  end
  -- Not armed anew while it will live long enough: that saves a command and two fields mostly.
  if bucket.expires >= needed and lasts == bucket.span then return end
  needed = needed + lasts * SPARE
  bucket.expires, bucket.span = needed - needed % 1, lasts
  bucket.is_armed = true
end

-- Writes anew what `x` says of a window. Returns when the key expires.
local function see_definitions(p, window, expires)
  local lasts, other = math.max(window.span or 0, a[p]), window.other
  window.x, window.span, window.is_kept = window_x[p], lasts, nil
  if other or lasts > a[p] then window.x = window.x .. pack('<d', lasts) end
  return math.max(expires, now + lasts, other and other.lasts or 0)
end

local function charge_window(p, window, need)
  local current = window.current + need
  window.current, window.cur = current, current
  if window.charged_by == p then return end
  if not window.charged_by then charged_windows[#charged_windows + 1] = window end
  local start, expires = window.start, window.start + 2 * a[p]
  if window.since ~= start then window.is_kept = nil end
  window.charged_by, window.since, window.prev = p, start, window.previous
  if window.is_new then window.is_new = false end
  if window.x ~= window_x[p] or window.is_apart then expires = see_definitions(p, window, expires) end
  window.expires = expires
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
  local x = pack('<i8d', bucket.expires, bucket.span)
  if bucket.other then x = x .. pack('<d', bucket.rate) .. pack_other(bucket.other) end
  call('HSET', key, 't', tokens, 'ts', now_packed, 'v', SCHEMA, 'x', x)
  call('PEXPIRE', key, text(ceil((bucket.expires - now) / 1000) + keep_ms))
end

local function write_window(window)
  local key, current = window.key, text(window.cur)
  if window.is_kept then
    call('HSET', key, 'c', current)
  else
    local x = window.x
    if window.other then x = x .. pack_other(window.other) end
    call('HSET', key, 'ws', text(window.since), 'c', current, 'p', text(window.prev), 'v', SCHEMA, 'x', x)
  end
  call('PEXPIRE', key, text(ceil((window.expires - now) / 1000) + keep_ms))
end

-- What remains, and when all of it is back.

local function answer_bucket(p, bucket)
  local left = bucket.level + EPSILON
  -- Rounded by `%`, down and up: calls of math.floor and math.ceil cost more than the rest of this.
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
local FIND = { find_bucket, find_window, find_leases }
local READ = { read_bucket, read_window, read_leases }
local CHARGE = { charge_bucket, charge_window, charge_leases }
local ANSWER = { answer_bucket, answer_window, answer_leases }
local find, read, charge, answer = {}, {}, {}, {}
for p = 1, plan_count do
  local k = kind[p]
  find[p], read[p], charge[p], answer[p] = FIND[k], READ[k], CHARGE[k], ANSWER[k]
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
  local after = at + 4 + 2 * limit_count
  local holder
  if tonumber(ARGV[at + 2]) > 0 then
    holder, after = ARGV[after], after + 1
  end
  local shape = {
    mode = tonumber(ARGV[at]), longest = tonumber(ARGV[at + 1]), probe_length = tonumber(ARGV[at + 2]),
    limit_count = limit_count, plan = plan, cost = cost, lends = lends, holder = holder ~= '' and holder,
  }
  return shape, after
end

-- A count that begins with a denial is kept, too, so that its room grows from now on.
local function begin(p, own)
  take_over(p, own)
  if own.other then charge_other(p, own, 0) end
  charge[p](p, own, 0)
end

-- The one other thing that a denial writes, at once: without it the limit would stand still until the clock is
-- where it was before it went back.
local function rebase(p, one, key)
  one.since, one.is_ahead = now, false
  if kind[p] == BUCKET then call('HSET', key, 'ts', now_packed)
  else call('HSET', key, 'ws', now_text) end
end

-- The turns that are booked in this call: for each gate the processes, and when their last is due.
local booked = {}

local function note_turn(key, holder, due)
  local holders = booked[key]
  if not holders then
    holders = {}
    booked[key] = holders
  end
  if due > (holders[holder] or 0) then holders[holder] = due end
end

-- Kept as gate.lua does.
local function write_holder(key, holder, due)
  local field = 'm:' .. holder
  local known = call('HMGET', key, field, 'mx', 'x', 'e')
  local latest = known[1] and tonumber(string.match(known[1], '^%d+')) or 0
  if latest > due then due = latest end
  call('HSET', key, field, text(due) .. ' ' .. now_text)
  if not known[2] then call('HSET', key, 'mx', text(now + HOLDER_LIFE)) end
  local expires = tonumber(known[3] or '') or 0
  if expires < due then expires = due end
  if expires <= (tonumber(known[4] or '') or 0) then return end
  call('HSET', key, 'e', text(expires))
  call('PEXPIRE', key, text(ceil((expires - now) / 1000) + keep_ms))
end

local out, size = { tonumber(ARGV[#ARGV]), now }, 2

-- Appends what a gate says. Returns whether it could be read, whether it is shut, and whether the
-- chain that passes is a probe.
local function read_gate(key)
  local gate = pcall('HMGET', key, 'g', 'c', 'b', 'u', 'pu', 'x', 'mx')
  local readable = not gate.err
  out[size + 6] = now >= (tonumber(gate[7] or '') or now + 1) and 1 or 0
  if now >= (tonumber(gate[6] or '') or 0) then gate = {} end
  local till, probe_till = tonumber(gate[4] or '') or 0, tonumber(gate[5] or '') or 0
  local shut_for = 0
  if till > now then shut_for = till - now elseif till > 0 and probe_till > now then shut_for = probe_till - now end
  local is_probe = till > 0 and shut_for == 0
  out[size + 1], out[size + 2] = tonumber(gate[1] or '') or 0, tonumber(gate[2] or '') or 0
  out[size + 3], out[size + 4] = shut_for, is_probe and 1 or (shut_for > 0 and till <= now) and 2 or 0
  out[size + 5] = tonumber(gate[3] or '') or 0
  size = size + 6
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
    local one = held[key]
    if not one then
      one = find[p](key, p)
      held[key] = one
    end
    if one.of ~= of[p] and one ~= NOT_OURS then one = own_count(p, one) end
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
  if probe_length > 0 and allowed == 1 and mode ~= PEEK then
    local needed_till = now + act_after
    if is_probe then
      needed_till = needed_till + probe_length
      call('HSET', KEYS[first], 'pu', needed_till, 'pm', shape.holder or '')
    end
    if shape.holder and needed_till > now then note_turn(KEYS[first], shape.holder, needed_till) end
  end
  for i = 1, limit_count do
    local p, one, left, reset = plan[i], found[i], 0, 0
    if one ~= NOT_OURS then
      if mode ~= PEEK then
        local key = KEYS[first + i]
        if allowed == 1 and admits[i] then
          if one.is_apart then
            if one.last then take_over(p, one) end
            if one.other then charge_other(p, one, cost[i]) end
          end
          charge[p](p, one, cost[i], key, lease_id, now + act_after)
        elseif one.is_begun then begin(p, one)
        elseif one.is_ahead and not one.last then rebase(p, one, key) end
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
for _, bucket in ipairs(charged_buckets) do
  if not bucket.is_over then write_bucket(bucket) end
end
for _, window in ipairs(charged_windows) do
  if not window.is_over then write_window(window) end
end
for key, holders in pairs(booked) do
  for holder, due in pairs(holders) do write_holder(key, holder, due) end
end
return out
