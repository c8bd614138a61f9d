//! Names the channels of announcements; a constant of the interface between nodes, which must agree on them.
//!
//! Sixteen channels are for all nodes: `{prefix}announcements:0` to `15`. Beside each are the channels of 1,024 groups
//! of contents and users, with its name as their hash tag: whatever happens to their slot of a cluster happens to it,
//! too.

use super::connect::Redis;
use crate::{domain::Shown, store::announcements::Announcement};

/// Channels that every node subscribes to.
const SHARED: i64 = 16;
/// Groups of contents and users, a multiple of [`SHARED`].
const GROUPS: i64 = 16_384;

/// Contents and users whose frequent announcements share a channel: those whose ids have the same rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group(i64);

impl Group {
    /// The one that it belongs to.
    pub const fn of(shown: Shown) -> Self {
        Self(shown.number() % GROUPS)
    }

    /// Its channel.
    pub fn channel(self, redis: &Redis) -> String {
        redis.key(&format!("announcements:{{{}}}:{}", shared(redis, self.0 % SHARED), self.0))
    }
}

/// Databases of a server share their channels, so that all but the first have channels of their own.
fn shared(redis: &Redis, number: i64) -> String {
    match redis.database() {
        0 => redis.key(&format!("announcements:{number}")),
        database => redis.key(&format!("{database}:announcements:{number}")),
    }
}

/// The channels that every node subscribes to.
pub fn shared_channels(redis: &Redis) -> Vec<String> {
    (0..SHARED).map(|number| shared(redis, number)).collect()
}

/// Where an announcement is sent.
pub fn channel_of(redis: &Redis, announcement: &Announcement) -> String {
    match (announcement.about(), announcement) {
        (Some(shown), _) => Group::of(shown).channel(redis),
        (None, Announcement::SessionEnded { user, .. } | Announcement::AccountDeleted { user }) => {
            shared(redis, user.get() % SHARED)
        }
        (None, _) => shared(redis, 0),
    }
}
