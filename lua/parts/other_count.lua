--[[
  The second count of a limit, of a definition of its plan that counts apart. Gives unpack_other and
  pack_other, which read and write it in the field `x`. Counterpart: OtherCount in lib/memory/plan-mix.ts.
]]
local function unpack_other(x, at)
  local lasts, length, one, two, three = unpack('<ddddd', x, at)
  if length == 0 then
    return { is_apart = true, lasts = lasts, tokens = one, since = two, rate = three }
  end
  return { of = length, is_apart = true, lasts = lasts, since = one, cur = two, prev = three }
end

local function pack_other(other)
  if not other.of then return pack('<ddddd', other.lasts, 0, other.tokens, other.since, other.rate) end
  return pack('<ddddd', other.lasts, other.of, other.since, other.cur, other.prev)
end
