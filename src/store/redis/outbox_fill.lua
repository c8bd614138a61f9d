-- Replaces one author's cached outbox, unless a later one is cached.
-- KEYS[1] the outbox. ARGV: number, ttl in ms, then score and member of each entry and of the head.
local head = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
local seq = head and string.match(head, '^seq:(%d+):')
if seq and tonumber(seq) > tonumber(ARGV[1]) then return 'later' end
redis.call('DEL', KEYS[1])
redis.call('ZADD', KEYS[1], unpack(ARGV, 3))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 'filled'
