//! Live feeds: routes announcements to subscribers. An index leads from each author to the node's subscribers, so one
//! announcement serves them all. docs/live.md states what a subscriber is promised, and why it holds.

mod error;
mod feed;
mod followed;
mod fresh;
mod hub;
mod mailbox;
mod shared_reads;
mod subscriber_state;

pub use error::LiveError;
pub use feed::{Event, LiveFeed, LiveSettings, Subscription};
pub use fresh::Batch;
pub use hub::Hub;
pub use subscriber_state::Update;
