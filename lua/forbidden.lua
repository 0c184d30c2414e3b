--[[
  Checks which commands the user of this connection may not run on the limiter's keys. Runs none of them.

  KEYS     none: nothing is touched, so that any server of a cluster can be asked
  ARGV[1]  a key of the limiter
  then the names of commands

  Returns those that are forbidden; none on servers that cannot check it (Redis before 7.0).
]]
local forbidden = {}
if not redis.acl_check_cmd then return forbidden end
-- Newer servers also check how many arguments there are: the largest number that fits is taken, for
-- only with its key is a command checked for that.
local function is_allowed(command, key)
  for count = 4, 0, -1 do
    local args = {}
    for i = 1, count do args[i] = key end
    local fits, allowed = pcall(redis.acl_check_cmd, command, unpack(args))
    if fits then return allowed end
  end
  return false
end

for i = 2, #ARGV do
  if not is_allowed(ARGV[i], ARGV[1]) then forbidden[#forbidden + 1] = ARGV[i] end
end
return forbidden
