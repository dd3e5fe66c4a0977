-- Puts a rewritten run in the place of what it was, and drops the runs before it that it stands for.
-- KEYS: thread, new stream, old stream, streams of the dropped runs.
-- ARGV: serial, record before, record after, bytes more or less, grace in ms, and of each dropped run serial, record, field of the run id.
local thread = KEYS[1]
if redis.call('HGET', thread, 'r' .. ARGV[1]) == ARGV[3] then
  -- The same request, sent again by a client that never heard the answer.
  return 1
end
local unchanged = redis.call('HGET', thread, 'r' .. ARGV[1]) == ARGV[2]
for at = 6, #ARGV, 3 do
  unchanged = unchanged and redis.call('HGET', thread, 'r' .. ARGV[at]) == ARGV[at + 1]
end
if not unchanged then
  if KEYS[2] ~= KEYS[3] then
    redis.call('UNLINK', KEYS[2])
  end
  return 0
end
redis.call('HSET', thread, 'r' .. ARGV[1], ARGV[3])
redis.call('HINCRBY', thread, 'b', ARGV[4])
for at = 6, #ARGV, 3 do
  redis.call('HDEL', thread, 'r' .. ARGV[at], ARGV[at + 2])
end
for at = 3, #KEYS do
  if KEYS[at] ~= KEYS[2] then
    redis.call('PEXPIRE', KEYS[at], ARGV[5])
  end
end
return 1
