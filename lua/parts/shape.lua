--[[
  Gives `read_shape(at)`: what a shape that begins at that argument asks, as decide.lua describes it, and where
  its arguments end. Counterpart: writeShape in lib/redis/decide-message.ts.

  Expects what plans.lua gives.
]]
local function read_shape(at)
  local plan, cost, lends = {}, {}, false
  local limit_count = tonumber(ARGV[at + 3])
  for i = 1, limit_count do
    local p = tonumber(ARGV[at + 2 + 2 * i])
    plan[i], cost[i] = p, tonumber(ARGV[at + 3 + 2 * i])
    if kind[p] == LEASES then lends = true end
  end
  local probe_length, after, holder = tonumber(ARGV[at + 2]), at + 4 + 2 * limit_count, nil
  if probe_length > 0 then
    holder, after = ARGV[after], after + 1
  end
  local shape = {
    mode = tonumber(ARGV[at]), longest = tonumber(ARGV[at + 1]), probe_length = probe_length,
    limit_count = limit_count, plan = plan, cost = cost, lends = lends, holder = holder ~= '' and holder,
  }
  return shape, after
end
