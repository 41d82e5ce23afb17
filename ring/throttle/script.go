package throttle

import "github.com/redis/rueidis"

// share is one process's asking for all its classes at once: it says what it has and needs and
// gets its share. Redis's clock rules. Keys under one hash tag, so that they are on one node of a
// Redis Cluster:
//
//	rw:throttle:{NAME}:health    hash: p pressure, at begin of the window in µs, n s f what was seen in it
//	rw:throttle:{NAME}:c:CLASS   hash, values in MessagePack: "." → {level, at, born}, PROCESS → {expires, asked, held, cap, used, head, need, demand, weight, since, owed}
//
// Operations are tokens of one bucket for the class. It fills with the rate up to the burst less
// what processes hold, so level + held ≤ burst always, and over any time no more begin than burst
// + rate × time. A process that has asked gets as much as there is beyond what the others are
// owed, up to a part of the burst that goes by its share. If that is not enough for its next
// request and there is anything, it gets enough for the request, and the level goes below
// nothing.
//
// Slots are leased: the sum of what processes may have at once stays within the limit, because a
// process gets only what is free, and what it shall give back counts as its own until it says
// itself that it keeps to less. The process whose next request has waited longest for enough
// slots comes first.
//
// Shares are max-min fair by demand, weighted by clients, so that a client counts the same in
// whatever company it asks. A class's key lives a day longer than its last use, so that it is not
// what a full Redis evicts first; a process's lease ends by what stands in it. Where there is no
// key, leases may be out that Redis has lost: slots are given sparingly until they have ended.
var share = rueidis.NewLuaScript(fillLua + `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local id, lease, refresh = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local function pressure()
  local h = redis.call('HMGET', KEYS[1], 'p', 'at', 'n', 's', 'f')
  local p, at = tonumber(h[1] or 0), tonumber(h[2] or now)
  local n, slow, failed = (h[3] or 0) + ARGV[4], (h[4] or 0) + ARGV[5], (h[5] or 0) + ARGV[6]
  local windows = (now - at) / ARGV[7]
  if windows >= 1 and n >= 10 or windows >= 4 then
    if failed > math.max(1, n * ARGV[9]) or slow > math.max(1, n * ARGV[8]) then
      p = math.min(tonumber(ARGV[10]), p + 0.25)
    else
      p = math.max(0, p - 0.025 * windows)
    end
    at, n, slow, failed = now, 0, 0, 0
  end
  redis.call('HSET', KEYS[1], 'p', string.format('%.6f', p), 'at', string.format('%.0f', at), 'n', n, 's', slow, 'f', failed)
  redis.call('PEXPIRE', KEYS[1], 600000)
  return p
end

local function class(key, arg, p)
  local a = {}
  for i, name in ipairs({'rate', 'burst', 'slots', 'shrink', 'floor', 'settle', 'held', 'taken', 'cap', 'used', 'head', 'need', 'demand', 'weight'}) do
    a[name] = tonumber(ARGV[arg + i])
  end
  local factor = 1 - math.min(math.max(p - (a.shrink - 1), 0), 1) * (1 - a.floor)
  local rate, burst, limit = a.rate * factor, a.burst * factor, math.max(1, math.floor(a.slots * factor))

  local level, at, born = 0, now, now
  local all, before = {}, {}
  local raw = redis.call('HGETALL', key)
  for i = 1, #raw, 2 do
    local e = cmsgpack.unpack(raw[i + 1])
    if raw[i] == '.' then
      level, at, born = e.level, e.at, e.born
    elseif raw[i] == id then
      before = e
    elseif e.expires <= now then
      redis.call('HDEL', key, raw[i])
    else
      all[#all + 1] = e
    end
  end

  local held, caps = a.held, 0
  for _, e in ipairs(all) do
    held, caps = held + e.held, caps + e.cap
  end
  level = math.max(-a.burst, math.min(level + rate * math.max(0, now - at) / 1000000 - a.taken, burst - held))
  local function keep()
    redis.call('HSET', key, '.', cmsgpack.pack({level = level, at = now, born = born}))
    redis.call('PEXPIRE', key, 86400000)
  end
  if a.weight == 0 then
    redis.call('HDEL', key, id)
    keep()
    return 0, 0, 0, 0
  end
  local me = {held = a.held, cap = a.cap, used = a.used, head = a.head, need = a.need, demand = a.demand, weight = a.weight,
    asked = before.asked or now, since = before.since or 0, owed = before.owed or 0}
  all[#all + 1] = me
  local weights = 0
  for _, e in ipairs(all) do
    e.want = math.max(e.demand, rate / 100)
    weights = weights + e.weight
  end

  local spare = fill(rate, all, 'want', 'share')
  local portion = me.share + spare * me.weight / weights
  local reserved = 0
  for _, e in ipairs(all) do
    e.owed = math.min(e.owed + e.share * (now - e.asked) / 1000000, e.share * 2 * refresh / 1000000)
    if e ~= me then
      reserved = reserved + e.owed
    end
  end
  local room = level - math.min(reserved, burst / 4)
  local granted = math.max(0, math.min(math.max(a.head, burst / 2 * portion / rate) - a.held, room))
  if a.held + granted < a.head then
    granted = 0
    if room > 0 then
      granted = a.head - a.held
    end
  end
  level = level - granted

  local first
  for _, e in ipairs(all) do
    if e.since > 0 and (not first or e.since < first.since) then
      first = e
    end
  end
  if first then
    limit = math.max(limit, first.head)
    first.slots = math.min(first.used + first.head, limit)
  end
  spare = fill(limit, all, 'need', 'slots')
  local target = math.floor(me.slots + spare * me.weight / weights)
  local cap = a.cap + math.max(0, math.min(target - a.cap, limit - caps - a.cap))
  if now < born + lease then
    cap = math.max(a.cap, math.min(cap, a.settle))
  end
  local since = 0
  if a.head > 0 and a.used + a.head > math.min(cap, target) then
    since = me.since > 0 and me.since or now
  end

  redis.call('HSET', key, id, cmsgpack.pack({expires = now + lease, asked = now, held = a.held + granted, cap = cap, used = a.used, head = a.head, need = a.need,
    demand = a.demand, weight = a.weight, since = since, owed = math.max(0, me.owed - granted)}))
  keep()
  return granted, portion, cap, target
end

local p = pressure()
local answer = {string.format('%.6f', p)}
for i = 2, #KEYS do
  for _, x in ipairs({class(KEYS[i], 10 + (i - 2) * 14, p)}) do
    answer[#answer + 1] = string.format('%.6f', x)
  end
end
return answer`)

// fillLua divides a total: everyone gets what it wants, up to the same level for each of its
// weight (max-min). Who has something in got already keeps it and gets on top. It returns what is
// left.
const fillLua = `
local function fill(total, list, want, got)
  local open = {}
  for i, e in ipairs(list) do
    e[got] = e[got] or 0
    total = total - e[got]
    open[i] = e
  end
  while total > 0 and #open > 0 do
    local weights = 0
    for _, e in ipairs(open) do
      weights = weights + e.weight
    end
    local each, still = total / weights, {}
    for _, e in ipairs(open) do
      if e[want] - e[got] <= each * e.weight then
        total = total - math.max(0, e[want] - e[got])
        e[got] = math.max(e[got], e[want])
      else
        still[#still + 1] = e
      end
    end
    if #still == #open then
      for _, e in ipairs(open) do
        e[got] = e[got] + each * e.weight
      end
      total = 0
    end
    open = still
  end
  return math.max(0, total)
end
`
