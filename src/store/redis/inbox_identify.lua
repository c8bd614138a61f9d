-- KEYS[1] a key of the bucket that is no inbox. The node's identity, or nothing if it is no master. Fails where nothing can be
-- written: such a node would hold up every delivery.
local node = master()
if not node then return false end
redis.call('SET', KEYS[1], '', 'PX', 10000)
return node
