--[[
  Step: reads the fields `t` and `ts` of a bucket. Gives `tokens` and `since`; `tokens` is nil where the
  fields are missing or not numbers as we write them. Such a bucket counts as untouched, which is full,
  and is written anew with the next charge.

  Expects `t` and `ts`.
]]
local tokens, since
if t and ts and #t == 8 and #ts == 8 then
  tokens, since = unpack('<d', t), unpack('<i8', ts)
  if not (tokens < 1e15 and tokens > -1e15) then tokens = nil end
end
