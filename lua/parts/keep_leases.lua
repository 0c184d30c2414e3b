--[[
  Step: the set of leases under `key` lives until its last lease ends, and not longer. Looks up `last`, when that
  is, where it is nil.

  Expects what expire_at.lua gives.
]]
last = last or tonumber(call('ZRANGE', key, -1, -1, 'WITHSCORES')[2])
expire_at(key, last)
