--[[
  Gives `read_stored_bucket(key, full, a, b)`: the tokens that a bucket holds now, its fields `x` and `r`, and
  since when it was stored. A bucket that is not stored, or whose fields are not ours, is full. Returns nil where
  the key holds something else, and where a window was charged last (see own_count.lua): that is no bucket to
  change.
  Counterpart: TokenBucket.level in lib/core/token-bucket.ts.
]]
-- @part definition

local function read_stored_bucket(key, full, a, b)
  local held = pcall('HMGET', key, 't', 'ts', 'v', 'x', 'r')
  if held.err or (held[3] and held[3] ~= SCHEMA) or kind_of(held[4]) == 'window' then return nil end
  local t, ts = held[1], held[2]
  -- @part bucket_fields
  if not tokens then tokens, since = full, now end
  -- @part bucket_level
  return level, held[4], held[5], since
end
