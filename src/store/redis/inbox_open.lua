-- Replaces whatever is there by an inbox that claims nothing; answers its revision. Where there is no inbox, the server's
-- clock tells one run from another.
-- KEYS[1] the inbox. ARGV: token, time to live in ms, generation, nonce, floor.
if not admits(ARGV[1]) then return other_node() end
local head = redis.call('TYPE', KEYS[1]).ok == 'zset' and header(KEYS[1])
local nonce = table.concat(redis.call('TIME'), '.') .. ':' .. ARGV[4]
local revision = next_revision(head and head.revision or '', nonce)
redis.call('DEL', KEYS[1])
redis.call('ZADD', KEYS[1], -3, ARGV[1], -2, table.concat({ ARGV[3], revision, '' }, ':'), -1, ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return revision
