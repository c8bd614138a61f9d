//! Adapters within this process, for a single node and for tests. They use bounded memory and forget everything when
//! the process ends, which costs delay but never a content.

mod announcements;
mod queue;

pub use announcements::MemoryAnnouncements;
pub use queue::MemoryQueue;
