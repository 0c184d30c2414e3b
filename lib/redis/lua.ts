// Made from lua/*.lua and lua/parts/*.lua by `npm run lua`; change those.

/** lua/decide.lua */
export const DECIDE: string = `--[[
  Decides chains of limits, each all or nothing: every limit admits and is charged, or none is.
  Several chains may come in one call; each finds what those before it left. Everything of a chain is
  read before anything of it is written, and a denied chain charges nothing. A key that several chains
  share, such as that of the whole server, is read once and its tokens are written once, when all are decided.

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
  then chains; those of one shape that follow each other share one description: how many chains, the number
  of their shape, if it is a new one its description, and where one of its plans is of kind 3, for each chain
  its lease id. A shape is: mode (0 take, 1 peek, 2 reserve), longest wait, how long a probe may take if
  there is a gate or 0, how many limits, for each limit its plan and its cost, and if there is a gate the
  process that books turns behind it (see gate.lua), or ''

  last     a number that comes back, by which the caller knows that the answer is its own

  Returns integers: that number, the time, then for each chain
    1 allowed, 0 denied, 2 undecided because a key holds something else than a limit,
    of a gate: generation, cut, wait until it lets this chain pass, 1 if it is a probe or 2 if one is
    out, blocks in a row, 1 if a process that booked turns may have died,
    and for each limit: wait in microseconds (-1 never, -2 unreadable), what remains, microseconds until all is back
]]
local call, pcall, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack
local KEYS, ARGV, tonumber, ceil = KEYS, ARGV, tonumber, math.ceil

local PEEK, RESERVE = 1, 2
local NEVER, UNREADABLE = -1, -2
local NOT_OURS = {}

-- Stored values of another schema are left alone.
local SCHEMA = '1'
-- Tolerance of comparisons, in tokens; never part of a subtraction, so that nothing drifts.
local EPSILON = 1e-9
-- Twenty years, more than can be booked: beyond, microseconds are no longer exact, and counting up to them would
-- never end.
local LONGEST = 630720000000000
-- A clock that went back further than this is believed, and counting goes on from its time.
local CLOCK_STEP = 100000
-- The key of a bucket lives longer than it has to by this part.
local SPARE = 0.25
-- A time in the arguments comes from a test, and its keys must outlive it.
local now, keep_ms = tonumber(ARGV[1]), 600000
if not now then
  keep_ms = 1
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end
local text = setmetatable({}, {
  __index = function(known, number)
    local written = string.format('%.17g', number)
    known[number] = written
    return written
  end,
})
local now_packed = pack('<i8', now)

local BUCKET, WINDOW, LEASES = 1, 2, 3
local kind, quota, refill, period, shadow, of, restores, window_x = {}, {}, {}, {}, {}, {}, {}, {}
local arg = 2
local plan_count = tonumber(ARGV[arg])
for p = 1, plan_count do
  local k, limit = tonumber(ARGV[arg + 1]), tonumber(ARGV[arg + 2])
  local a, b = tonumber(ARGV[arg + 3]), tonumber(ARGV[arg + 4])
  kind[p], quota[p], shadow[p], restores[p] = k, limit, ARGV[arg + 5] == '1', a
  if k == BUCKET then
    refill[p], period[p], restores[p] = a, b, limit * b / a
  elseif k == WINDOW then
    of[p], window_x[p] = a, pack('<bdd', WINDOW, a, limit)
  end
  arg = arg + 5
end

-- What is held under each key, as the chains so far leave it.
local held = {}


local function expire_at(key, at)
  local ms = (at - now) / 1000
  -- Rounded up: a call of math.ceil is several times as expensive.
  call('PEXPIRE', key, text[ms + -ms % 1 + keep_ms])
end
local function kind_of(x)
  local size = x and #x
  if size == 16 or size == 64 then return 'bucket' end
  if size == 17 or size == 25 or size == 65 then return 'window' end
end
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
local charged_buckets = {}

local function as_bucket(key, t, ts, x)
  local tokens, since
  if t and ts and #t == 8 and #ts == 8 then
    tokens, since = unpack('<d', t), unpack('<i8', ts)
    if not (tokens < 1e15 and tokens > -1e15) then tokens = nil end
  end
  local expires, span = 0, 0
  if kind_of(x) == 'bucket' then expires, span = unpack('<i8d', x) end
  local bucket = { key = key, tokens = tokens, since = tokens and since or now, expires = expires, span = span }
  if x and #x == 64 then
    bucket.rate, bucket.other, bucket.is_apart = unpack('<d', x, 17), unpack_other(x, 25), true
  end
  return bucket
end

local function read_bucket(p, bucket, need)
  local full, a, b = quota[p], refill[p], period[p]
  local tokens, since = bucket.tokens or full, bucket.since
  bucket.is_ahead = since - now > CLOCK_STEP
  if bucket.is_ahead then since = now end
  local level = tokens
  if now > since then level = tokens + (now - since) * a / b end
  if level > full then level = full end
  bucket.level = level
  if level + EPSILON >= need then return 0 end
  if need > full then return NEVER end
  local missing = (need - EPSILON - tokens) * b / a
  local due = now + LONGEST
  if missing <= LONGEST then
    -- Rounded up by \`%\`, as everywhere in buckets: calls of math.ceil are several times as expensive.
    due = since + (missing + -missing % 1)
    if due <= now then due = now + 1 end
    while tokens + (due - since) * a / b + EPSILON < need do due = due + 1 end
    while due > now + 1 and tokens + (due - 1 - since) * a / b + EPSILON >= need do due = due - 1 end
  end
  return due - now
end

local function charge_bucket(p, bucket, need)
  local a, b, fills, span = refill[p], period[p], restores[p], bucket.span
  local tokens = bucket.level - need
  if not bucket.is_charged then charged_buckets[#charged_buckets + 1] = bucket end
  bucket.is_charged, bucket.level, bucket.tokens, bucket.since = true, tokens, tokens, now
  local lasts = span > fills and span or fills
  local needed = now + lasts
  if tokens < 0 then
    local owed = tokens * b / a
    owed = owed % 1 - owed
    needed = needed + (owed < LONGEST and owed or LONGEST)
  end
  if bucket.other then
    needed = math.max(needed, bucket.other.lasts)
    bucket.rate, bucket.is_armed = a / b, true
  end
  -- Not armed anew while it will live long enough: that saves a command and two fields mostly.
  if bucket.expires >= needed and lasts == span then return end
  needed = needed + lasts * SPARE
  bucket.expires, bucket.span, bucket.is_armed = needed - needed % 1, lasts, true
end

local function answer_bucket(p, bucket)
  local full, a, b, level = quota[p], refill[p], period[p], bucket.level
  local left = level + EPSILON
  left = left >= 1 and left - left % 1 or 0
  local reset = (level - full) * b / a
  if reset < -LONGEST then reset = -LONGEST end
  reset = reset % 1 - reset
  return left, reset
end

local function write_bucket(bucket)
  local key, tokens = bucket.key, pack('<d', bucket.tokens)
  if not bucket.is_armed then
    call('HSET', key, 't', tokens, 'ts', now_packed)
    return
  end
  local x = pack('<i8d', bucket.expires, bucket.span)
  if bucket.other then x = x .. pack('<d', bucket.rate) .. pack_other(bucket.other) end
  call('HSET', key, 't', tokens, 'ts', now_packed, 'v', SCHEMA, 'x', x)
  expire_at(key, bucket.expires)
end
local function window_at(length, since, cur, prev, at)
  local elapsed = at - since
  if elapsed < length then return since, cur, prev end
  if elapsed < 2 * length then return since + length, 0, cur end
  return at, 0, 0
end
local function fading(length, since, prev, at)
  local elapsed = at - since
  if elapsed < 0 then elapsed = 0 end
  return prev * (length - elapsed) / length
end
local function window_admits(p, since, cur, prev, need, at)
  local length = of[p]
  since, cur, prev = window_at(length, since, cur, prev, at)
  return fading(length, since, prev, at) <= quota[p] - need - cur + EPSILON
end

local function window_due(p, since, cur, prev, need)
  local length, spare = of[p], quota[p] - need
  local free, due = spare - cur, nil
  if free >= 0 then
    due = since + ceil(length - (free + EPSILON) * length / prev)
  else
    due = since + length + ceil(length - (spare + EPSILON) * length / cur)
  end
  if due <= now then due = now + 1 end
  while not window_admits(p, since, cur, prev, need, due) do due = due + 1 end
  while due > now + 1 and window_admits(p, since, cur, prev, need, due - 1) do due = due - 1 end
  return due
end

local function as_window(key, fields, x, p)
  local since, cur, prev = tonumber(fields[1] or ''), tonumber(fields[2] or ''), tonumber(fields[3] or '')
  if not (since and cur and prev and cur >= 0 and prev >= 0 and cur < 1e15 and prev < 1e15) then since = nil end
  if not since then
    return of[p] and { of = of[p], key = key, is_new = true, since = now, cur = 0, prev = 0 } or as_bucket(key)
  end
  local window = { of = of[p], key = key, is_kept = x == window_x[p], since = since, cur = cur, prev = prev, x = x }
  if x ~= window_x[p] and kind_of(x) == 'window' then
    window.of = unpack('<d', x, 2)
    if #x > 17 then window.span = unpack('<d', x, 18) end
    if #x == 65 then window.other, window.is_apart = unpack_other(x, 26), true end
  end
  return window
end

-- Now is the same for all chains: what one found of a window is good for the next of the same plan.
local function see_window(p, window)
  local since = window.since
  window.is_ahead = since - now > CLOCK_STEP
  if window.is_ahead then since = now end
  local start, current, previous = window_at(of[p], since, window.cur, window.prev, now)
  local rest = fading(of[p], start, previous, now)
  window.seen_by, window.start, window.current, window.previous = p, start, current, previous
  -- Rounded up: a call of math.ceil is several times as expensive.
  window.rest, window.rest_up = rest, rest - EPSILON + (EPSILON - rest) % 1
end

local function read_window(p, window, need)
  if window.seen_by ~= p then see_window(p, window) end
  local current = window.current
  if window.rest <= quota[p] - need - current + EPSILON then return 0 end
  if need > quota[p] then return NEVER end
  return window_due(p, window.start, current, window.previous, need) - now
end

local function answer_window(p, window)
  local length, current = of[p], window.current
  local left = quota[p] - current - window.rest_up
  local reset = current > 0 and window.start + 2 * length - now
    or window.previous > 0 and window.start + length - now or 0
  return left > 0 and left or 0, reset
end
local charged_windows = {}

-- Writes anew what \`x\` says of a window. Returns when the key expires.
local function see_definitions(p, window, expires)
  local lasts, other = math.max(window.span or 0, of[p]), window.other
  window.x, window.span, window.is_kept = window_x[p], lasts, nil
  if other or lasts > of[p] then window.x = window.x .. pack('<d', lasts) end
  return math.max(expires, now + lasts, other and other.lasts or 0)
end

local function charge_window(p, window, need)
  local current = window.current + need
  window.current, window.cur = current, current
  if window.charged_by == p then return end
  if not window.charged_by then charged_windows[#charged_windows + 1] = window end
  local start, expires = window.start, window.start + 2 * of[p]
  if window.since ~= start then window.is_kept = nil end
  window.charged_by, window.since, window.prev = p, start, window.previous
  if window.is_new then window.is_new = false end
  if window.x ~= window_x[p] or window.is_apart then expires = see_definitions(p, window, expires) end
  window.expires = expires
end

local function write_window(window)
  local key, current = window.key, text[window.cur]
  if window.is_kept then
    call('HSET', key, 'c', current)
  else
    local x = window.x
    if window.other then x = x .. pack_other(window.other) end
    call('HSET', key, 'ws', text[window.since], 'c', current, 'p', text[window.prev], 'v', SCHEMA, 'x', x)
  end
  expire_at(key, window.expires)
end

local function find_bucket(key, p)
  local fields = pcall('HMGET', key, 't', 'ts', 'v', 'x')
  if fields.err or (fields[3] and fields[3] ~= SCHEMA) then return NOT_OURS end
  local x = fields[4]
  if kind_of(x) == 'window' then return as_window(key, call('HMGET', key, 'ws', 'c', 'p'), x, p) end
  return as_bucket(key, fields[1], fields[2], x)
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
  if kind_of(x) ~= 'bucket' then return as_window(key, fields, x, p) end
  local bucket = call('HMGET', key, 't', 'ts')
  return as_bucket(key, bucket[1], bucket[2], x)
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
  -- A window of 0.1 does not say its limit.
  local limit = one.x and #one.x > 16 and unpack('<d', one.x, 10) or math.huge
  local room = limit - cur - fading(one.of, since, prev, now)
  return room > 0 and room or 0
end

-- One that begins has the same room. What a window lacks of its limit fades as what was counted in the
-- window before.
local function own_count(p, last)
  local own = last.other
  if not own or own.of ~= of[p] then
    -- How fast a bucket refills is kept only while there is another count.
    if not last.of and not last.rate then last.rate = quota[p] / restores[p] end
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

-- Not from a count that has been restored since its own definition was last charged: that one is not used
-- any more.
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
-- Leases of turns that are booked ahead may end this much later than those taken now.
local LEASE_STEP = 600000000
-- Later than now, for the commands of sorted sets; made with the first set.
local after_now

local function find_leases(key)
  after_now = after_now or '(' .. text[now]
  local count = pcall('ZCARD', key)
  if type(count) == 'table' then return NOT_OURS end
  -- Most clients hold nothing, so that there is nothing to be counted or swept.
  local live = count > 0 and call('ZCOUNT', key, after_now, '+inf') or 0
  return { live = live, ended = count - live, expires = 0 }
end

local function read_leases(p, leases, _, key, lease_id)
  local over = leases.live - quota[p]
  if over < 0 then return 0 end
  local length = restores[p]
  -- A lease that ends so late was taken before the clock went back, and ends after its length from now.
  for _, id in ipairs(call('ZRANGEBYSCORE', key, now + length + LEASE_STEP, '+inf')) do
    call('ZADD', key, now + length, id)
  end
  -- Taking a lease again that is held already takes no other slot.
  local ends = call('ZSCORE', key, lease_id)
  if ends and tonumber(ends) > now then return 0 end
  local sure = call('ZRANGEBYSCORE', key, after_now, '+inf', 'WITHSCORES', 'LIMIT', over, 1)
  return tonumber(sure[2]) - now
end

local function charge_leases(p, leases, _, key, lease_id, from)
  local ends = from + restores[p]
  local last = leases.live == 0 and ends or nil
  if leases.ended > 0 then
    call('ZREMRANGEBYSCORE', key, '-inf', text[now])
    leases.ended = 0
  end
  leases.live = leases.live + call('ZADD', key, text[ends], lease_id)
  if leases.expires >= ends then return end
  last = last or tonumber(call('ZRANGE', key, -1, -1, 'WITHSCORES')[2])
  expire_at(key, last)
  leases.expires = last
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

local out, size = { tonumber(ARGV[#ARGV]), now }, 2

local function read_shape(at)
  local plan, cost, lends = {}, {}, false
  local limit_count = tonumber(ARGV[at + 3])
  for i = 1, limit_count do
    local p = tonumber(ARGV[at + 2 + 2 * i])
    plan[i], cost[i] = p, tonumber(ARGV[at + 3 + 2 * i])
    if kind[p] == LEASES then lends = true end
  end
  local probe_length, after, holder = tonumber(ARGV[at + 2]), at + 4 + 2 * limit_count, nil
  if probe_length > 0 then
    holder, after = ARGV[after], after + 1
  end
  local shape = {
    mode = tonumber(ARGV[at]), longest = tonumber(ARGV[at + 1]), probe_length = probe_length,
    limit_count = limit_count, plan = plan, cost = cost, lends = lends, holder = holder ~= '' and holder,
  }
  return shape, after
end

local function keep_gate(key, ends, remembered, expires)
  if expires < remembered then expires = remembered end
  if expires <= ends then return ends end
  call('HSET', key, 'e', text[expires])
  expire_at(key, expires)
  return expires
end

-- A process with turns counts as dead when it has not been heard of for so long.
local HOLDER_LIFE = 2250000

local function note_holder(key, holder, due, known, sweep_at, remembered, ends)
  local latest = known and tonumber(string.match(known, '^%d+')) or 0
  if due > latest then latest = due end
  call('HSET', key, holder, string.format('%.0f %.0f', latest, now))
  if not sweep_at or sweep_at > now + HOLDER_LIFE then call('HSET', key, 'mx', text[now + HOLDER_LIFE]) end
  return keep_gate(key, ends, remembered, latest)
end

local booked = {}

local function book_turn(key, holder, due)
  local holders = booked[key]
  if not holders then
    holders = {}
    booked[key] = holders
  end
  if due > (holders[holder] or 0) then holders[holder] = due end
end

local function write_turns()
  for key, holders in pairs(booked) do
    for holder, due in pairs(holders) do
      local field = 'm:' .. holder
      local known = call('HMGET', key, field, 'mx', 'x', 'e')
      local remembered, ends = tonumber(known[3] or '') or 0, tonumber(known[4] or '') or 0
      note_holder(key, field, due, known[1], tonumber(known[2] or ''), remembered, ends)
    end
  end
end

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

local function pass_gate(key, shape, is_probe, acts)
  local holder = shape.holder
  if is_probe then
    acts = acts + shape.probe_length
    call('HSET', key, 'pu', acts, 'pm', holder or '')
  end
  if holder and acts > now then book_turn(key, holder, acts) end
end

-- What was found for the chain at hand, by the position of the limit.
local found, wait, admits = {}, {}, {}

-- Returns whether all limits of a chain admit, whether all could be read, and when its caller may act.
local function read_chain(first, shape, lease_id)
  local plan, cost, mode, longest = shape.plan, shape.cost, shape.mode, shape.longest
  local all_admit, readable, acts = true, true, now
  for i = 1, shape.limit_count do
    local p, key, w = plan[i], KEYS[first + i], UNREADABLE
    local one = held[key]
    if not one then
      one = FIND[kind[p]](key, p)
      held[key] = one
    end
    if one == NOT_OURS then
      readable = false
    else
      if one.of ~= of[p] then one = own_count(p, one) end
      w = READ[kind[p]](p, one, cost[i], key, lease_id)
    end
    found[i], wait[i], admits[i] = one, w, true
    if w ~= 0 then
      admits[i] = mode == RESERVE and kind[p] == BUCKET and w > 0 and w <= longest
      if not shadow[p] then
        all_admit = all_admit and admits[i]
        if now + w > acts then acts = now + w end
      end
    end
  end
  return all_admit, readable, acts
end

-- The one thing that a denial writes, at once: without it the limit would stand still until the clock is where
-- it was before it went back.
local function rebase(p, one, key)
  one.since, one.is_ahead = now, false
  if kind[p] == BUCKET then call('HSET', key, 'ts', now_packed)
  else call('HSET', key, 'ws', text[now]) end
end

-- A count that begins with a denial is kept, too, so that its room grows from now on.
local function begin(p, own)
  take_over(p, own)
  if own.other then charge_other(p, own, 0) end
  CHARGE[kind[p]](p, own, 0)
end

-- Charges the limits of a chain that passes, keeps what a denial must keep, and appends the answer for each limit.
local function settle_chain(first, shape, lease_id, passes, acts)
  local plan, cost, writes = shape.plan, shape.cost, shape.mode ~= PEEK
  for i = 1, shape.limit_count do
    local p, one, left, reset = plan[i], found[i], 0, 0
    if one ~= NOT_OURS then
      if passes and admits[i] and writes then
        if one.last then take_over(p, one) end
        if one.other then charge_other(p, one, cost[i]) end
        CHARGE[kind[p]](p, one, cost[i], KEYS[first + i], lease_id, acts)
      elseif one.is_begun and writes then begin(p, one)
      elseif one.is_ahead and writes and not one.last then rebase(p, one, KEYS[first + i]) end
      left, reset = ANSWER[kind[p]](p, one)
    end
    out[size + 1], out[size + 2], out[size + 3] = wait[i], left, reset
    size = size + 3
  end
end

-- Decides the chain whose first key is KEYS[first + 1], and appends the answer.
local function decide(first, shape, lease_id)
  local status_at, gate, gate_readable, shut, is_probe = size + 1, nil, true, false, false
  size = status_at
  if shape.probe_length > 0 then
    first = first + 1
    gate = KEYS[first]
    gate_readable, shut, is_probe = read_gate(gate)
  end
  local all_admit, readable, acts = read_chain(first, shape, lease_id)
  local passes = all_admit and readable and gate_readable and not shut
  out[status_at] = passes and 1 or (readable and gate_readable) and 0 or 2
  if gate and passes and shape.mode ~= PEEK then pass_gate(gate, shape, is_probe, acts) end
  settle_chain(first, shape, lease_id, passes, acts)
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
write_turns()
return out
`;

