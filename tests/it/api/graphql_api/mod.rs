//! Tests the whole schema over SQLite: every operation as a client sends it, executed without a transport.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod accounts;
mod answers;
mod api;
mod contents;
mod exclusions;
mod faults;
mod filters;
mod follows;
mod lists;
mod live;
mod live_cost;
mod nodes;
mod people;
mod reactions;
mod read_marker;
mod remembered;
mod replies;
mod reposts;
mod resuming;
mod search;
mod statements;
mod stores;
mod timeline;
