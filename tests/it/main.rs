//! The integration tests: one binary, so that every suite shares the servers that [`servers`] starts. Declares
//! modules, holds nothing.

#![recursion_limit = "256"] // the futures of a database connection nest deeper than the default
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
#![expect(clippy::disallowed_methods, reason = "tests spawn what they kill")]

mod account_deletions;
mod accounts;
mod api_client;
mod audit;
mod binary;
mod broken_writes;
mod command_line;
mod conformance;
mod coverage;
mod deep_paging;
mod delivery;
mod explain;
mod fail_over;
mod fixture;
mod full_text;
mod graphql_api;
mod harness;
mod held;
mod invariant;
mod live;
mod redis_outage;
mod server_promises;
mod servers;
mod store_full;
mod store_sql;
mod store_wal;
mod targets;
mod upkeep;
mod worked_example;
