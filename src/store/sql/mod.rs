//! The SQL adapter: every port of the primary store over SQLite, MySQL or MariaDB.
//!
//! [`SqlStore`] implements each port in the file of the port's name. [`dialect`] holds what differs between the
//! engines; all other text is shared. Only this module names sea-orm and sqlx.

mod account_deletions;
mod accounts;
mod attempts;
mod audits;
mod authors_version;
mod cards;
mod connect;
mod connection_permits;
mod content_rows;
mod contents;
mod contents_outbox;
mod contents_references;
mod counter_audits;
mod deliveries;
mod dialect;
mod error;
mod exclusions;
mod existing_accounts;
mod finish;
mod follow_lists;
mod follows;
mod fragment;
mod hot;
mod identities;
mod inboxes;
mod inspection;
mod keyset;
mod listing;
mod migrate;
mod open_transaction;
mod options;
mod outside;
mod people;
mod profiles;
mod reactions;
mod read_markers;
mod relations;
mod remembered;
mod rows;
mod schema;
mod search;
mod search_rebuild;
mod search_task_terms;
mod search_tasks;
mod search_terms;
#[cfg(feature = "demo")]
mod seeding;
mod server_certificates;
mod server_connections;
mod server_transaction;
mod sessions;
mod shared_commits;
mod sql_store;
mod sqlite_readers;
mod sqlite_rows;
mod sqlite_writer;
mod timelines;
mod transaction;
mod user_names;
mod visibility;
mod writability;
mod write_probe;

pub use self::{
    hot::{HotPage, HotStatement},
    options::SqlOptions,
    sql_store::SqlStore,
    writability::Writes,
};

#[cfg(test)]
mod tests;
