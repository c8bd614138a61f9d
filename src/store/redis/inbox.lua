-- What the scripts on outside inboxes share; each of them begins with this text, after a line that sets NAMESPACE. src/domain/timeline/outside/inbox.rs says what they must do.
-- KEYS are inboxes of one bucket: sorted sets of rows (score: publish time in ms, member: content id, 20 digits) with the header below them.
-- The header is three members, since one of more than 64 bytes would make the whole set four times as large: '<node>:<epoch>' at score -3,
-- '<generation>:<revision>:<basis, or nothing>' at -2, '<floor time>:<floor id>' at -1, these two of 20 digits each.
-- Numbers that may exceed 2^53 are compared as text; publish times stay below it.
local HEADER = 3
local NEWEST = '09223372036854775807:09223372036854775807'
local PIECE = 1000

-- The identity of this node's inboxes as of now; nil if it is no master. It names where they lie as well: inboxes under another
-- prefix, in another database or of another form missed what is delivered here.
local function master()
  local replication = redis.call('INFO', 'replication')
  if not string.find(replication, '\nrole:master\r?\n') then return nil end
  local id = string.match(replication, '\nmaster_replid:(%x+)')
  return id and redis.sha1hex(id .. ':' .. NAMESPACE)
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
  local found = redis.call('ZRANGE', key, 0, HEADER - 1, 'WITHSCORES')
  if found[2] ~= '-3' or found[4] ~= '-2' or found[6] ~= '-1' then return nil end
  local token, numbers, floor = found[1], found[3], found[5]
  local generation, revision, basis = string.match(numbers, '^(%-?%d+):(%-?%d+):(%-?%d*)$')
  if not generation then return nil end
  local head = { token = token, generation = generation, revision = revision, basis = basis, floor = floor }
  head.numbers, head.old_floor = numbers, floor
  return head
end

local function replace(key, score, old, new)
  if new == old then return end
  redis.call('ZREM', key, old)
  redis.call('ZADD', key, score, new)
end

-- The token never changes, so the set is never empty in between, and keeps its time to live.
local function write(key, head)
  replace(key, -2, head.numbers, table.concat({ head.generation, head.revision, head.basis }, ':'))
  replace(key, -1, head.old_floor, head.floor)
end

-- The revision that an operation with this nonce makes of `before`. It depends on both, so that a script that runs twice, or
-- late, gives another one each time. 52 bits, which a number of Lua holds exactly.
local function next_revision(before, nonce)
  return string.format('%.0f', tonumber(string.sub(redis.sha1hex(before .. ':' .. nonce), 1, 13), 16))
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
  local rows = redis.call('ZCARD', key) - HEADER
  if rows <= most then return end
  redis.call('ZREMRANGEBYRANK', key, HEADER, HEADER + rows - keep - 1)
  local lowest = redis.call('ZRANGE', key, HEADER, HEADER, 'WITHSCORES')
  raise(head, lowest[1] and string.format('%020.0f:%s', tonumber(lowest[2]), lowest[1]) or NEWEST)
  head.revision = revision
end

