//! The integration tests: one binary, so that every suite shares the servers that [`servers`] starts.

#![recursion_limit = "256"] // the futures of a database connection nest deeper than the default
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
#![expect(clippy::disallowed_methods, reason = "tests spawn what they kill")]

mod api;
mod process;
mod store;
mod usecases;

use support::{binary, coverage, harness, memory_inboxes, outside_world, servers};
