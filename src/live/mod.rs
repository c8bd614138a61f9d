//! Live feeds: routes announcements to subscribers. An index leads from each author to the node's subscribers, so one
//! announcement serves them all. docs/live.md states what a subscriber is promised, and why it holds.

mod error;
mod feed;
mod followed;
mod fresh;
mod hints;
mod hub;
mod mailbox;
mod shared_reads;
mod shown;
mod subscriber_state;
#[cfg(test)]
mod wanted;

pub use error::LiveError;
pub use feed::{Event, LiveFeed, LiveSettings, Subscription};
pub use fresh::Batch;
pub use hints::ShownHints;
pub use hub::Hub;
pub use shown::{BYTES_OF_SHOWN, BYTES_OF_WATCH};
pub use subscriber_state::Update;
