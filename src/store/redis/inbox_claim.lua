-- Adds rows and claims them if the revision is the expected one; 1 if it was.
-- KEYS[1] the inbox. ARGV: token, expected revision, keep, most, nonce, basis, floor, time to live in ms, then rows.
if not admits(ARGV[1]) then return other_node() end
local head = header(KEYS[1])
if not head or head.token ~= ARGV[1] or head.revision ~= ARGV[2] then return 0 end
add(KEYS[1], 9)
head.revision, head.basis, head.floor = next_revision(head.revision, ARGV[5]), ARGV[6], ARGV[7]
trim(KEYS[1], head, tonumber(ARGV[3]), tonumber(ARGV[4]), head.revision)
write(KEYS[1], head)
redis.call('PEXPIRE', KEYS[1], ARGV[8])
return 1
