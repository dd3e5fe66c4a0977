-- Adds to a stream that nobody reads yet.
-- KEYS: stream. ARGV: place, events, bytes so far, retention in ms.
redis.call('XADD', KEYS[1], ARGV[1], 'e', ARGV[2], 'b', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
