-- Adds the last batch of a run and frees its thread.
-- KEYS: thread, lease, stream. ARGV: token, serial, place, events, bytes, record, events channel, control channel,
-- retention in ms, batches known to be there or 0.
if redis.call('HGET', KEYS[1], 'a') ~= ARGV[1] then
  local record = redis.call('HGET', KEYS[1], 'r' .. ARGV[2])
  -- A run that its driver has ended: the answer was lost on the way. 'x' and 'y' are endings by others.
  if record and string.sub(record, 1, #ARGV[1] + 1) == ARGV[1] .. '|' then
    local state = string.match(record, '^[^|]*|[^|]*|[^|]*|[^|]*|[^|]*|[^|]*|(%a)|')
    if state == 'd' or state == 'n' or state == 'c' then
      return 1
    end
  end
  return 0
end
if redis.call('XLEN', KEYS[3]) < tonumber(ARGV[10]) then
  return 2
end
if ARGV[4] ~= '' then
  local added = redis.pcall('XADD', KEYS[3], ARGV[3], 'e', ARGV[4], 'b', ARGV[5])
  if type(added) == 'table' and added.err and not string.find(added.err, 'equal or smaller', 1, true) then
    return added
  end
  redis.call('PEXPIRE', KEYS[3], ARGV[9])
end
redis.call('HSET', KEYS[1], 'r' .. ARGV[2], ARGV[6])
redis.call('HINCRBY', KEYS[1], 'b', ARGV[5])
redis.call('HDEL', KEYS[1], 'a', 's')
redis.call('DEL', KEYS[2])
redis.call('PUBLISH', ARGV[7], '')
redis.call('PUBLISH', ARGV[8], '')
return 1