/** lua/decide_buckets.lua */
export const DECIDE_BUCKETS: string = `--[[
  Decides chains of token buckets, as decide.lua does and with the same arguments, answers and stored
  values. Most chains hold nothing else; without functions and the other kinds a batch of 32 takes a
  tenth less of the server's time, and a lone decision a third less. The rules are the same text: steps in
  lua/parts.

  KEYS     one per limit, chain by chain: a hash
  ARGV[1]  the time in microseconds, or '' to take the server's, once for all
  ARGV[2]  how many plans follow, each as: kind (always 1), quota, a, b, shadow
             a tokens come back every b microseconds
  then chains; those of one shape that follow each other share one description: how many chains, the number
  of their shape, and if it is a new one its description: mode (0 take, 1 peek, 2 reserve), longest wait, 0,
  how many limits, for each limit its plan and its cost

  last     a number that comes back, by which the caller knows that the answer is its own

  Returns integers: that number, the time, then for each chain
    1 allowed, 0 denied, 2 undecided because a key holds something else than a limit,
    and for each limit: wait in microseconds (-1 never, -2 unreadable), what remains, microseconds until all is back

  A key that a window has counted in as well is left to decide.lua: the answer ends before the first chain
  with such a key, with LEFT in its place, and nothing is charged for that chain or those behind it.
]]
local call, pcall, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack
local KEYS, ARGV, tonumber = KEYS, ARGV, tonumber

local PEEK, RESERVE = '1', '2'
local NEVER, UNREADABLE, LEFT = -1, -2, -1

-- Stored values of another schema are left alone.
local SCHEMA = '1'
-- Tolerance of comparisons, in tokens; never part of a subtraction, so that nothing drifts.
local EPSILON = 1e-9
-- Twenty years, more than can be booked: beyond, microseconds are no longer exact, and counting up to them would
-- never end.
local LONGEST = 630720000000000
-- A clock that went back further than this is believed, and counting goes on from its time.
local CLOCK_STEP = 100000
-- The key of a bucket lives longer than it has to by this part.
local SPARE = 0.25
-- A time in the arguments comes from a test, and its keys must outlive it.
local now, keep_ms = tonumber(ARGV[1]), 600000
if not now then
  keep_ms = 1
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end
local now_packed = pack('<i8', now)

-- What the shape at hand asks and what was read of its chain, by the position of the limit.
local quota, refill, period, shadow, cost = {}, {}, {}, {}, {}
local levels, expiry, spans, wait, admits, stepped = {}, {}, {}, {}, {}, {}

-- Where the description of each shape begins, by its number.
local shape_at = {}
local out, size, first = { tonumber(ARGV[#ARGV]), now }, 2, 0
local arg, arg_count = 3 + 5 * tonumber(ARGV[2]), #ARGV - 1
while arg <= arg_count do
  local chain_count, number = tonumber(ARGV[arg]), ARGV[arg + 1]
  -- The description of a shape that is known is read where it stands.
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
    local all_admit, readable = true, true

    for i = 1, limit_count do
      local full, a, b, need = quota[i], refill[i], period[i], cost[i]
      local held = pcall('HMGET', KEYS[first + i], 't', 'ts', 'v', 'x')
      if held.err or (held[3] and held[3] ~= SCHEMA) then
        readable, levels[i] = false, nil
      else
        local t, ts, x = held[1], held[2], held[4]
        local tokens, since
        if t and ts and #t == 8 and #ts == 8 then
          tokens, since = unpack('<d', t), unpack('<i8', ts)
          if not (tokens < 1e15 and tokens > -1e15) then tokens = nil end
        end
        if not tokens then tokens, since = full, now end
        local expires, span = 0, 0
        if x then
          if #x ~= 16 then
            out[size + 1] = LEFT
            return out
          end
          expires, span = unpack('<i8d', x)
        end
        expiry[i], spans[i] = expires, span
        stepped[i] = since - now > CLOCK_STEP
        if stepped[i] then since = now end
        local level = tokens
        if now > since then level = tokens + (now - since) * a / b end
        if level > full then level = full end
        local waits, passes = 0, true
        if level + EPSILON < need then
          waits = NEVER
          if need <= full then
            local missing = (need - EPSILON - tokens) * b / a
            local due = now + LONGEST
            if missing <= LONGEST then
              -- Rounded up by \`%\`, as everywhere in buckets: calls of math.ceil are several times as expensive.
              due = since + (missing + -missing % 1)
              if due <= now then due = now + 1 end
              while tokens + (due - since) * a / b + EPSILON < need do due = due + 1 end
              while due > now + 1 and tokens + (due - 1 - since) * a / b + EPSILON >= need do due = due - 1 end
            end
            waits = due - now
          end
          passes = mode == RESERVE and waits > 0 and waits <= longest
          all_admit = all_admit and (passes or shadow[i])
        end
        levels[i], wait[i], admits[i] = level, waits, passes
      end
    end

    local passes = readable and all_admit
    size = size + 1
    out[size] = passes and 1 or readable and 0 or 2
    for i = 1, limit_count do
      local full, a, b, level = quota[i], refill[i], period[i], levels[i]
      if not level then
        out[size + 1], out[size + 2], out[size + 3] = UNREADABLE, 0, 0
      else
        if passes and admits[i] and mode ~= PEEK then
          level = level - cost[i]
          local tokens, fills, span = level, full * b / a, spans[i]
          local lasts = span > fills and span or fills
          local needed = now + lasts
          if tokens < 0 then
            local owed = tokens * b / a
            owed = owed % 1 - owed
            needed = needed + (owed < LONGEST and owed or LONGEST)
          end
          -- Not armed anew while it will live long enough: saves a command and two fields.
          if expiry[i] >= needed and lasts == span then
            call('HSET', KEYS[first + i], 't', pack('<d', tokens), 'ts', now_packed)
          else
            local expires = needed + lasts * SPARE
            expires = expires - expires % 1
            call('HSET', KEYS[first + i], 't', pack('<d', tokens), 'ts', now_packed, 'v', SCHEMA,
              'x', pack('<i8d', expires, lasts))
            call('PEXPIRE', KEYS[first + i], math.ceil((expires - now) / 1000) + keep_ms)
          end
        elseif stepped[i] and mode ~= PEEK then
          -- The one thing a denial writes: without it the limit would stand still until the clock is
          -- where it was before it went back.
          call('HSET', KEYS[first + i], 'ts', now_packed)
        end
        local left = level + EPSILON
        left = left >= 1 and left - left % 1 or 0
        local reset = (level - full) * b / a
        if reset < -LONGEST then reset = -LONGEST end
        reset = reset % 1 - reset
        out[size + 1], out[size + 2], out[size + 3] = wait[i], left, reset
      end
      size = size + 3
    end
    first = first + limit_count
  end
end
return out
`;

