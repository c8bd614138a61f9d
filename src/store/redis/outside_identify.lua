-- KEYS[1] any key of the bucket. The node's identity, or nothing if it is no master.
return master() or false
