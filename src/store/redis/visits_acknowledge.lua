-- KEYS: the stream of visits; the sorted set of those that were sent last (see visits_send.lua).
-- ARGV: the group; then ids. Entries that no other group may want go, and so does what the set says of them.
for at = 2, #ARGV do
  local id = ARGV[at]
  local known = redis.call('ZRANGE', KEYS[2], '[i' .. id .. ' ', '(i' .. id .. '!', 'BYLEX')[1]
  if known then
    local reader = string.match(known, ' (%d+)$')
    local sent = redis.call('ZRANGE', KEYS[2], '[r' .. reader .. ' ' .. id, '(r' .. reader .. '!', 'BYLEX')[1]
    redis.call('ZREM', KEYS[2], known, sent or known)
  end
end
local acknowledged = redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, 2))
if acknowledged > 0 and #redis.call('XINFO', 'GROUPS', KEYS[1]) == 1 then
  redis.call('XDEL', KEYS[1], unpack(ARGV, 2))
end
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('XLEN', KEYS[1]) == 0 then redis.call('DEL', KEYS[2]) end
return acknowledged
