-- Gives an idle thread up.
-- KEYS: thread, streams. ARGV: number of the last run.
local held = redis.call('HMGET', KEYS[1], 'n', 'a')
if held[1] ~= ARGV[1] or held[2] then
  return 0
end
-- One by one: a call takes some thousands of arguments, and a thread may have more runs.
for _, key in ipairs(KEYS) do
  redis.call('UNLINK', key)
end
return 1
