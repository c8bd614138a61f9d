//! Adapters that live in this process: for a node that is alone, and for tests. They keep the ports' promises with
//! bounded memory and forget everything when the process ends, which costs delay and never a content. They know no
//! other adapter.

mod announcements;
mod outbox_cache;
mod outside_inboxes;
mod queue;

pub use announcements::MemoryAnnouncements;
pub use outbox_cache::MemoryOutboxCache;
pub use outside_inboxes::MemoryInboxes;
pub use queue::MemoryQueue;
