--[[
  Gives `refund_window(key, length, tokens, at)`, which takes tokens that were counted at that time, or at an
  unknown one, out of a window again. Returns 1 if there were any, else 0. A window of another length, whose
  count is not kept in these fields, gets nothing back. Counterpart: SlidingWindow.refund in lib/core/sliding-window.ts.
]]
-- @part definition
-- @part window_at

local function refund_window(key, length, tokens, at)
  local fields = pcall('HMGET', key, 'ws', 'c', 'p', 'v', 'x')
  if fields.err or (fields[4] and fields[4] ~= SCHEMA) then return 0 end
  local kind = kind_of(fields[5])
  if kind == 'bucket' or (kind == 'window' and unpack('<d', fields[5], 2) ~= length) then return 0 end
  -- @part window_fields
  if not since then return 0 end
  local began = since
  since, cur, prev = window_at(length, since, cur, prev, now)
  -- From the window in which they were counted, if that is not over.
  local is_of_current = not at or at >= since
  local is_of_previous = not at or (not is_of_current and at >= since - length)
  local from_current = is_of_current and min(tokens, cur) or 0
  local from_previous = is_of_previous and min(tokens - from_current, prev) or 0
  if from_current + from_previous <= 0 then return 0 end
  if since == began and from_previous == 0 then call('HSET', key, 'c', cur - from_current)
  else call('HSET', key, 'ws', since, 'c', cur - from_current, 'p', prev - from_previous) end
  return 1
end
