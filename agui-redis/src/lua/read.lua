-- A piece of a run, with what is known of the run at the same moment.
-- KEYS: thread, lease, stream. ARGV: serial, token, first place, generation, bytes at most, grace in ms.
local record = redis.call('HGET', KEYS[1], 'r' .. ARGV[1])
if not record or string.sub(record, 1, #ARGV[2] + 1) ~= ARGV[2] .. '|' then
  return {''}
end
local lease = -3
if redis.call('HGET', KEYS[1], 'a') == ARGV[2] then
  lease = redis.call('PTTL', KEYS[2])
end
if string.sub(record, 1, #ARGV[2] + #ARGV[4] + 2) ~= ARGV[2] .. '|' .. ARGV[4] .. '|' then
  -- The run was rewritten while somebody reads it; it stays for as long as they do.
  redis.call('PEXPIRE', KEYS[3], ARGV[6])
end
local reply = {record, lease, 0}
local from, bytes, limit = ARGV[3] .. '-0', 0, tonumber(ARGV[5])
while true do
  local entries = redis.call('XRANGE', KEYS[3], from, '+', 'COUNT', 8)
  for _, entry in ipairs(entries) do
    reply[#reply + 1] = string.match(entry[1], '^%d+')
    reply[#reply + 1] = entry[2][2]
    bytes = bytes + #entry[2][2]
    from = '(' .. entry[1]
  end
  if #entries < 8 then
    reply[3] = 1
    return reply
  end
  if bytes >= limit then
    return reply
  end
end
