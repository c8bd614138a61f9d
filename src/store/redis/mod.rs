//! Adapters on Redis 7 or Valkey, a server on its own or a cluster: the queue as streams, the outbox cache and outside
//! inboxes as sorted sets, announcements as sharded publish/subscribe. SQL can rebuild everything kept here: losing it
//! costs delay and cache misses only.
//!
//! The one place that names the client library. It knows no clock and no other adapter; randomness is handed in.

mod announcements;
mod channels;
mod connect;
mod error;
mod inbox_member;
mod inboxes;
mod inspection;
mod interest;
mod lasting;
mod link;
mod listener;
mod open;
mod opener;
mod options;
mod outbox_cache;
mod outbox_member;
mod queue;
mod reader;
mod retry;
mod stream;
mod wire;

pub use announcements::RedisAnnouncements;
pub use connect::{ConnectError, Redis};
pub use inboxes::RedisInboxes;
pub use inspection::inspect;
pub use options::{InvalidRedisOptions, RedisOptions, SentinelOptions};
pub use outbox_cache::RedisOutboxCache;
pub use queue::RedisQueue;
