-- Asks the run in progress to stop.
-- KEYS: thread, lease. ARGV: a run is named (0/1), run id, control channel.
local run = redis.call('HMGET', KEYS[1], 'a', 'n', 's')
if not run[1] then
  return {'idle'}
end
if redis.call('EXISTS', KEYS[2]) == 0 then
  return {'expired', run[1]}
end
-- The id is the last part, which may have anything in it.
local record = redis.call('HGET', KEYS[1], 'r' .. run[2])
local id = string.match(record, '^' .. string.rep('[^|]*|', 7) .. '(.*)$')
if ARGV[1] == '1' and id ~= ARGV[2] then
  return {'other', id}
end
if run[3] then
  return {'already', id}
end
redis.call('HSET', KEYS[1], 's', '1')
redis.call('PUBLISH', ARGV[3], '')
return {'stopping', id}
