-- Keeps count of what the store holds, and says who might go where that is too much.
-- KEYS: uses, sizes, totals. ARGV: thread, what to do (add/set/use/del/ask), bytes, runs, in progress (0/1), retention in ms,
-- bytes at most, threads at most, lease in ms.
local function held(tag)
  local size = redis.call('HGET', KEYS[2], tag)
  if not size then
    return nil
  end
  local bytes, runs, active = string.match(size, '^(-?%d+) (-?%d+) (%d)$')
  return {tonumber(bytes), tonumber(runs), tonumber(active)}
end
local function put(tag, before, after)
  before = before or {0, 0, 0}
  if after then
    redis.call('HSET', KEYS[2], tag, string.format('%.0f %.0f %d', after[1], after[2], after[3]))
  else
    redis.call('HDEL', KEYS[2], tag)
    redis.call('ZREM', KEYS[1], tag)
    after = {0, 0, 0}
  end
  for at, what in ipairs({'bytes', 'runs', 'active'}) do
    if after[at] ~= before[at] then
      redis.call('HINCRBY', KEYS[3], what, string.format('%.0f', after[at] - before[at]))
    end
  end
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- What nobody has used for the whole retention is gone by itself.
for _, tag in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[6], 'LIMIT', 0, 16)) do
  put(tag, held(tag), nil)
end
local tag, what = ARGV[1], ARGV[2]
local before = held(tag)
if what == 'add' then
  local sum = before or {0, 0, 0}
  local runs = sum[2] + ARGV[4]
  if runs > 0 then
    put(tag, before, {sum[1] + ARGV[3], runs, tonumber(ARGV[5])})
    redis.call('ZADD', KEYS[1], now, tag)
    for _, key in ipairs(KEYS) do
      redis.call('PEXPIRE', key, ARGV[6])
    end
  else
    put(tag, before, nil)
  end
elseif what == 'set' then
  put(tag, before, {tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])})
  redis.call('ZADD', KEYS[1], before and 'XX' or 'NX', now, tag)
elseif what == 'use' then
  redis.call('ZADD', KEYS[1], 'XX', now, tag)
elseif what == 'del' then
  if before then
    put(tag, before, nil)
  end
end
local totals = redis.call('HMGET', KEYS[3], 'bytes', 'runs', 'active')
local threads = redis.call('ZCARD', KEYS[1])
local reply = {tostring(totals[1] or 0), tostring(threads), tostring(totals[2] or 0), tostring(totals[3] or 0)}
if tonumber(totals[1] or 0) > tonumber(ARGV[7]) or threads > tonumber(ARGV[8]) then
  -- A run in progress is renewed several times within its lease, which moves its thread back in the row.
  for _, other in ipairs(redis.call('ZRANGE', KEYS[1], 0, 255)) do
    local size = held(other)
    local stale = tonumber(redis.call('ZSCORE', KEYS[1], other)) < now - 2 * ARGV[9]
    if other ~= tag and (not size or size[3] == 0 or stale) then
      reply[#reply + 1] = other
      if #reply >= 20 then
        break
      end
    end
  end
  reply[#reply + 1] = tag
end
return reply
