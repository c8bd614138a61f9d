-- Replaces whatever is there by an inbox that claims nothing. Repeated, it keeps what was delivered since.
-- KEYS[1] the inbox. ARGV: token, time to live in ms, header.
if not admits(ARGV[1]) then return other_node() end
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'zset' and redis.call('ZRANGE', KEYS[1], 0, 0)[1] == ARGV[3] then return 1 end
redis.call('DEL', KEYS[1])
redis.call('ZADD', KEYS[1], -1, ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
