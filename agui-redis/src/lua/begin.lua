-- Makes a run the one in progress of its thread.
-- KEYS: thread, lease. ARGV: token, run id, owner given (0/1), owner, lease in ms, retention in ms.
local thread = KEYS[1]
local held = redis.call('HMGET', thread, 'o', 'a', 'ai', 'n')
if held[4] then
  local owner = held[1]
  if (ARGV[3] == '1') ~= (owner ~= false) or (owner and owner ~= ARGV[4]) then
    return {'owner'}
  end
  if held[2] then
    if held[2] == ARGV[1] then
      -- The same attempt, sent again by a client that never heard the answer.
      return {'begun', held[4], redis.call('PTTL', thread)}
    end
    if redis.call('EXISTS', KEYS[2]) == 1 then
      return {'busy', held[3]}
    end
    return {'expired', held[2], held[4]}
  end
  if redis.call('HEXISTS', thread, 'i:' .. ARGV[2]) == 1 then
    return {'used'}
  end
elseif ARGV[3] == '1' then
  redis.call('HSET', thread, 'o', ARGV[4])
end
local serial = redis.call('HINCRBY', thread, 'n', 1)
local record = ARGV[1] .. '|0|0|0|0|0|a|' .. ARGV[2]
redis.call('HSET', thread, 'a', ARGV[1], 'ai', ARGV[2], 'r' .. serial, record, 'i:' .. ARGV[2], serial)
redis.call('HDEL', thread, 's')
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[5])
if not held[4] then
  redis.call('PEXPIRE', thread, ARGV[6])
end
return {'begun', tostring(serial), redis.call('PTTL', thread)}
