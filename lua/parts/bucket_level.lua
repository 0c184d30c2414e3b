--[[
  Step: refills a bucket that held `tokens` at `since`. Gives `level`, its tokens now: `a` tokens come back
  every `b` microseconds, up to `full`. Counterpart: TokenBucket.#tokensAt in lib/core/token-bucket.ts.

  Expects `tokens`, `since`, `full`, `a`, `b`.
]]
local level = tokens
if now > since then level = tokens + (now - since) * a / b end
if level > full then level = full end
