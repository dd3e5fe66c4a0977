-- Keeps a run its driver's for another while. A lease that ran out and that nobody has noticed is taken up again.
-- KEYS: thread, lease. ARGV: token, lease in ms.
if redis.call('HGET', KEYS[1], 'a') ~= ARGV[1] then
  return -1
end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return math.max(redis.call('PTTL', KEYS[1]), 0)
