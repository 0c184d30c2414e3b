--[[
  Charges sliding windows in chains. Gives charge_window and write_window, which do what those of
  bucket_count.lua do, and `charged_windows`. Counterpart: SlidingWindow.charge in lib/core/sliding-window.ts.

  Expects what plans.lua, other_count.lua and expire_at.lua give.
]]
local charged_windows = {}

-- Writes anew what `x` says of a window. Returns when the key expires.
local function see_definitions(p, window, expires)
  local lasts, other = math.max(window.span or 0, of[p]), window.other
  window.x, window.span, window.is_kept = window_x[p], lasts, nil
  if other or lasts > of[p] then window.x = window.x .. pack('<d', lasts) end
  return math.max(expires, now + lasts, other and other.lasts or 0)
end

local function charge_window(p, window, need)
  local current = window.current + need
  window.current, window.cur = current, current
  if window.charged_by == p then return end
  if not window.charged_by then charged_windows[#charged_windows + 1] = window end
  local start, expires = window.start, window.start + 2 * of[p]
  if window.since ~= start then window.is_kept = nil end
  window.charged_by, window.since, window.prev = p, start, window.previous
  if window.is_new then window.is_new = false end
  if window.x ~= window_x[p] or window.is_apart then expires = see_definitions(p, window, expires) end
  window.expires = expires
end

local function write_window(window)
  local key, current = window.key, text[window.cur]
  if window.is_kept then
    call('HSET', key, 'c', current)
  else
    local x = window.x
    if window.other then x = x .. pack_other(window.other) end
    call('HSET', key, 'ws', text[window.since], 'c', current, 'p', text[window.prev], 'v', SCHEMA, 'x', x)
  end
  expire_at(key, window.expires)
end
