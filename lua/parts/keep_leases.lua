--[[
  Gives `keep_leases(key, last)`: a set of leases lives until its last lease ends, and not longer. It is looked
  up where `last` is nil. Returns when that is.
]]
-- @part expire_at

local function keep_leases(key, last)
  last = last or tonumber(call('ZRANGE', key, -1, -1, 'WITHSCORES')[2])
  expire_at(key, last)
  return last
end
