//! Live: from announcements to the readers who are watching. One announcement serves a whole node: an index leads from
//! authors to the local subscribers. What a subscriber is promised, and why it holds, is in docs/live.md.

mod feed;
mod fresh;
mod hub;
mod session;

pub use feed::{Event, LiveFeed, LiveSettings, Subscription};
pub use fresh::Batch;
pub use hub::Hub;
pub use session::Told;
