--[[
  Counts of a limit whose plan has two definitions. Gives own_count, the count that plan p goes by where
  another definition was charged last; take_over, which makes it the one that is kept in the fields of its
  kind; charge_other, which takes the cost from the second count as well. Counterpart: PlanMix in
  lib/memory/plan-mix.ts.

  Expects what plans.lua, window_at.lua and fading.lua give, and `held`, the counts by key.
]]
-- Until when a count matters to its own definition, and to the key.
local function lasts_of(one)
  if not one.of then return one.tokens and one.since + one.span or 0 end
  if one.is_new then return 0 end
  return one.since + one.of + math.max(one.of, one.span or 0)
end

-- What is left of a count, of a bucket also beyond its capacity.
local function room_of(one)
  if not one.of then
    return now > one.since and one.tokens + (now - one.since) * one.rate or one.tokens
  end
  local since, cur, prev = window_at(one.of, one.since, one.cur, one.prev, now)
  -- A window of 0.1 does not say its limit.
  local limit = one.x and #one.x > 16 and unpack('<d', one.x, 10) or math.huge
  local room = limit - cur - fading(one.of, since, prev, now)
  return room > 0 and room or 0
end

-- One that begins has the same room. What a window lacks of its limit fades as what was counted in the
-- window before.
local function own_count(p, last)
  local own = last.other
  if not own or own.of ~= of[p] then
    -- How fast a bucket refills is kept only while there is another count.
    if not last.of and not last.rate then last.rate = quota[p] / restores[p] end
    own = { of = of[p], is_apart = true, since = now }
    local room = quota[p]
    if lasts_of(last) > now or (last.tokens or 0) < 0 then
      own.is_begun, room = true, math.min(room, room_of(last))
    end
    if kind[p] == BUCKET then own.tokens = room
    else own.prev, own.cur = quota[p] - math.max(room, 0), ceil(math.max(-room, 0)) end
  end
  own.last = last
  return own
end

local function take_over(p, own)
  local last = own.last
  own.key, own.expires, own.span = last.key, 0, restores[p]
  own.x, own.last, own.is_begun, own.is_over = nil, nil, nil, nil
  own.is_kept, own.charged_by, own.seen_by = nil, nil, nil
  last.lasts, last.other, last.is_over = lasts_of(last), nil, true
  if last.lasts > 0 then own.span = math.max(own.span, last.span or 0, last.of or 0) end
  if last.lasts > now then own.other, last.is_apart = last, true end
  held[own.key] = own
end

-- Not from a count that has been restored since its own definition was last charged: that one is not used
-- any more.
local function charge_other(p, one, need)
  local other = one.other
  if other.lasts <= now then
    one.other, one.expires, one.is_kept, one.x = nil, 0, nil, nil
    return
  end
  if other.of then
    local cur
    other.since, cur, other.prev = window_at(other.of, other.since, other.cur, other.prev, now)
    other.cur, other.seen_by = cur + need, nil
    return
  end
  local tokens = math.min(quota[p], room_of(other))
  -- Never below nothing: a bucket that comes back later need not pay for all that a larger plan let through.
  other.tokens, other.since = math.max(math.min(tokens, 0), tokens - need), now
end
