-- Takes back a run that nobody will drive and that has recorded nothing.
-- KEYS: thread, lease. ARGV: token, field of the run id.
if redis.call('HGET', KEYS[1], 'a') ~= ARGV[1] then
  return 0
end
local serial = redis.call('HGET', KEYS[1], 'n')
redis.call('HDEL', KEYS[1], 'a', 's', 'r' .. serial, ARGV[2])
redis.call('DEL', KEYS[2])
if serial == '1' then
  redis.call('DEL', KEYS[1])
end
return 1
