-- Replaces whatever is there by an inbox that claims nothing. Repeated, it keeps what was delivered since.
-- KEYS[1] the inbox. ARGV: token, time to live in ms, the header's numbers, its floor.
if not admits(ARGV[1]) then return other_node() end
local head = redis.call('TYPE', KEYS[1]).ok == 'zset' and header(KEYS[1])
if head and head.token == ARGV[1] and head.numbers == ARGV[3] and head.floor == ARGV[4] then return 1 end
redis.call('DEL', KEYS[1])
redis.call('ZADD', KEYS[1], -3, ARGV[1], -2, ARGV[3], -1, ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
