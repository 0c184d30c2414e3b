--[[
  Numbers that all scripts agree on. Counterpart: lib/core/counter.ts.
]]
-- Stored values of another schema are left alone.
local SCHEMA = '1'
-- Tolerance of comparisons, in tokens; never part of a subtraction, so that nothing drifts.
local EPSILON = 1e-9
-- Twenty years, more than can be booked: beyond, microseconds are no longer exact, and counting up to them would
-- never end.
local LONGEST = 630720000000000
-- A clock that went back further than this is believed, and counting goes on from its time.
local CLOCK_STEP = 100000
-- The key of a bucket lives longer than it has to by this part.
local SPARE = 0.25
