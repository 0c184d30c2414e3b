--[[
  Gives `window_due`: the first microsecond at which a window of plan p admits `need` tokens, which are not
  more than its limit. Solved, then settled with the comparison that will admit it. Counterpart:
  SlidingWindow.#dueUs in lib/core/sliding-window.ts.

  Expects what plans.lua, window_at.lua and fading.lua give.
]]
local function window_admits(p, since, cur, prev, need, at)
  local length = of[p]
  since, cur, prev = window_at(length, since, cur, prev, at)
  return fading(length, since, prev, at) <= quota[p] - need - cur + EPSILON
end

local function window_due(p, since, cur, prev, need)
  local length, spare = of[p], quota[p] - need
  local free, due = spare - cur, nil
  if free >= 0 then
    due = since + ceil(length - (free + EPSILON) * length / prev)
  else
    due = since + length + ceil(length - (spare + EPSILON) * length / cur)
  end
  if due <= now then due = now + 1 end
  while not window_admits(p, since, cur, prev, need, due) do due = due + 1 end
  while due > now + 1 and window_admits(p, since, cur, prev, need, due - 1) do due = due - 1 end
  return due
end
