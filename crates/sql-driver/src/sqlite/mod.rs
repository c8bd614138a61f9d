//! Connections to a SQLite file: several read, one writes.

mod inspect;
pub(crate) mod readers;
pub(crate) mod rows;
pub(crate) mod shared_commits;
pub(crate) mod writer;
