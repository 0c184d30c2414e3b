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
    for holder, due in pairs(holders) do note_holder(key, holder, due) end
  end
end
