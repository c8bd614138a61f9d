-- Replaces one author's cached outbox.
-- KEYS[1] the outbox. ARGV: ttl in ms, then score and member of each entry and of the head.
redis.call('DEL', KEYS[1])
redis.call('ZADD', KEYS[1], unpack(ARGV, 2))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 'filled'
