--[[
  Gives the arithmetic of two windows. `window_at` returns start and counts of the window of a length that
  holds the time `at`; `fading` returns what is still counted of the previous one. Counterparts:
  SlidingWindow.#at and fading in lib/core/sliding-window.ts.
]]
local function window_at(length, since, cur, prev, at)
  local elapsed = at - since
  if elapsed < length then return since, cur, prev end
  if elapsed < 2 * length then return since + length, 0, cur end
  return at, 0, 0
end

local function fading(length, since, prev, at)
  local elapsed = at - since
  if elapsed < 0 then elapsed = 0 end
  return prev * (length - elapsed) / length
end
