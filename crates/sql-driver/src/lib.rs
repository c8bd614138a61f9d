//! A driver of SQL databases: SQLite, MySQL and MariaDB behind one interface. It knows no table and no statement.
//!
//! [`Database`] reads single statements ([`Database::read`]), writes them ([`Database::write`]) and runs transactions
//! ([`Database::transaction`]), which are repeated while they are contended and always ended. A [`Row`] gives its
//! columns by place, a [`Fragment`] is text with its values, and [`Dialect`] has the words in which engines differ.
//! Errors are sorted by the engine's number into a [`StoreError`].
//!
//! A server's connections are sqlx's, kept without its pool (`server`); a file's are rusqlite's (`sqlite`). Migrations
//! are sea-orm's, over a connection of their own ([`Database::for_migrations`]). Replicas of a server read single
//! statements as exactly as it does (`replicas`, [`Database::read_anywhere`]).

mod connect;
mod connection_permits;
mod database;
pub mod dialect;
mod error;
mod finish;
pub mod fragment;
mod migrations;
mod open_transaction;
mod options;
pub mod replicas;
pub mod rows;
mod server;
mod sqlite;
mod transaction;
mod writability;

#[cfg(test)]
mod tests;

pub use sea_orm::Value;
pub use store_error::StoreError;

pub use self::{
    connection_permits::{CONNECTION_WAITS, CONNECTION_WAITS_FAILED},
    database::Database,
    dialect::Dialect,
    error::{migration_commit_error, migration_error},
    fragment::Fragment,
    migrations::MigrationConnection,
    open_transaction::{Ended, Runs, Tx},
    options::SqlOptions,
    replicas::{
        REPLICA_LAG_SECONDS, REPLICA_READS, REPLICA_WAIT_SECONDS, REPLICAS_SERVING, ReplicaCondition, ReplicaOptions,
    },
    rows::{Answers, MAX_LIST, Readable, Row, id_list, value_list},
    server::connections::ROUND_TRIPS,
    writability::Writes,
};
