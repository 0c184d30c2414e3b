--[[
  What came back to a bucket, as two sums that began at different times, in its field `r`: the answer may be too
  high, never too low. Gives `returned_since(at, log)`, what came back at that time or later, at least; and
  `logged(log, tokens, held, refill)`, the log with one more refund. Counterpart: lib/core/refund-log.ts.
]]
-- A refund counts in the same sum as those before it for this part of a refill.
local PARTS_OF_REFILL = 8

-- Made anew where it is not of our form.
local function read_log(log)
  if not log or #log ~= 40 then return 0, 0, 0, 0, 0 end
  return unpack('<i8i8di8d', log)
end

local function returned_since(at, log)
  local last, since, sum, older_since, older_sum = read_log(log)
  if at > last then return 0 end
  if at >= since then return sum end
  return at >= older_since and older_sum or math.huge
end

-- A sum lasts twice as long as that was held, or an eighth of a refill.
local function logged(log, tokens, held, refill)
  local _, since, sum, older_since, older_sum = read_log(log)
  if now - since > max(2 * held, refill / PARTS_OF_REFILL) then
    older_since, older_sum, since, sum = since, sum, now, 0
  end
  return pack('<i8i8di8d', now, since, sum + tokens, older_since, older_sum + tokens)
end
