--[[
  Decides chains of limits, each all or nothing: every limit admits and is charged, or none is.
  Several chains may come in one call; each finds what those before it left. Everything of a chain is
  read before anything of it is written, and a denied chain charges nothing. A key that several chains
  share, such as that of the whole server, is read once and its tokens are written once, when all are decided.

  While an application is deployed a plan may have two definitions, of which each process knows one. All
  buckets of a key count in the same tokens, whatever their capacities and rates, and so do windows of
  the same length. A bucket and a window, or windows of two lengths, count apart: the one that was charged
  last in the fields of its kind, the other one in `x`. Every charge is taken from both. A count that
  begins has as much room as the other one, so that no definition ever has more room than a bucket of the
  larger capacity and the larger rate would. A key lives as long as the slowest of its definitions needs.

  KEYS     one per limit, chain by chain: a hash for tokens, a sorted set for leases; before those of
           a chain that has one, the hash of its gate (see gate.lua)
  ARGV[1]  the time in microseconds, or '' to take the server's, once for all
  ARGV[2]  how many plans follow, each as: kind, quota, a, b, shadow
             kind 1  token bucket    a tokens come back every b microseconds
             kind 2  sliding window  of a microseconds
             kind 3  concurrency     leases of a microseconds
  then chains; those of one shape that follow each other share one description: how many chains, the number
  of their shape, if it is a new one its description, and where one of its plans is of kind 3, for each chain
  its lease id. A shape is: mode (0 take, 1 peek, 2 reserve), longest wait, how long a probe may take if
  there is a gate or 0, how many limits, for each limit its plan and its cost, and if there is a gate the
  process that books turns behind it (see gate.lua), or ''

  last     a number that comes back, by which the caller knows that the answer is its own

  Returns integers: that number, the time, then for each chain
    1 allowed, 0 denied, 2 undecided because a key holds something else than a limit,
    of a gate: generation, cut, wait until it lets this chain pass, 1 if it is a probe or 2 if one is
    out, blocks in a row, 1 if a process that booked turns may have died,
    and for each limit: wait in microseconds (-1 never, -2 unreadable), what remains, microseconds until all is back
]]
local call, pcall, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack
local KEYS, ARGV, tonumber, ceil = KEYS, ARGV, tonumber, math.ceil

local PEEK, RESERVE = 1, 2
local NEVER, UNREADABLE = -1, -2
local NOT_OURS = {}

-- @part constants
-- @part clock
-- @part texts
local now_packed = pack('<i8', now)

-- @part plans

-- What is held under each key, as the chains so far leave it.
local held = {}

-- @part expire_at
-- @part stored_count
-- @part own_count
-- @part lease_count

-- What is done for a plan, by its kind.
local FIND = { find_bucket, find_window, find_leases }
local READ = { read_bucket, read_window, read_leases }
local CHARGE = { charge_bucket, charge_window, charge_leases }
local ANSWER = { answer_bucket, answer_window, answer_leases }

local out, size = { tonumber(ARGV[#ARGV]), now }, 2

-- @part shape
-- @part gate_view

-- What was found for the chain at hand, by the position of the limit.
local found, wait, admits = {}, {}, {}

-- Returns whether all limits of a chain admit, whether all could be read, and when its caller may act.
local function read_chain(first, shape, lease_id)
  local plan, cost, mode, longest = shape.plan, shape.cost, shape.mode, shape.longest
  local all_admit, readable, acts = true, true, now
  for i = 1, shape.limit_count do
    local p, key, w = plan[i], KEYS[first + i], UNREADABLE
    local one = held[key]
    if not one then
      one = FIND[kind[p]](key, p)
      held[key] = one
    end
    if one == NOT_OURS then
      readable = false
    else
      if one.of ~= of[p] then one = own_count(p, one) end
      w = READ[kind[p]](p, one, cost[i], key, lease_id)
    end
    found[i], wait[i], admits[i] = one, w, true
    if w ~= 0 then
      admits[i] = mode == RESERVE and kind[p] == BUCKET and w > 0 and w <= longest
      if not shadow[p] then
        all_admit = all_admit and admits[i]
        if now + w > acts then acts = now + w end
      end
    end
  end
  return all_admit, readable, acts
end

-- The one thing that a denial writes, at once: without it the limit would stand still until the clock is where
-- it was before it went back.
local function rebase(p, one, key)
  one.since, one.is_ahead = now, false
  if kind[p] == BUCKET then call('HSET', key, 'ts', now_packed)
  else call('HSET', key, 'ws', text[now]) end
end

-- A count that begins with a denial is kept, too, so that its room grows from now on.
local function begin(p, own)
  take_over(p, own)
  if own.other then charge_other(p, own, 0) end
  CHARGE[kind[p]](p, own, 0)
end

-- Charges the limits of a chain that passes, keeps what a denial must keep, and appends the answer for each limit.
local function settle_chain(first, shape, lease_id, passes, acts)
  local plan, cost, writes = shape.plan, shape.cost, shape.mode ~= PEEK
  for i = 1, shape.limit_count do
    local p, one, left, reset = plan[i], found[i], 0, 0
    if one ~= NOT_OURS then
      if passes and admits[i] and writes then
        if one.last then take_over(p, one) end
        if one.other then charge_other(p, one, cost[i]) end
        CHARGE[kind[p]](p, one, cost[i], KEYS[first + i], lease_id, acts)
      elseif one.is_begun and writes then begin(p, one)
      elseif one.is_ahead and writes and not one.last then rebase(p, one, KEYS[first + i]) end
      left, reset = ANSWER[kind[p]](p, one)
    end
    out[size + 1], out[size + 2], out[size + 3] = wait[i], left, reset
    size = size + 3
  end
end

-- Decides the chain whose first key is KEYS[first + 1], and appends the answer.
local function decide(first, shape, lease_id)
  local status_at, gate, gate_readable, shut, is_probe = size + 1, nil, true, false, false
  size = status_at
  if shape.probe_length > 0 then
    first = first + 1
    gate = KEYS[first]
    gate_readable, shut, is_probe = read_gate(gate)
  end
  local all_admit, readable, acts = read_chain(first, shape, lease_id)
  local passes = all_admit and readable and gate_readable and not shut
  out[status_at] = passes and 1 or (readable and gate_readable) and 0 or 2
  if gate and passes and shape.mode ~= PEEK then pass_gate(gate, shape, is_probe, acts) end
  settle_chain(first, shape, lease_id, passes, acts)
end

local shapes, first, arg_count = {}, 0, #ARGV - 1
arg = arg + 1
while arg <= arg_count do
  local chain_count, number = tonumber(ARGV[arg]), ARGV[arg + 1]
  arg = arg + 2
  local shape = shapes[number]
  if not shape then
    shape, arg = read_shape(arg)
    shapes[number] = shape
  end
  local key_count = shape.limit_count + (shape.probe_length > 0 and 1 or 0)
  for _ = 1, chain_count do
    decide(first, shape, shape.lends and ARGV[arg])
    if shape.lends then arg = arg + 1 end
    first = first + key_count
  end
end
for _, bucket in ipairs(charged_buckets) do
  if not bucket.is_over then write_bucket(bucket) end
end
for _, window in ipairs(charged_windows) do
  if not window.is_over then write_window(window) end
end
write_turns()
return out
