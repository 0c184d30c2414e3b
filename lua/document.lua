--[[
  Reads or replaces a text that all processes share, and publishes the change.

  KEYS[1]  a hash: the text and its version
  ARGV[1]  how long it lives without being read, in milliseconds
  ARGV[2]  0 to read, 1 to replace
  ARGV[3]  the version that it must have to be replaced (compare and set)
  ARGV[4]  the new text
  ARGV[5]  the channel to publish the new version on
  ARGV[6]  the name of the document in that message
  ARGV[7]  a number that is returned, by which the caller recognises its own answer

  Returns that number, 1 if it was replaced, the version and the text as they are now.
]]
local call = redis.call

local held = call('HMGET', KEYS[1], 'n', 'text')
local version, text = tonumber(held[1] or '') or 0, held[2] or ''
local replaced = 0
if ARGV[2] == '1' and version == tonumber(ARGV[3]) then
  replaced, version, text = 1, version + 1, ARGV[4]
  call('HSET', KEYS[1], 'n', version, 'text', text)
end
if version > 0 then call('PEXPIRE', KEYS[1], ARGV[1]) end
-- A user who may not publish can still change what is stored.
if replaced == 1 then redis.pcall('PUBLISH', ARGV[5], version .. ' ' .. ARGV[6]) end
return { tonumber(ARGV[7]), replaced, version, text }
