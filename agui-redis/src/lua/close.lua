-- Ends a run whose producer is lost.
-- KEYS: thread, lease, stream. ARGV: token, force (0/1), ending, its bytes, events channel, control channel, retention in ms,
-- bytes of a run without events and without its id.
local run = redis.call('HMGET', KEYS[1], 'a', 'n')
if run[1] ~= ARGV[1] then
  return 0
end
if ARGV[2] ~= '1' and redis.call('EXISTS', KEYS[2]) == 1 then
  return 0
end
local field = 'r' .. run[2]
-- The id is the last part, which may have anything in it.
local id = string.match(redis.call('HGET', KEYS[1], field), '^' .. string.rep('[^|]*|', 7) .. '(.*)$')
local place, count, bytes = 0, 0, ARGV[8] + #id
local last = redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1)[1]
if last then
  place, count = string.match(last[1], '^(%d+)-(%d+)$')
  bytes = tonumber(last[2][4])
end
place = string.format('%.0f', place + 1)
count = string.format('%.0f', count + 1)
bytes = string.format('%.0f', bytes + ARGV[4])
redis.call('XADD', KEYS[3], place .. '-' .. count, 'e', ARGV[3], 'b', bytes)
redis.call('PEXPIRE', KEYS[3], ARGV[7])
local record = table.concat({run[1], '0', place, place, count, bytes, 'x', id}, '|')
redis.call('HSET', KEYS[1], field, record)
redis.call('HINCRBY', KEYS[1], 'b', bytes)
redis.call('HDEL', KEYS[1], 'a', 's')
redis.call('DEL', KEYS[2])
redis.call('PUBLISH', ARGV[5], '')
redis.call('PUBLISH', ARGV[6], '')
return 1
