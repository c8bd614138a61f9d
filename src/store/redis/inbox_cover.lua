-- Adds an author's newest rows and raises the floor if the fence is the header's; 1 if it was.
-- KEYS[1] the inbox. ARGV: token, generation, keep, most, nonce, floor, then rows.
if not admits(ARGV[1]) then return other_node() end
local head = header(KEYS[1])
if not head or head.token ~= ARGV[1] or head.generation ~= ARGV[2] then return 0 end
add(KEYS[1], 7)
head.revision = next_revision(head.revision, ARGV[5])
raise(head, ARGV[6])
trim(KEYS[1], head, tonumber(ARGV[3]), tonumber(ARGV[4]), head.revision)
write(KEYS[1], head)
return 1
