--[[
  Renews leases that have not ended. One that has ended stays so: its slot may be lent again.

  KEYS     one per held slot
  ARGV[1]  the time in microseconds, or '' to take the server's
  then for each slot: lease id, length of its lease in microseconds

  last     a number that comes back, by which the caller knows that the answer is its own

  Returns that number, and for each slot 1 if it was still held, else 0.
]]
local call, pcall = redis.call, redis.pcall

-- @part clock
-- @part expire_at

local out = { tonumber(ARGV[#ARGV]) }
for i = 1, #KEYS do
  local key, lease_id, length = KEYS[i], ARGV[2 * i], tonumber(ARGV[2 * i + 1])
  local ends = pcall('ZSCORE', key, lease_id)
  out[i + 1] = 0
  if type(ends) == 'string' and tonumber(ends) > now then
    call('ZADD', key, text[now + length], lease_id)
    local last
    -- @part keep_leases
    out[i + 1] = 1
  end
end
return out
