--[[
  Reads the plans of a message, as decide.lua describes them. Gives by the number of the plan: `kind`, `quota`
  and `shadow`; `refill` and `period` of a bucket; `of`, which tells counts apart: the length of a window,
  nil for buckets and leases; `restores`, the time in which a limit of the plan is restored; `window_x`,
  what `x` says of a window.

  Expects ARGV; leaves `arg` at the last argument of the last plan.
]]
local BUCKET, WINDOW, LEASES = 1, 2, 3
local kind, quota, refill, period, shadow, of, restores, window_x = {}, {}, {}, {}, {}, {}, {}, {}
local arg = 2
local plan_count = tonumber(ARGV[arg])
for p = 1, plan_count do
  local k, limit = tonumber(ARGV[arg + 1]), tonumber(ARGV[arg + 2])
  local a, b = tonumber(ARGV[arg + 3]), tonumber(ARGV[arg + 4])
  kind[p], quota[p], shadow[p], restores[p] = k, limit, ARGV[arg + 5] == '1', a
  if k == BUCKET then
    refill[p], period[p], restores[p] = a, b, limit * b / a
  elseif k == WINDOW then
    of[p], window_x[p] = a, pack('<bdd', WINDOW, a, limit)
  end
  arg = arg + 5
end
