//! A model of the SQL store: every port of the primary store, statement by statement as in `src/store/sql`, so that
//! anything can happen between two statements. `crate::differential` shows that it answers as SQL does. That it waits
//! where SQL waits follows from reading both.
//!
//! Where a rule is broken on purpose (`crate::rules`), it is broken here, beside the statement that keeps it.

mod accounts;
mod at_once;
pub mod audits;
mod begin;
mod cards;
mod chains;
mod connections;
mod contents;
mod deletions;
mod deliveries;
mod exclusions;
mod extension;
mod first;
mod follows;
mod growth;
mod imports;
mod inboxes;
mod known_authors;
mod outside_states;
mod references;
mod relations;
mod replicated;
mod stretch;
pub mod tables;
mod timelines;
mod together;
mod trace;
pub mod transaction;
mod unsimulated;

pub use replicated::StoreState;
pub use transaction::{Engine, PrimaryStore};
