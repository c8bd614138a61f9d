//! The integration tests: one binary, so that every suite shares the servers that [`servers`] starts. Declares modules, holds nothing.

#![recursion_limit = "256"] // the futures of a database connection nest deeper than the default

mod graphql_api;
mod servers;
