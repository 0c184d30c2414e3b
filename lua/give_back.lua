--[[
  Gives back what was spent for nothing. What is no longer there is left alone: a limit that was
  forgotten is full, and giving back never creates one.

  KEYS     one per limit; before them the gate that their chain passed, if ARGV[2] is not ''
  ARGV[1]  the time in microseconds, or '' to take the server's
  ARGV[2]  the plan of turns that a cancelled turn belongs to (see gate.lua), or ''
  then for each limit: action, quota, a, b, tokens, due, lease id
    action 1  refund tokens to a bucket   (a tokens come back every b microseconds)
    action 2  refund tokens to a window   (of a microseconds)
    action 3  release a lease
    action 4  cancel a turn of a bucket that was due at `due`; only the last in the queue comes back

  last     a number that comes back, by which the caller knows that the answer is its own

  Returns that number, and how many of them changed anything.
]]
local call, pcall, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack

local REFUND_BUCKET, REFUND_WINDOW, RELEASE = 1, 2, 3
local SCHEMA = '1'
-- Tokens that a bucket may seem to owe although nobody waits.
local ROUNDING = 1e-6

local now = tonumber(ARGV[1])
if not now then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

local function refund_bucket(key, quota, a, b, tokens, due)
  local held = pcall('HMGET', key, 't', 'ts', 'v')
  if held.err or held[3] ~= SCHEMA then return 0 end
  if not held[1] or not held[2] or #held[1] ~= 8 or #held[2] ~= 8 then return 0 end
  local level, since = unpack('<d', held[1]), unpack('<i8', held[2])
  if now > since then level = level + (now - since) * a / b end
  if due then
    local refilled = (now - due) * a / b
    -- Whoever queued behind owed a token or more at that time; rounding, much less.
    if -level > ROUNDING and -level + refilled > 0.5 then return 0 end
    if refilled > 0 then tokens = tokens - refilled end
    if tokens <= 0 then return 0 end
  end
  level = level + tokens
  if level >= quota then return call('DEL', key) end
  call('HSET', key, 't', pack('<d', level), 'ts', pack('<i8', math.max(now, since)))
  return 1
end

local function refund_window(key, a, tokens)
  local held = pcall('HMGET', key, 'ws', 'c', 'p', 'v')
  if held.err or held[4] ~= SCHEMA then return 0 end
  local start, current, previous = tonumber(held[1] or ''), tonumber(held[2] or ''), tonumber(held[3] or '')
  if not (start and current and previous) or now - start >= 2 * a then return 0 end
  if now - start >= a then start, current, previous = start + a, 0, current end
  local from_current = math.min(tokens, current)
  previous = math.max(0, previous - (tokens - from_current))
  call('HSET', key, 'ws', start, 'c', current - from_current, 'p', previous)
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
  local at = 3 + (i - 1) * 7
  local action, key = tonumber(ARGV[at]), KEYS[first + i]
  local quota, a, b = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local tokens, due = tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5])
  if action == REFUND_BUCKET then
    changed = changed + refund_bucket(key, quota, a, b, tokens, nil)
  elseif action == REFUND_WINDOW then
    changed = changed + refund_window(key, a, tokens)
  elseif action == RELEASE then
    local removed = pcall('ZREM', key, ARGV[at + 6])
    if type(removed) == 'number' then changed = changed + removed end
  elseif not void_after or due <= void_after then
    changed = changed + refund_bucket(key, quota, a, b, tokens, due)
  end
end
return { tonumber(ARGV[#ARGV]), changed }
