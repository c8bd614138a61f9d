-- Applies one change to one author's cached outbox, if it was made to what is cached.
-- KEYS[1] the outbox. ARGV: version before, version after, capacity, ttl in ms, 'add' | 'remove' | 'evict', member, time.
-- Numbers that may exceed 2^53 (versions, ids) are compared as text; times stay below it.
local head = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
if not head then return 'absent' end
local version, from_time, from_id = string.match(head, '^version:(%d+):(%d+):(%d+)$')
if not version then redis.call('DEL', KEYS[1]) return 'evicted' end
if version == ARGV[2] then return 'known' end
if version ~= ARGV[1] or ARGV[5] == 'evict' then redis.call('DEL', KEYS[1]) return 'evicted' end

local function padded(id) return string.rep('0', 20 - #id) .. id end

if ARGV[5] == 'remove' then
  redis.call('ZREM', KEYS[1], ARGV[6])
else
  local time, from = tonumber(ARGV[7]), tonumber(from_time)
  -- Below the complete part something newer may be missing already.
  if time > from or (time == from and ARGV[6] >= padded(from_id)) then
    redis.call('ZADD', KEYS[1], ARGV[7], ARGV[6])
    local excess = redis.call('ZCARD', KEYS[1]) - 1 - tonumber(ARGV[3])
    if excess > 0 then
      redis.call('ZREMRANGEBYRANK', KEYS[1], 1, excess)
      local oldest = redis.call('ZRANGE', KEYS[1], 1, 1, 'WITHSCORES')
      from_time = string.format('%.0f', tonumber(oldest[2]))
      from_id = string.gsub(oldest[1], '^0+', '')
    end
  end
end
redis.call('ZREM', KEYS[1], head)
redis.call('ZADD', KEYS[1], -1, 'version:' .. ARGV[2] .. ':' .. from_time .. ':' .. from_id)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 'applied'
