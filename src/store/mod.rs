//! Ports: what the house keeps, as traits named by what they keep. Each method is one atomic intention; its doc states
//! atomicity, order, idempotency and bounds. Adapters live in `sql`, `redis` and `memory`; only `app` chooses among them.

pub mod accounts;
pub mod announcements;
pub mod audits;
pub mod contents;
pub mod deliveries;
pub mod error;
pub mod exclusions;
pub mod follow_lists;
pub mod follows;
pub mod inboxes;
pub mod inspection;
pub mod memory;
pub mod outbox_cache;
pub mod queue;
pub mod reactions;
pub mod read_markers;
pub mod redis;
pub mod relations;
pub mod schema;
pub mod seeding;
pub mod sql;
pub mod timelines;

pub use accounts::Accounts;
pub use announcements::Announcements;
pub use audits::Audits;
pub use contents::Contents;
pub use deliveries::Deliveries;
pub use error::StoreError;
pub use exclusions::Exclusions;
pub use follow_lists::FollowLists;
pub use follows::Follows;
pub use inboxes::Inboxes;
pub use inspection::Inspect;
pub use outbox_cache::OutboxCache;
pub use queue::Queue;
pub use reactions::Reactions;
pub use read_markers::ReadMarkers;
pub use relations::Relations;
pub use schema::Schema;
pub use seeding::Seeding;
pub use timelines::Timelines;
