//! Ports: what the house keeps, as traits named by what they keep. Each method is one atomic intention; its doc states
//! atomicity, order, idempotency and bounds. Adapters live in `sql`, `redis` and `memory`; only `app` chooses among them.

pub mod accounts;
pub mod announcements;
pub mod attempts;
pub mod audits;
pub mod contents;
pub mod deliveries;
pub mod error;
pub mod exclusions;
pub mod follows;
pub mod identities;
pub mod inboxes;
pub mod inspection;
pub mod memory;
pub mod outbox_cache;
pub mod profiles;
pub mod queue;
pub mod redis;
pub mod relations;
pub mod schema;
pub mod seeding;
pub mod sessions;
pub mod sql;
pub mod timelines;

pub use accounts::Accounts;
pub use announcements::Announcements;
pub use attempts::Attempts;
pub use audits::Audits;
pub use contents::Contents;
pub use deliveries::Deliveries;
pub use error::StoreError;
pub use exclusions::Exclusions;
pub use follows::Follows;
pub use identities::Identities;
pub use inboxes::Inboxes;
pub use inspection::Inspect;
pub use outbox_cache::OutboxCache;
pub use profiles::Profiles;
pub use queue::Queue;
pub use relations::Relations;
pub use schema::Schema;
pub use seeding::Seeding;
pub use sessions::Sessions;
pub use timelines::Timelines;
