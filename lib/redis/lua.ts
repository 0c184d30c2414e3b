// Made from lua/*.lua by `npm run lua`; change those.

/** lua/decide.lua */
export const DECIDE: string = `--[[
  Decides chains of limits, each all or nothing: every limit admits and is charged, or none is.
  Several chains may come in one call; each finds what those before it left. Everything of a chain is
  read before anything of it is written, and a denied chain charges nothing. A key that several chains
  share, as the whole server's, is read once and its tokens are written once, when all are decided.

  While an application is deployed a plan may have two definitions, of which each process knows one. All
  buckets of a key count in the same tokens, whatever their capacities and rates, and so do windows of
  the same length. A bucket and a window, or windows of two lengths, count apart: the one that was charged
  last in the fields of its kind, the other one in \`x\`. Every charge is taken from both. A count that
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

-- \`of\` tells counts apart: the length of windows, nothing for buckets. \`restores\` is the time in which a
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

-- The window of a length that holds \`at\`, of one that began at \`since\`.
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

-- Of a bucket \`x\` is when its key expires and how long it lives at least, in 0.1 the capacity, which is
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

-- Writes anew what \`x\` says of a window. Returns when the key expires.
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

  A key that a window has counted in as well is left to decide.lua: the answer ends before the chain
  that meets one, with LEFT in its place, and nothing was spent for that chain or those behind it.

  x % 1 - x is -floor(x): it rounds -x up, and is several times cheaper than calling math.ceil.
]]
local call, pcall, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack
local KEYS, ARGV, tonumber = KEYS, ARGV, tonumber

local PEEK, RESERVE = '1', '2'
local NEVER, UNREADABLE, LEFT = -1, -2, -1
-- Twenty years, more than can be booked: beyond, microseconds are no longer exact, and counting up to them would never end.
local LONGEST = 630720000000000
local SCHEMA = '1'
-- Tolerance of comparisons, in tokens; never part of a subtraction, so that nothing drifts.
local EPSILON = 1e-9
-- A clock that went back further than this is believed, and counting goes on from its time.
local CLOCK_STEP = 100000
-- A key lives longer than it has to by this part.
local SPARE = 0.25

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
local level, expiry, span, wait, books, stepped = {}, {}, {}, {}, {}, {}

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
      local tokens, since, expires, lasts = full, now, 0, 0
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
        if x then
          if #x ~= 16 then
            out[size + 1] = LEFT
            return out
          end
          expires, lasts = unpack('<i8d', x)
        end
      end
      stepped[i] = since - now > CLOCK_STEP
      if stepped[i] then since = now end
      local tokens_now = tokens
      if now > since then tokens_now = tokens + (now - since) * a / b end
      if tokens_now > full then tokens_now = full end
      level[i], expiry[i], span[i] = tokens_now, expires, lasts
      wait[i], books[i] = unreadable and UNREADABLE or 0, true

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
          -- A key lives as long as the slowest definition of its plan needs to fill a bucket.
          local lasts = full * b / a
          if span[i] > lasts then lasts = span[i] end
          local needed = now + lasts
          if tokens < 0 then
            local booked = tokens * b / a
            booked = booked % 1 - booked
            needed = needed + (booked < LONGEST and booked or LONGEST)
          end
          -- Not armed anew while it will live long enough: saves a command and two fields.
          if expiry[i] >= needed and lasts == span[i] then
            call('HSET', KEYS[first + i], 't', pack('<d', tokens), 'ts', now_packed)
          else
            local expires = needed + lasts * SPARE
            expires = expires - expires % 1
            call('HSET', KEYS[first + i], 't', pack('<d', tokens), 'ts', now_packed, 'v', SCHEMA,
              'x', pack('<i8d', expires, lasts))
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
-- Whatever is owed by somebody is more than this.
local LESS_THAN_A_TOKEN = 0.5
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

-- What came back at that time or later, at least.
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

-- \`x\` says which count is kept in the fields of its kind (see decide.lua). The other one gets nothing
-- back: it has less room than it might have, never more.
local function is_of_window(x) return x and (#x == 17 or #x == 25 or #x == 65) end
local function is_of_bucket(x) return x and (#x == 16 or #x == 64) end

local function refund_bucket(key, quota, a, b, tokens, at, whole, due)
  local held = pcall('HMGET', key, 't', 'ts', 'v', 'r', 'x')
  if held.err or held[3] ~= SCHEMA or is_of_window(held[5]) then return 0 end
  if not held[1] or not held[2] or #held[1] ~= 8 or #held[2] ~= 8 then return 0 end
  local level, since, log = unpack('<d', held[1]), unpack('<i8', held[2]), held[4]
  if now > since then level = level + (now - since) * a / b end
  level = min(level, quota)
  -- Whoever queued behind owed a token or more at that time; rounding, much less.
  if due and -level > ROUNDING and -level + (now - due) * a / b > LESS_THAN_A_TOKEN then return 0 end
  -- Whether all that was spent since a turn was booked has been given back as well.
  local is_last = due and returned_since(at or 0, log) == 0
    and math.abs(quota - level - (whole - now) * a / b) <= LESS_THAN_A_TOKEN
  local left = min(quota - level, left_of(tokens, at, whole, a, b, log))
  if left <= 0 then return 0 end
  -- Without the last one all is as if it had never been booked: nothing is taken off the others.
  if not is_last then log = logged(log, left, now - (at or now), quota * b / a) end
  -- A bucket that is full is kept as well: what is in its log must not come back again.
  call('HSET', key, 't', pack('<d', level + left), 'ts', pack('<i8', max(now, since)), 'r', log or '')
  return 1
end

local function refund_window(key, a, tokens, at)
  local held = pcall('HMGET', key, 'ws', 'c', 'p', 'v', 'x')
  if held.err or held[4] ~= SCHEMA or is_of_bucket(held[5]) then return 0 end
  if is_of_window(held[5]) and select(2, unpack('<bd', held[5])) ~= a then return 0 end
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

  The hash also holds the processes that have booked turns: \`m:<process>\` is when the last of its turns is due
  and when it was heard of; \`mx\` is the first time at which one of them may be taken for dead; \`pm\` is the
  process that makes the probe; \`e\` is when the hash expires.

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
