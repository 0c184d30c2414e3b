--[[
  Gives `window_at(length, since, cur, prev, at)`: start and counts of the window that holds the time `at`, of a
  limit whose window of that length began at `since`. Counterpart: SlidingWindow.#at in
  lib/core/sliding-window.ts.
]]
local function window_at(length, since, cur, prev, at)
  local elapsed = at - since
  if elapsed < length then return since, cur, prev end
  if elapsed < 2 * length then return since + length, 0, cur end
  return at, 0, 0
end
