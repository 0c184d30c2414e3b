--[[
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
    action 4  cancel a turn of a bucket that was due at `due`; only the last in the queue comes back

  last     a number that comes back, by which the caller knows that the answer is its own

  Returns that number, and how many of them changed anything.
]]
local call, pcall, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack
local KEYS, ARGV, tonumber, max, min = KEYS, ARGV, tonumber, math.max, math.min

local REFUND_BUCKET, REFUND_WINDOW, RELEASE = 1, 2, 3

-- @part constants
-- @part clock

-- Where a plan has two definitions, only the count that was charged last gets tokens back: the other one has
-- less room than it might have, never more.

-- @part refund_bucket
-- @part refund_window

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
