//! The whole schema over SQLite: every operation as a client sends it, executed without a transport.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod accounts;
mod api;
mod contents;
mod faults;
mod follows;
mod live;
mod nodes;
mod reactions;
mod read_marker;
mod statements;
mod stores;
mod timeline;
