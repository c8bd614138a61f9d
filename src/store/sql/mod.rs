//! The SQL adapter: every port of the primary store over SQLite, MySQL or MariaDB.
//!
//! [`SqlStore`] implements each port in the folder of its aggregate, in the file of the port's name. Connections,
//! transactions and what differs between the engines are the crate `sql_driver`'s; the text of statements is here, and
//! shared by all engines.

mod accounts;
mod backups;
mod bulk;
mod cards;
mod contents;
mod counter_audits;
mod deliveries;
mod existing_accounts;
mod export;
mod follows;
mod hot;
mod imports;
mod inboxes;
mod inspection;
mod keyset;
mod listing;
mod people;
mod reactions;
mod read_markers;
mod rows;
mod schema;
mod search;
#[cfg(feature = "demo")]
mod seeding;
mod spread_counts;
mod sql_store;
mod timelines;
mod visibility;

pub use sql_driver::{ReplicaOptions, SqlOptions, Writes};
// Beside the texts of this module for those who write statements.
use sql_driver::{dialect, fragment};

pub use self::{
    hot::{HotPage, HotStatement},
    sql_store::SqlStore,
};

#[cfg(test)]
mod tests;
