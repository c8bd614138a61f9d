//! Simulates the whole system in one process, with a manual clock and from a seed, each world on one thread. The
//! publisher, commands, workers and reader are the real ones, over models of their stores. At every await another task
//! may run, or none, and every operation that can fail may fail. A naive oracle checks every page. docs/coverage.md
//! says what the simulation shows.

#![recursion_limit = "256"] // futures within futures
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the test")]
#![expect(clippy::match_bool, reason = "what breaks a rule stands beside what keeps it")]
#![expect(clippy::print_stdout, reason = "a long run prints its progress")]
#![expect(clippy::disallowed_methods, reason = "a long run takes its size from the environment")]

mod audits;
mod campaign;
mod checks;
mod client;
mod device;
mod differential;
mod due;
mod fault_injector;
mod imports;
mod inbox_stores;
mod kept;
mod mutations;
mod notifications;
mod oracle;
mod outside_inboxes;
mod plan;
mod primary_store;
mod quiescence;
mod replicas;
mod rng;
mod rules;
mod runner;
mod scheduler;
mod stories;
mod workload;
mod world;
