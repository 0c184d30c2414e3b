--[[
  Token buckets in chains. Gives, each for one bucket as plan p sees it: as_bucket, which makes it of its
  stored fields; read_bucket, which returns how long to wait for the cost; charge_bucket, which spends it;
  answer_bucket, which returns what remains and when all is back. And write_bucket, which keeps what all
  chains have left of those in `charged_buckets`. Counterpart: lib/core/token-bucket.ts.

  Expects what plans.lua, other_count.lua, definition.lua and expire_at.lua give, `NEVER` and `now_packed`.
]]
local charged_buckets = {}

local function as_bucket(key, t, ts, x)
  -- @part bucket_fields
  local expires, span = 0, 0
  if kind_of(x) == 'bucket' then expires, span = unpack('<i8d', x) end
  local bucket = { key = key, tokens = tokens, since = tokens and since or now, expires = expires, span = span }
  if x and #x == 64 then
    bucket.rate, bucket.other, bucket.is_apart = unpack('<d', x, 17), unpack_other(x, 25), true
  end
  return bucket
end

local function read_bucket(p, bucket, need)
  local full, a, b = quota[p], refill[p], period[p]
  local tokens, since = bucket.tokens or full, bucket.since
  bucket.is_ahead = since - now > CLOCK_STEP
  if bucket.is_ahead then since = now end
  -- @part bucket_level
  bucket.level = level
  if level + EPSILON >= need then return 0 end
  if need > full then return NEVER end
  -- @part bucket_due
  return due - now
end

local function charge_bucket(p, bucket, need)
  local a, b, fills, span = refill[p], period[p], restores[p], bucket.span
  local tokens = bucket.level - need
  if not bucket.is_charged then charged_buckets[#charged_buckets + 1] = bucket end
  bucket.is_charged, bucket.level, bucket.tokens, bucket.since = true, tokens, tokens, now
  -- @part bucket_life
  if bucket.other then
    needed = math.max(needed, bucket.other.lasts)
    bucket.rate, bucket.is_armed = a / b, true
  end
  -- Not armed anew while it will live long enough: that saves a command and two fields mostly.
  if bucket.expires >= needed and lasts == span then return end
  needed = needed + lasts * SPARE
  bucket.expires, bucket.span, bucket.is_armed = needed - needed % 1, lasts, true
end

local function answer_bucket(p, bucket)
  local full, a, b, level = quota[p], refill[p], period[p], bucket.level
  -- @part bucket_answer
  return left, reset
end

local function write_bucket(bucket)
  local key, tokens = bucket.key, pack('<d', bucket.tokens)
  if not bucket.is_armed then
    call('HSET', key, 't', tokens, 'ts', now_packed)
    return
  end
  local x = pack('<i8d', bucket.expires, bucket.span)
  if bucket.other then x = x .. pack('<d', bucket.rate) .. pack_other(bucket.other) end
  call('HSET', key, 't', tokens, 'ts', now_packed, 'v', SCHEMA, 'x', x)
  expire_at(key, bucket.expires)
end
