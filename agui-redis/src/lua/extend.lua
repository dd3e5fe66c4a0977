-- Lets a thread and all of its runs live for another while, together.
-- KEYS: thread, streams. ARGV: number of the last run, retention in ms.
if redis.call('HGET', KEYS[1], 'n') ~= ARGV[1] then
  return 0
end
for at = #KEYS, 1, -1 do
  redis.call('PEXPIRE', KEYS[at], ARGV[2])
end
return 1
