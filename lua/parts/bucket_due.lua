--[[
  Step: gives `due`, the first microsecond at which a bucket that held `tokens` at `since` admits `need`
  tokens. It admits fewer now, and its capacity is not below `need`. Solved, then settled with the
  comparison that will admit it. Counterpart: TokenBucket.#dueUs in lib/core/token-bucket.ts.

  Expects `tokens`, `since`, `need`, `a`, `b`.
]]
local missing = (need - EPSILON - tokens) * b / a
local due = now + LONGEST
if missing <= LONGEST then
  -- Rounded up by `%`, as everywhere in buckets: calls of math.ceil are several times as expensive.
  due = since + (missing + -missing % 1)
  if due <= now then due = now + 1 end
  while tokens + (due - since) * a / b + EPSILON < need do due = due + 1 end
  while due > now + 1 and tokens + (due - 1 - since) * a / b + EPSILON >= need do due = due - 1 end
end
