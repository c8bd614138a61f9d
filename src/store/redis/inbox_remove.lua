-- Removes rows if the revision is the expected one; 1 if it was.
-- KEYS[1] the inbox. ARGV: token, expected revision, nonce, basis, then members.
if not admits(ARGV[1]) then return other_node() end
local head = header(KEYS[1])
if not head or head.token ~= ARGV[1] or head.revision ~= ARGV[2] then return 0 end
for from = 5, #ARGV, PIECE do
  redis.call('ZREM', KEYS[1], unpack(ARGV, from, math.min(from + PIECE - 1, #ARGV)))
end
head.revision, head.basis = next_revision(head.revision, ARGV[3]), ARGV[4]
write(KEYS[1], head)
return 1
