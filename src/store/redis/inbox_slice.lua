-- Header and rows of a window, oldest first; nothing if there is no inbox that was opened here.
-- KEYS[1] the inbox. ARGV: 'older' | 'newer', limit, time of the bound or '' or '+inf', member of the bound.
local head = header(KEYS[1])
if not head or not admits(head.token) then return false end

-- How many members lie below the bound, or at it if `at` says so; the header's are among them.
local function up_to_bound(at)
  local time, member = ARGV[3], ARGV[4]
  local low = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. time)
  local high = low + redis.call('ZCOUNT', KEYS[1], time, time)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local found = redis.call('ZRANGE', KEYS[1], middle, middle)[1]
    if found < member or (at and found == member) then low = middle + 1 else high = middle end
  end
  return low
end

local limit, first, last = tonumber(ARGV[2]), nil, nil
if ARGV[1] == 'older' then
  last = (ARGV[3] == '' and redis.call('ZCARD', KEYS[1]) or up_to_bound(false)) - 1
  first = math.max(HEADER, last - limit + 1)
else
  first = ARGV[3] == '' and HEADER or up_to_bound(true)
  last = first + limit - 1
end
return { head.token, head.numbers, head.floor, redis.call('ZRANGE', KEYS[1], first, last, 'WITHSCORES') }
