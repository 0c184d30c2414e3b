--[[
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
    action 4  cancel a turn of a bucket that was due at `due`; only the last in the queue comes back

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

-- `x` says which count is kept in the fields of its kind (see decide.lua). The other one gets nothing
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
