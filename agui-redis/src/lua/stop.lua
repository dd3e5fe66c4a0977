-- Asks the run in progress to stop.
-- KEYS: thread, lease. ARGV: a run is named (0/1), run id, control channel.
local run = redis.call('HMGET', KEYS[1], 'a', 'ai', 's')
if not run[1] then
  return {'idle'}
end
if redis.call('EXISTS', KEYS[2]) == 0 then
  return {'expired', run[1]}
end
if ARGV[1] == '1' and run[2] ~= ARGV[2] then
  return {'other', run[2]}
end
if run[3] then
  return {'already', run[2]}
end
redis.call('HSET', KEYS[1], 's', '1')
redis.call('PUBLISH', ARGV[3], '')
return {'stopping', run[2]}
