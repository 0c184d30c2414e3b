--[[
  The turns that are booked in this call. Gives `book_turn(key, holder, due)`, and `write_turns()`, which notes
  for each gate the processes that have booked, once.
]]
-- @part turn_holder

local booked = {}

local function book_turn(key, holder, due)
  local holders = booked[key]
  if not holders then
    holders = {}
    booked[key] = holders
  end
  if due > (holders[holder] or 0) then holders[holder] = due end
end

local function write_turns()
  for key, holders in pairs(booked) do
    for holder, due in pairs(holders) do
      local field = 'm:' .. holder
      local known = call('HMGET', key, field, 'mx', 'x', 'e')
      local remembered, ends = tonumber(known[3] or '') or 0, tonumber(known[4] or '') or 0
      note_holder(key, field, due, known[1], tonumber(known[2] or ''), remembered, ends)
    end
  end
end
