--[[
  Reads or replaces a text that all processes share, and publishes each change to those who listen.

  KEYS[1]  a hash: the text and its version
  ARGV[1]  how long it lives without being read, in milliseconds
  ARGV[2]  0 to read, 1 to replace
  ARGV[3]  replace: the version that the text must have, so that no change of another process is lost
  ARGV[4]  the new text
  ARGV[5]  the channel on which the new version is published
  ARGV[6]  what to call the text there
  ARGV[7]  a number that comes back, by which the caller knows that the answer is its own

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
-- A user who may not publish still shares what is stored.
if replaced == 1 then redis.pcall('PUBLISH', ARGV[5], version .. ' ' .. ARGV[6]) end
return { tonumber(ARGV[7]), replaced, version, text }
