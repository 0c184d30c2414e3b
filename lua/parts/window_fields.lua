--[[
  Step: reads the fields `ws`, `c` and `p` of a window. Gives `since`, `cur` and `prev`; `since` is nil where
  they are missing or not numbers as we write them. Such a window counts as untouched.

  Expects `fields`, which begin with these three.
]]
local since, cur, prev = tonumber(fields[1] or ''), tonumber(fields[2] or ''), tonumber(fields[3] or '')
if not (since and cur and prev and cur >= 0 and prev >= 0 and cur < 1e15 and prev < 1e15) then since = nil end