/** lua/give_back.lua */
export const GIVE_BACK: string = `--[[
  Gives back what was charged and not used. What is no longer there is left alone: a limit that was
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
local KEYS, ARGV, tonumber, max, min = KEYS, ARGV, tonumber, math.max, math.min

local REFUND_BUCKET, REFUND_WINDOW, RELEASE = 1, 2, 3

-- Stored values of another schema are left alone.
local SCHEMA = '1'
-- Tolerance of comparisons, in tokens; never part of a subtraction, so that nothing drifts.
local EPSILON = 1e-9
-- Twenty years, more than can be booked: beyond, microseconds are no longer exact, and counting up to them would
-- never end.
local LONGEST = 630720000000000
-- A clock that went back further than this is believed, and counting goes on from its time.
local CLOCK_STEP = 100000
-- The key of a bucket lives longer than it has to by this part.
local SPARE = 0.25
-- A time in the arguments comes from a test, and its keys must outlive it.
local now, keep_ms = tonumber(ARGV[1]), 600000
if not now then
  keep_ms = 1
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

-- Where a plan has two definitions, only the count that was charged last gets tokens back: the other one has
-- less room than it might have, never more.

local function kind_of(x)
  local size = x and #x
  if size == 16 or size == 64 then return 'bucket' end
  if size == 17 or size == 25 or size == 65 then return 'window' end
end

local function read_stored_bucket(key, full, a, b)
  local held = pcall('HMGET', key, 't', 'ts', 'v', 'x', 'r')
  if held.err or (held[3] and held[3] ~= SCHEMA) or kind_of(held[4]) == 'window' then return nil end
  local t, ts = held[1], held[2]
  local tokens, since
  if t and ts and #t == 8 and #ts == 8 then
    tokens, since = unpack('<d', t), unpack('<i8', ts)
    if not (tokens < 1e15 and tokens > -1e15) then tokens = nil end
  end
  if not tokens then tokens, since = full, now end
  local level = tokens
  if now > since then level = tokens + (now - since) * a / b end
  if level > full then level = full end
  return level, held[4], held[5], since
end
-- A refund counts in the same sum as those before it for this part of a refill.
local PARTS_OF_REFILL = 8

-- Made anew where it is not of our form.
local function read_log(log)
  if not log or #log ~= 40 then return 0, 0, 0, 0, 0 end
  return unpack('<i8i8di8d', log)
end

local function returned_since(at, log)
  local last, since, sum, older_since, older_sum = read_log(log)
  if at > last then return 0 end
  if at >= since then return sum end
  return at >= older_since and older_sum or math.huge
end

-- A sum lasts twice as long as that was held, or an eighth of a refill.
local function logged(log, tokens, held, refill)
  local _, since, sum, older_since, older_sum = read_log(log)
  if now - since > max(2 * held, refill / PARTS_OF_REFILL) then
    older_since, older_sum, since, sum = since, sum, now, 0
  end
  return pack('<i8i8di8d', now, since, sum + tokens, older_since, older_sum + tokens)
end

-- Tokens that a bucket may seem to owe although no process waits.
local ROUNDING = 1e-6
-- A turn owes more than this.
local LESS_THAN_A_TOKEN = 0.5

-- What is not refilled of a charge: all that was missing right after it, less what was refilled and given
-- back since; or the charge alone, less all that was refilled, where that is more.
local function left_of(tokens, at, whole, a, b, log)
  if not at then return tokens end
  local alone = tokens - max(0, now - at) * a / b
  -- \`whole\` is in whole microseconds, rounded up.
  local left = (whole - 1 - now) * a / b - returned_since(at, log)
  return min(tokens, max(alone, left))
end

local function refund_bucket(key, full, a, b, tokens, at, whole, due)
  local level, _, log, since = read_stored_bucket(key, full, a, b)
  if not level then return 0 end
  -- A process that queued behind the turn owed a token or more at that time; rounding, much less.
  if due and -level > ROUNDING and -level + (now - due) * a / b > LESS_THAN_A_TOKEN then return 0 end
  -- Whether all that was spent since a turn was booked has been given back as well.
  local is_last = due and returned_since(at or 0, log) == 0
    and math.abs(full - level - (whole - now) * a / b) <= LESS_THAN_A_TOKEN
  local left = min(full - level, left_of(tokens, at, whole, a, b, log))
  if left <= 0 then return 0 end
  -- Without the last one all is as if it had never been booked: nothing is taken off the others.
  if not is_last then log = logged(log, left, now - (at or now), full * b / a) end
  -- A bucket that is full is kept as well: what is in its log must not come back again.
  call('HSET', key, 't', pack('<d', level + left), 'ts', pack('<i8', max(now, since)), 'r', log or '')
  return 1
end
local function window_at(length, since, cur, prev, at)
  local elapsed = at - since
  if elapsed < length then return since, cur, prev end
  if elapsed < 2 * length then return since + length, 0, cur end
  return at, 0, 0
end

local function refund_window(key, length, tokens, at)
  local fields = pcall('HMGET', key, 'ws', 'c', 'p', 'v', 'x')
  if fields.err or (fields[4] and fields[4] ~= SCHEMA) then return 0 end
  local kind = kind_of(fields[5])
  if kind == 'bucket' or (kind == 'window' and unpack('<d', fields[5], 2) ~= length) then return 0 end
  local since, cur, prev = tonumber(fields[1] or ''), tonumber(fields[2] or ''), tonumber(fields[3] or '')
  if not (since and cur and prev and cur >= 0 and prev >= 0 and cur < 1e15 and prev < 1e15) then since = nil end
  if not since then return 0 end
  local began = since
  since, cur, prev = window_at(length, since, cur, prev, now)
  -- From the window in which they were counted, if that is not over.
  local is_of_current = not at or at >= since
  local is_of_previous = not at or (not is_of_current and at >= since - length)
  local from_current = is_of_current and min(tokens, cur) or 0
  local from_previous = is_of_previous and min(tokens - from_current, prev) or 0
  if from_current + from_previous <= 0 then return 0 end
  if since == began and from_previous == 0 then call('HSET', key, 'c', cur - from_current)
  else call('HSET', key, 'ws', since, 'c', cur - from_current, 'p', prev - from_previous) end
  return 1
end

local generation, first, void_after = tonumber(ARGV[2]), 0, nil
if generation then
  first = 1
  local gate = pcall('HMGET', KEYS[1], 'g', 'c')
  -- Turns due after this were made void by a new plan, and nothing is owed for them.
  if not gate.err and gate[1] and tonumber(gate[1]) ~= generation then void_after = tonumber(gate[2]) end
end

local changed = 0
for i = 1, #KEYS - first do
  local arg, key = 3 + (i - 1) * 9, KEYS[first + i]
  local action, lease_id = tonumber(ARGV[arg]), ARGV[arg + 8]
  local quota, a, b = tonumber(ARGV[arg + 1]), tonumber(ARGV[arg + 2]), tonumber(ARGV[arg + 3])
  local tokens, at, whole = tonumber(ARGV[arg + 4]), tonumber(ARGV[arg + 5]), tonumber(ARGV[arg + 6])
  local due = tonumber(ARGV[arg + 7])
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
  Releases leases. One that has ended, or was released before, is ignored: slots are ids, not counts, so that
  nothing can be released twice.

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
  Renews leases that have not ended. One that has ended stays so: its slot may be lent again.

  KEYS     one per held slot
  ARGV[1]  the time in microseconds, or '' to take the server's
  then for each slot: lease id, length of its lease in microseconds

  last     a number that comes back, by which the caller knows that the answer is its own

  Returns that number, and for each slot 1 if it was still held, else 0.
]]
local call, pcall = redis.call, redis.pcall

-- A time in the arguments comes from a test, and its keys must outlive it.
local now, keep_ms = tonumber(ARGV[1]), 600000
if not now then
  keep_ms = 1
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end
local text = setmetatable({}, {
  __index = function(known, number)
    local written = string.format('%.17g', number)
    known[number] = written
    return written
  end,
})

local function expire_at(key, at)
  local ms = (at - now) / 1000
  -- Rounded up: a call of math.ceil is several times as expensive.
  call('PEXPIRE', key, text[ms + -ms % 1 + keep_ms])
end

local out = { tonumber(ARGV[#ARGV]) }
for i = 1, #KEYS do
  local key, lease_id, length = KEYS[i], ARGV[2 * i], tonumber(ARGV[2 * i + 1])
  local ends = pcall('ZSCORE', key, lease_id)
  out[i + 1] = 0
  if type(ends) == 'string' and tonumber(ends) > now then
    call('ZADD', key, text[now + length], lease_id)
    local last
    last = last or tonumber(call('ZRANGE', key, -1, -1, 'WITHSCORES')[2])
    expire_at(key, last)
    out[i + 1] = 1
  end
end
return out
`;

