--[[
  Gives find_bucket and find_window, which read once what a key holds, whatever kind was charged last;
  NOT_OURS where it is nothing that we may touch.

  Expects what plans.lua gives, and `NOT_OURS`.
]]
-- @part definition
-- @part other_count
-- @part bucket_count
-- @part window_count
-- @part window_charge

local function find_bucket(key, p)
  local fields = pcall('HMGET', key, 't', 'ts', 'v', 'x')
  if fields.err or (fields[3] and fields[3] ~= SCHEMA) then return NOT_OURS end
  local x = fields[4]
  if kind_of(x) == 'window' then return as_window(key, call('HMGET', key, 'ws', 'c', 'p'), x, p) end
  return as_bucket(key, fields[1], fields[2], x)
end

local function find_window(key, p)
  local fields = pcall('HMGET', key, 'ws', 'c', 'p', 'x')
  if fields.err then return NOT_OURS end
  local x = fields[4]
  -- What the definition at hand has written is of this schema, and each field that is read takes time.
  if x ~= window_x[p] then
    local schema = call('HMGET', key, 'v')[1]
    if schema and schema ~= SCHEMA then return NOT_OURS end
  end
  if kind_of(x) ~= 'bucket' then return as_window(key, fields, x, p) end
  local bucket = call('HMGET', key, 't', 'ts')
  return as_bucket(key, bucket[1], bucket[2], x)
end
