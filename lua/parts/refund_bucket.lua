--[[
  Gives `refund_bucket`, which gives tokens back to a bucket, or cancels a turn where `due` is not nil. Returns 1 if
  anything came back, else 0. Counterparts: TokenBucket.refund and .cancel in lib/core/token-bucket.ts.
]]
-- @part stored_bucket
-- @part refund_log

-- Tokens that a bucket may seem to owe although no process waits.
local ROUNDING = 1e-6
-- A turn owes more than this.
local LESS_THAN_A_TOKEN = 0.5

-- What is not refilled of a charge: all that was missing right after it, less what was refilled and given
-- back since; or the charge alone, less all that was refilled, where that is more.
local function left_of(tokens, at, whole, a, b, log)
  if not at then return tokens end
  local alone = tokens - max(0, now - at) * a / b
  -- `whole` is in whole microseconds, rounded up.
  local left = (whole - 1 - now) * a / b - returned_since(at, log)
  return min(tokens, max(alone, left))
end

local function refund_bucket(key, full, a, b, tokens, at, whole, due)
  local level, _, log, since = read_stored_bucket(key, full, a, b)
  if not level then return 0 end
  -- A process that queued behind the turn owed a token or more at that time; rounding, much less.
  if due and -level > ROUNDING and -level + (now - due) * a / b > LESS_THAN_A_TOKEN then return 0 end
  -- Whether all that was spent since a turn was booked has been given back as well.
  local is_last = due and returned_since(at or 0, log) == 0
    and math.abs(full - level - (whole - now) * a / b) <= LESS_THAN_A_TOKEN
  local left = min(full - level, left_of(tokens, at, whole, a, b, log))
  if left <= 0 then return 0 end
  -- Without the last one all is as if it had never been booked: nothing is taken off the others.
  if not is_last then log = logged(log, left, now - (at or now), full * b / a) end
  -- A bucket that is full is kept as well: what is in its log must not come back again.
  call('HSET', key, 't', pack('<d', level + left), 'ts', pack('<i8', max(now, since)), 'r', log or '')
  return 1
end
