-- What is known of a thread, with the lease of its run in progress.
-- KEYS: thread, lease.
return {redis.call('HGETALL', KEYS[1]), redis.call('PTTL', KEYS[2]), redis.call('PTTL', KEYS[1])}
