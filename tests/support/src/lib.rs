//! Shared parts of the tests of a running system: real servers, the binary as a process, and use cases over real
//! stores.
//!
//! `tests/it`, `tests/allocations`, `tests/chaos` and `bench/benches` build on it.

#![recursion_limit = "256"] // the futures of a database connection nest deeper than the default
#![expect(clippy::disallowed_methods, reason = "tests spawn what they kill, and read their seed from the environment")]

pub mod benched;
pub mod binary;
pub mod coverage;
pub mod harness;
pub mod memory_inboxes;
pub mod outside_world;
pub mod servers;
pub mod world;

use std::path::{Path, PathBuf};

/// The repository's root.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
