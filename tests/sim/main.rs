//! The whole system in one process, by a manual clock, from a seed, each world on one thread: the real publisher,
//! commands, workers and reader over models of what they stand on. At every await another task may go on, or none;
//! whatever may fail fails. A naive oracle judges every page. docs/coverage.md says what is shown with it.

#![recursion_limit = "256"] // futures within futures
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the test")]
#![expect(clippy::match_bool, reason = "what breaks a rule stands beside what keeps it")]
#![expect(clippy::print_stdout, reason = "a long run tells how far it is")]
#![expect(clippy::disallowed_methods, reason = "a long run takes its size from the environment")]

mod audits;
mod campaign;
mod checks;
mod client;
mod device;
mod differential;
mod due;
mod fault_injector;
mod mutations;
mod notifications;
mod oracle;
mod outside_inboxes;
mod plan;
mod primary_store;
mod quiescence;
mod remembered_cards;
mod rng;
mod rules;
mod runner;
mod scheduler;
mod stories;
mod workload;
mod world;
