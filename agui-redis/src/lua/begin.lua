-- Makes a run the one in progress of its thread.
-- KEYS: thread, lease. ARGV: token, run id, its field, owner given (0/1), owner, lease in ms, retention in ms.
local thread = KEYS[1]
local held = redis.call('HMGET', thread, 'o', 'a', 'n')
if held[3] then
  local owner = held[1]
  if (ARGV[4] == '1') ~= (owner ~= false) or (owner and owner ~= ARGV[5]) then
    return {'owner'}
  end
  if held[2] then
    if held[2] == ARGV[1] then
      -- The same attempt, sent again by a client that never heard the answer.
      return {'begun', held[3], redis.call('PTTL', thread)}
    end
    if redis.call('EXISTS', KEYS[2]) == 1 then
      return {'busy', redis.call('HGET', thread, 'r' .. held[3])}
    end
    return {'expired', held[2]}
  end
  if redis.call('HEXISTS', thread, ARGV[3]) == 1 then
    return {'used'}
  end
  if redis.call('PTTL', thread) < tonumber(ARGV[6]) then
    -- It would go before the run is renewed. The runs that it has are let live on first, all of them.
    return {'aging'}
  end
elseif ARGV[4] == '1' then
  redis.call('HSET', thread, 'o', ARGV[5], 'b', #ARGV[5])
end
local serial = redis.call('HINCRBY', thread, 'n', 1)
local record = ARGV[1] .. '|0|0|0|0|0|a|' .. ARGV[2]
redis.call('HSET', thread, 'a', ARGV[1], 'r' .. serial, record, ARGV[3], serial)
redis.call('HDEL', thread, 's')
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[6])
if not held[3] then
  redis.call('PEXPIRE', thread, ARGV[7])
end
return {'begun', tostring(serial), redis.call('PTTL', thread)}
