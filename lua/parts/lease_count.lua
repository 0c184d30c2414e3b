--[[
  Leases in chains. Gives find_leases, read_leases, charge_leases and answer_leases, which do what those of
  bucket_count.lua do. Charges are written at once: only the set knows which leases it holds already.
  Counterpart: lib/core/lease-set.ts.

  Expects what plans.lua and expire_at.lua give, and `NOT_OURS`.
]]
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
  -- @part keep_leases
  leases.expires = last
end

local function answer_leases(p, leases)
  local left = quota[p] - leases.live
  return left > 0 and left or 0, 0
end
