//! Ports: traits named by what they keep. Each method is one atomic intention.
//!
//! A method's doc states its atomicity, order, idempotency and bounds. The adapters are in `sql`, `redis`, `cassandra`
//! and `memory`; `app` chooses among them.

pub mod account_deletions;
pub mod accounts;
pub mod announcements;
pub mod attempts;
pub mod audits;
pub mod cards;
#[cfg(feature = "cassandra")]
pub mod cassandra;
pub mod contents;
pub mod deliveries;
pub mod error;
pub mod exclusions;
pub mod follow_lists;
pub mod follows;
pub mod identities;
pub mod inbox_store;
pub mod inbox_tier;
pub mod inboxes;
pub mod inspection;
pub mod memory;
pub mod new_account;
pub mod outbox_cache;
pub mod outside_states;
pub mod people;
pub mod ports;
pub mod profiles;
pub mod queue;
pub mod reactions;
pub mod read_markers;
pub mod redis;
pub mod relations;
pub mod schema;
pub mod search_terms;
#[cfg(feature = "demo")]
pub mod seeding;
pub mod sessions;
pub mod sql;
pub mod timelines;

pub use account_deletions::AccountDeletions;
pub use accounts::Accounts;
pub use announcements::Announcements;
pub use attempts::Attempts;
pub use audits::{Audits, CounterAudits};
pub use cards::Cards;
pub use contents::Contents;
pub use deliveries::Deliveries;
pub use error::StoreError;
pub use exclusions::Exclusions;
pub use follow_lists::FollowLists;
pub use follows::Follows;
pub use identities::Identities;
pub use inbox_store::InboxStore;
pub use inbox_tier::InboxTier;
pub use inboxes::Inboxes;
pub use inspection::Inspect;
pub use outbox_cache::OutboxCache;
pub use outside_states::OutsideStates;
pub use people::People;
pub use ports::Ports;
pub use profiles::Profiles;
pub use queue::Queue;
pub use reactions::Reactions;
pub use read_markers::ReadMarkers;
pub use relations::Relations;
pub use schema::Schema;
pub use search_terms::SearchTerms;
#[cfg(feature = "demo")]
pub use seeding::Seeding;
pub use sessions::Sessions;
pub use timelines::Timelines;
