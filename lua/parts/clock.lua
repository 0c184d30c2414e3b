--[[
  Gives `now`, microseconds of the server's clock, taken once per call; and `keep_ms`, how much longer keys
  live than they have to, in milliseconds.

  Expects ARGV[1]: the time, or '' to take the server's.
]]
-- A time in the arguments comes from a test, and its keys must outlive it.
local now, keep_ms = tonumber(ARGV[1]), 600000
if not now then
  keep_ms = 1
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end
