//! A model of the SQL store: every port of what is true, statement by statement as `src/store/sql` has them, so that
//! whatever can happen between two statements can happen here. That it answers as SQL does is shown by `crate::twins`;
//! that it waits where SQL waits is read off.
//!
//! Where a rule is broken on purpose (`crate::rules`), it is broken here, beside the statement that keeps it.

mod accounts;
mod at_once;
pub mod audits;
mod chains;
mod connections;
mod contents;
mod deliveries;
mod exclusions;
mod first;
mod follows;
mod growth;
mod inboxes;
mod known_authors;
mod outside;
mod references;
mod relations;
pub mod tables;
mod timelines;
pub mod transaction;
mod words;

pub use transaction::{Engine, PrimaryStore};
