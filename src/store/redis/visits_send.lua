-- KEYS: the stream of visits; a sorted set of those that were sent last, by reader ('r7 ID DEPTH') and by id ('iID 7').
-- ARGV: the group, the bound of the stream, the field of the payload; then reader, depth (or nothing) and payload of
-- each visit. A visit waits while its entry is there and the group has not received it: at most one of each reader does.
local function parts(id)
  local time, number = string.match(id, '^(%d+)%-(%d+)$')
  return tonumber(time), tonumber(number)
end

local function is_after(id, other)
  local time, number = parts(id)
  local other_time, other_number = parts(other)
  return time > other_time or (time == other_time and number > other_number)
end

local function named(list)
  local of = {}
  for at = 1, #list, 2 do of[list[at]] = list[at + 1] end
  return of
end

local received, first = '0-0', nil
if redis.call('EXISTS', KEYS[1]) == 1 then
  local oldest = named(redis.call('XINFO', 'STREAM', KEYS[1]))['first-entry']
  first = oldest and oldest[1]
  for _, group in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
    local of = named(group)
    if of['name'] == ARGV[1] then received = of['last-delivered-id'] end
  end
end

for at = 4, #ARGV, 3 do
  local reader, depth, payload = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local known = redis.call('ZRANGE', KEYS[2], '[r' .. reader .. ' ', '(r' .. reader .. '!', 'BYLEX')[1]
  local id, sent = string.match(known or '', ' (%S+) (%-?%d*)$')
  local is_waiting = id and first and is_after(id, received) and not is_after(first, id)
  local is_deeper = depth ~= '' and (sent == '' or tonumber(depth) < (tonumber(sent) or 0))
  if not is_waiting or is_deeper then
    if is_waiting then redis.call('XDEL', KEYS[1], id) end
    if id then redis.call('ZREM', KEYS[2], known, 'i' .. id .. ' ' .. reader) end
    local new = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', ARGV[3], payload)
    redis.call('ZADD', KEYS[2], 0, 'r' .. reader .. ' ' .. new .. ' ' .. depth, 0, 'i' .. new .. ' ' .. reader)
    first = first or new
  end
end
