--[[
  Gives `set_bucket(key, tokens, x, full, a, b)`: the bucket holds so many tokens now, below zero where turns are
  booked. `x` is its field of that name. What another definition has counted stays as it is.
]]
-- @part expire_at
-- @part definition

local function set_bucket(key, tokens, x, full, a, b)
  local fills, span, other = full * b / a, 0, ''
  if kind_of(x) == 'bucket' then span = select(2, unpack('<i8d', x)) end
  -- @part bucket_life
  if x and #x == 64 then
    other = string.sub(x, 17)
    needed = max(needed, (unpack('<d', x, 25)))
  end
  needed = needed + lasts * SPARE
  local expires = needed - needed % 1
  call('HSET', key, 't', pack('<d', tokens), 'ts', pack('<i8', now), 'v', SCHEMA,
    'x', pack('<i8d', expires, lasts) .. other)
  expire_at(key, expires)
end
