-- What the scripts on outside inboxes share; each of them begins with this text. src/domain/timeline/outside/inbox.rs says what they must do.
-- KEYS are inboxes of one bucket: sorted sets of rows (score: publish time in ms, member: content id, 20 digits) with the header below them,
-- at score -1: 'inbox:<node>:<epoch>:<generation>:<revision>:<basis, or nothing>:<floor time>:<floor id>', the last two of 20 digits each.
-- Numbers that may exceed 2^53 are compared as text; publish times stay below it.
local NEWEST = '09223372036854775807:09223372036854775807'
local PIECE = 1000

-- The identity of this node as of now; nil if it is no master.
local function master()
  local replication = redis.call('INFO', 'replication')
  if not string.find(replication, '\nrole:master\r?\n') then return nil end
  return string.match(replication, '\nmaster_replid:(%x+)')
end

-- Whether a token, '<node>:<epoch>', names this node and it is master.
local function admits(token)
  local node = master()
  return node and string.sub(token, 1, #node + 1) == node .. ':'
end

local function other_node()
  return redis.error_reply('OTHERNODE this node is no master, or not the one that the token names')
end

local function header(key)
  local member = redis.call('ZRANGE', key, 0, 0)[1]
  if not member then return nil end
  local token, generation, revision, basis, floor =
    string.match(member, '^inbox:(%x+:%-?%d+):(%-?%d+):(%-?%d+):(%-?%d*):(%d+:%d+)$')
  if not token then return nil end
  return { member = member, token = token, generation = generation, revision = revision, basis = basis, floor = floor }
end

-- The new header comes before the old one goes: a sorted set without members would be gone, and its time to live with it.
local function write(key, head)
  local fields = { 'inbox', head.token, head.generation, head.revision, head.basis, head.floor }
  local member = table.concat(fields, ':')
  if member == head.member then return end
  redis.call('ZADD', key, -1, member)
  redis.call('ZREM', key, head.member)
end

-- Adds the rows that stand in ARGV from `first` on, each as score and member.
local function add(key, first)
  for from = first, #ARGV, PIECE do
    redis.call('ZADD', key, unpack(ARGV, from, math.min(from + PIECE - 1, #ARGV)))
  end
end

local function raise(head, floor)
  if floor > head.floor then head.floor = floor end
end

-- Trims to `keep` rows if there are more than `most`.
local function trim(key, head, keep, most, revision)
  local rows = redis.call('ZCARD', key) - 1
  if rows <= most then return end
  redis.call('ZREMRANGEBYRANK', key, 1, rows - keep)
  local lowest = redis.call('ZRANGE', key, 1, 1, 'WITHSCORES')
  raise(head, lowest[1] and string.format('%020.0f:%s', tonumber(lowest[2]), lowest[1]) or NEWEST)
  head.revision = revision
end

