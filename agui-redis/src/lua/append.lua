-- Adds a batch to the run in progress.
-- KEYS: thread, stream. ARGV: token, place, events, bytes so far, channel, retention in ms or 0, batches known to be there.
if redis.call('HGET', KEYS[1], 'a') ~= ARGV[1] then
  return 0
end
-- What Redis had when it went away may be more than it came back with.
if redis.call('XLEN', KEYS[2]) < tonumber(ARGV[7]) then
  return 2
end
local added = redis.pcall('XADD', KEYS[2], ARGV[2], 'e', ARGV[3], 'b', ARGV[4])
if type(added) == 'table' and added.err then
  -- Places are given once, so this batch has arrived before.
  if string.find(added.err, 'equal or smaller', 1, true) then
    return 1
  end
  return added
end
if ARGV[6] ~= '0' then
  redis.call('PEXPIRE', KEYS[2], ARGV[6])
end
redis.call('PUBLISH', ARGV[5], '')
return 1
