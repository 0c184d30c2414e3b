--[[
  Tells which commands the user of this connection may not run on our keys. Runs none of them.

  KEYS     none: nothing is touched, so that any server of a cluster can be asked
  ARGV[1]  a key as ours are
  then the names of commands

  Returns those that are forbidden; none on servers that cannot tell (Redis before 7.0).
]]
local forbidden = {}
if not redis.acl_check_cmd then return forbidden end
for i = 2, #ARGV do
  -- As many arguments as any of them takes; those that are no keys do not matter.
  local allowed = redis.acl_check_cmd(ARGV[i], ARGV[1], ARGV[1], ARGV[1], ARGV[1])
  if not allowed then forbidden[#forbidden + 1] = ARGV[i] end
end
return forbidden
