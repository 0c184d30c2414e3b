--[[
  Sliding windows in chains. Gives as_window, read_window and answer_window, which do what those of
  bucket_count.lua do. Counterpart: lib/core/sliding-window.ts.

  Expects what plans.lua, other_count.lua, definition.lua and bucket_count.lua give, and `NEVER`.
]]
-- @part window_at
-- @part fading
-- @part window_due

local function as_window(key, fields, x, p)
  -- @part window_fields
  if not since then
    return of[p] and { of = of[p], key = key, is_new = true, since = now, cur = 0, prev = 0 } or as_bucket(key)
  end
  local window = { of = of[p], key = key, is_kept = x == window_x[p], since = since, cur = cur, prev = prev, x = x }
  if x ~= window_x[p] and kind_of(x) == 'window' then
    window.of = unpack('<d', x, 2)
    if #x > 17 then window.span = unpack('<d', x, 18) end
    if #x == 65 then window.other, window.is_apart = unpack_other(x, 26), true end
  end
  return window
end

-- Now is the same for all chains: what one found of a window is good for the next of the same plan.
local function see_window(p, window)
  local since = window.since
  window.is_ahead = since - now > CLOCK_STEP
  if window.is_ahead then since = now end
  local start, current, previous = window_at(of[p], since, window.cur, window.prev, now)
  local rest = fading(of[p], start, previous, now)
  window.seen_by, window.start, window.current, window.previous = p, start, current, previous
  -- Rounded up: a call of math.ceil is several times as expensive.
  window.rest, window.rest_up = rest, rest - EPSILON + (EPSILON - rest) % 1
end

local function read_window(p, window, need)
  if window.seen_by ~= p then see_window(p, window) end
  local current = window.current
  if window.rest <= quota[p] - need - current + EPSILON then return 0 end
  if need > quota[p] then return NEVER end
  return window_due(p, window.start, current, window.previous, need) - now
end

local function answer_window(p, window)
  local length, current = of[p], window.current
  local left = quota[p] - current - window.rest_up
  local reset = current > 0 and window.start + 2 * length - now
    or window.previous > 0 and window.start + length - now or 0
  return left > 0 and left or 0, reset
end
