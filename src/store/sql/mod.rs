//! The SQL adapter: every port of the primary store over SQLite, MySQL or MariaDB.
//!
//! [`SqlStore`] implements each port in the file of the port's name. [`dialect`] holds what differs between the
//! engines; all other text is shared. Only this module names sea-orm and sqlx.

mod accounts;
mod cards;
mod connect;
mod connection_permits;
mod contents;
mod counter_audits;
mod deliveries;
mod dialect;
mod error;
mod existing_accounts;
mod finish;
mod follows;
mod fragment;
mod hot;
mod inboxes;
mod inspection;
mod keyset;
mod listing;
mod open_transaction;
mod options;
mod people;
mod reactions;
mod read_markers;
mod rows;
mod schema;
mod search;
#[cfg(feature = "demo")]
mod seeding;
mod server_certificates;
mod server_connections;
mod server_transaction;
mod shared_commits;
mod sql_store;
mod sqlite_readers;
mod sqlite_rows;
mod sqlite_writer;
mod timelines;
mod transaction;
mod visibility;
mod writability;

pub use self::{hot::HotStatement, options::SqlOptions, sql_store::SqlStore, writability::Writes};

#[cfg(test)]
mod tests;
