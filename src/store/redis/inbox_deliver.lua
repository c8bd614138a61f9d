-- Adds one row to each inbox of the fence; answers 1 for each that has it, 0 for each that was skipped.
-- KEYS inboxes. ARGV: token, keep, most, nonce, time, member, then the generation of each inbox.
if not admits(ARGV[1]) then return other_node() end
local keep, most, answers = tonumber(ARGV[2]), tonumber(ARGV[3]), {}
for place, key in ipairs(KEYS) do
  local head = header(key)
  if head and head.token == ARGV[1] and head.generation == ARGV[6 + place] then
    redis.call('ZADD', key, ARGV[5], ARGV[6])
    trim(key, head, keep, most, next_revision(head.revision, ARGV[4]))
    write(key, head)
    answers[place] = 1
  else
    answers[place] = 0
  end
end
return answers
