--[[
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
