-- Keeps count of what the store holds, and chooses who goes where more is wanted than there is room for.
-- KEYS: uses, sizes, totals. ARGV: thread, what to do (admit/add/set/use/del), bytes, runs, runs in progress, retention in
-- ms, bytes at most, threads at most, lease in ms.
local names = {'bytes', 'runs', 'active'}
local function held(tag)
  local size = redis.call('HGET', KEYS[2], tag)
  if not size then
    return nil
  end
  local bytes, runs, active = string.match(size, '^(-?%d+) (-?%d+) (-?%d+)$')
  return {tonumber(bytes), tonumber(runs), tonumber(active)}
end
local function put(tag, before, after)
  before = before or {0, 0, 0}
  if after then
    redis.call('HSET', KEYS[2], tag, string.format('%.0f %.0f %.0f', after[1], after[2], after[3]))
  else
    redis.call('HDEL', KEYS[2], tag)
    redis.call('ZREM', KEYS[1], tag)
    after = {0, 0, 0}
  end
  for at, what in ipairs(names) do
    if after[at] ~= before[at] then
      redis.call('HINCRBY', KEYS[3], what, string.format('%.0f', after[at] - before[at]))
    end
  end
end
local time = redis.call('TIME')
-- In microseconds, so that two uses are seldom the same.
local now = time[1] * 1000000 + time[2]
-- What nobody has used for the whole retention is gone by itself.
for _, tag in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - 1000 * ARGV[6], 'LIMIT', 0, 16)) do
  put(tag, held(tag), nil)
end
local tag, what = ARGV[1], ARGV[2]
local before = held(tag)
local used = redis.call('ZSCORE', KEYS[1], tag)
if what == 'add' or what == 'admit' then
  local sum = before or {0, 0, 0}
  local runs = sum[2] + ARGV[4]
  if runs > 0 then
    put(tag, before, {sum[1] + ARGV[3], runs, sum[3] + ARGV[5]})
    redis.call('ZADD', KEYS[1], now, tag)
  else
    put(tag, before, nil)
  end
elseif what == 'set' then
  -- One that is off the count is on its way out, or is counted when it is used again.
  if before then
    put(tag, before, {tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])})
  end
elseif what == 'use' then
  redis.call('ZADD', KEYS[1], 'XX', now, tag)
elseif before then
  put(tag, before, nil)
end
if what ~= 'del' then
  -- The count lives for as long as what it counts, which a run in progress keeps on.
  for _, key in ipairs(KEYS) do
    redis.call('PEXPIRE', key, ARGV[6])
  end
end
local function reply(admitted, victims)
  local all = redis.call('HMGET', KEYS[3], unpack(names))
  local told = {all[1] or '0', tostring(redis.call('ZCARD', KEYS[1])), all[2] or '0', all[3] or '0', admitted}
  for _, victim in ipairs(victims) do
    local size = victim[2]
    told[#told + 1] = victim[1]
    for at = 1, 3 do
      told[#told + 1] = string.format('%.0f', size[at])
    end
  end
  return told
end
if what ~= 'admit' then
  return reply('1', {})
end
local excess = tonumber(redis.call('HGET', KEYS[3], 'bytes') or 0) - ARGV[7]
local crowd = redis.call('ZCARD', KEYS[1]) - ARGV[8]
local victims, from = {}, 0
while (excess > 0 or crowd > 0) and from < 4096 do
  local oldest = redis.call('ZRANGE', KEYS[1], from, from + 63, 'WITHSCORES')
  if #oldest == 0 then
    break
  end
  for at = 1, #oldest, 2 do
    local size = held(oldest[at]) or {0, 0, 0}
    -- A run in progress is renewed several times within its lease. One that was not has lost its producer.
    local idle = size[3] <= 0 or tonumber(oldest[at + 1]) < now - 2000 * ARGV[9]
    if oldest[at] ~= tag and idle and (excess > 0 or crowd > 0) then
      victims[#victims + 1] = {oldest[at], size}
      excess = excess - size[1]
      crowd = crowd - 1
    end
  end
  from = from + 64
end
if excess > 0 or crowd > 0 then
  -- There is no room, and nothing has happened.
  put(tag, held(tag), before)
  if used then
    redis.call('ZADD', KEYS[1], used, tag)
  end
  return reply('0', {})
end
-- They are off the count at once, so that nobody else chooses them as well.
for _, victim in ipairs(victims) do
  put(victim[1], victim[2], nil)
end
return reply('1', victims)