/** lua/gate.lua */
export const GATE: string = `--[[
  Changes a gate: counts blocks and successes, shuts it for a cooldown, opens it again, and plans the
  turns of the bucket behind it anew. All of it in one step, published to those who listen.
  Counterpart: lib/core/gate-record.ts.

  The hash also holds the processes that have booked turns: \`m:<process>\` is when the last of its turns is due
  and when the process was last heard of; \`mx\` is the first time at which one of them may count as dead; \`pm\` is the
  process that makes the probe; \`e\` is when the hash expires.

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

-- Stored values of another schema are left alone.
local SCHEMA = '1'
-- Tolerance of comparisons, in tokens; never part of a subtraction, so that nothing drifts.
local EPSILON = 1e-9
-- Twenty years, more than can be booked: beyond, microseconds are no longer exact, and counting up to them would
-- never end.
local LONGEST = 630720000000000
-- A clock that went back further than this is believed, and counting goes on from its time.
local CLOCK_STEP = 100000
-- The key of a bucket lives longer than it has to by this part.
local SPARE = 0.25
-- A time in the arguments comes from a test, and its keys must outlive it.
local now, keep_ms = tonumber(ARGV[1]), 600000
if not now then
  keep_ms = 1
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

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

local text = setmetatable({}, {
  __index = function(known, number)
    local written = string.format('%.17g', number)
    known[number] = written
    return written
  end,
})

local function expire_at(key, at)
  local ms = (at - now) / 1000
  -- Rounded up: a call of math.ceil is several times as expensive.
  call('PEXPIRE', key, text[ms + -ms % 1 + keep_ms])
end

local function keep_gate(key, ends, remembered, expires)
  if expires < remembered then expires = remembered end
  if expires <= ends then return ends end
  call('HSET', key, 'e', text[expires])
  expire_at(key, expires)
  return expires
end
local function kind_of(x)
  local size = x and #x
  if size == 16 or size == 64 then return 'bucket' end
  if size == 17 or size == 25 or size == 65 then return 'window' end
end

local function read_stored_bucket(key, full, a, b)
  local held = pcall('HMGET', key, 't', 'ts', 'v', 'x', 'r')
  if held.err or (held[3] and held[3] ~= SCHEMA) or kind_of(held[4]) == 'window' then return nil end
  local t, ts = held[1], held[2]
  local tokens, since
  if t and ts and #t == 8 and #ts == 8 then
    tokens, since = unpack('<d', t), unpack('<i8', ts)
    if not (tokens < 1e15 and tokens > -1e15) then tokens = nil end
  end
  if not tokens then tokens, since = full, now end
  local level = tokens
  if now > since then level = tokens + (now - since) * a / b end
  if level > full then level = full end
  return level, held[4], held[5], since
end

local function set_bucket(key, tokens, x, full, a, b)
  local fills, span, other = full * b / a, 0, ''
  if kind_of(x) == 'bucket' then span = select(2, unpack('<i8d', x)) end
  local lasts = span > fills and span or fills
  local needed = now + lasts
  if tokens < 0 then
    local owed = tokens * b / a
    owed = owed % 1 - owed
    needed = needed + (owed < LONGEST and owed or LONGEST)
  end
  if x and #x == 64 then
    other = string.sub(x, 17)
    needed = max(needed, (unpack('<d', x, 25)))
  end
  needed = needed + lasts * SPARE
  local expires = needed - needed % 1
  call('HSET', key, 't', pack('<d', tokens), 'ts', pack('<i8', now), 'v', SCHEMA,
    'x', pack('<i8d', expires, lasts) .. other)
  expire_at(key, expires)
end

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

-- Returns the tokens of the bucket behind the gate, and its field \`x\`; nil where it cannot be reached.
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

  -- A process with turns counts as dead when it has not been heard of for so long.
  local HOLDER_LIFE = 2250000

  local function note_holder(key, holder, due, known, sweep_at, remembered, ends)
    local latest = known and tonumber(string.match(known, '^%d+')) or 0
    if due > latest then latest = due end
    call('HSET', key, holder, string.format('%.0f %.0f', latest, now))
    if not sweep_at or sweep_at > now + HOLDER_LIFE then call('HSET', key, 'mx', text[now + HOLDER_LIFE]) end
    return keep_gate(key, ends, remembered, latest)
  end
  local holder, due = 'm:' .. ARGV[4], tonumber(ARGV[5])
  if due == 0 then
    pcall('HDEL', gate_key, holder)
  elseif due then
    local latest = call('HMGET', gate_key, holder)[1]
    ends_at = note_holder(gate_key, holder, due, latest, sweep_at, remembered, ends_at)
  end
  -- Where the bucket cannot be reached, the turns of the dead could not be handed on.
  if sweep_at and now >= sweep_at and bucket_key ~= gate_key then

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
  Checks which commands the user of this connection may not run on the limiter's keys. Runs none of them.

  KEYS     none: nothing is touched, so that any server of a cluster can be asked
  ARGV[1]  a key of the limiter
  then the names of commands

  Returns those that are forbidden; none on servers that cannot check it (Redis before 7.0).
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
