--[[
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
