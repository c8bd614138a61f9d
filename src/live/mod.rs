//! Live: from announcements to the readers who are watching. One announcement serves a whole node: an index leads from
//! authors to the local subscribers.

mod feed;
mod hub;

pub use feed::{LiveFeed, LiveFeedStream};
pub use hub::{Hub, LiveEvent};
