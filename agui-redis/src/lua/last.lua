-- The last place of the run in progress, if it is still this one.
-- KEYS: thread, stream. ARGV: token.
if redis.call('HGET', KEYS[1], 'a') ~= ARGV[1] then
  return ''
end
local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
return last and last[1] or '0-0'
