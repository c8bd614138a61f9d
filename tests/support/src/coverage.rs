//! States the invariant of docs/coverage.md as one SQL statement.

/// Selects contents that a reader would miss: by an author on a covered edge, at or above the floor, neither in flight
/// nor in the inbox.
pub const BROKEN: &str = "SELECT COUNT(*) FROM follows f \
     JOIN contents c ON c.author_id = f.author_id AND c.removed_at IS NULL \
     JOIN inbox_states s ON s.user_id = f.follower_id \
     WHERE f.mode = 2 AND s.floor_time IS NOT NULL \
     AND (c.publish_time > s.floor_time OR (c.publish_time = s.floor_time AND c.id >= s.floor_content)) \
     AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.content_id = c.id) \
     AND NOT EXISTS (SELECT 1 FROM inboxes i WHERE i.user_id = f.follower_id \
         AND i.publish_time = c.publish_time AND i.content_id = c.id)";
