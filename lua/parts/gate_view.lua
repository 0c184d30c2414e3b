--[[
  The gate of a chain. Gives `read_gate(key)`, which appends what the gate says to `out` and returns whether it
  could be read, whether it is shut, and whether the chain that passes is a probe; and `pass_gate`, which
  notes the probe and the turn of a chain that passes, whose caller acts at `acts`. Counterparts:
  GateRecord.view and .pass in lib/core/gate-record.ts.

  Expects `out` and `size`, the answer and its length so far.
]]
-- @part booked_turns

local function read_gate(key)
  local gate = pcall('HMGET', key, 'g', 'c', 'b', 'u', 'pu', 'x', 'mx')
  local readable = not gate.err
  out[size + 6] = now >= (tonumber(gate[7] or '') or now + 1) and 1 or 0
  if now >= (tonumber(gate[6] or '') or 0) then gate = {} end
  local till, probe_till = tonumber(gate[4] or '') or 0, tonumber(gate[5] or '') or 0
  local shut_for = 0
  if till > now then shut_for = till - now elseif till > 0 and probe_till > now then shut_for = probe_till - now end
  local is_probe = till > 0 and shut_for == 0
  out[size + 1], out[size + 2] = tonumber(gate[1] or '') or 0, tonumber(gate[2] or '') or 0
  out[size + 3], out[size + 4] = shut_for, is_probe and 1 or (shut_for > 0 and till <= now) and 2 or 0
  out[size + 5] = tonumber(gate[3] or '') or 0
  size = size + 6
  return readable, shut_for > 0, is_probe
end

local function pass_gate(key, shape, is_probe, acts)
  local holder = shape.holder
  if is_probe then
    acts = acts + shape.probe_length
    call('HSET', key, 'pu', acts, 'pm', holder or '')
  end
  if holder and acts > now then book_turn(key, holder, acts) end
end
