//! The service among real servers that fail: nodes as processes, clients that judge every page, faults from outside.
//! One run a combination.

#![recursion_limit = "256"] // the futures of a database connection nest deeper than the default
#![expect(clippy::disallowed_methods, reason = "tests spawn what they kill, and take their size from the environment")]

mod api;
mod checker;
mod clients;
mod combinations;
mod device;
mod disk;
mod faults;
mod history;
mod place;
mod proxy;
mod run;
mod sabotage;

#[path = "../it/binary/mod.rs"]
#[expect(dead_code, reason = "tests of the command line use the rest")]
mod binary;
#[path = "../it/coverage.rs"]
mod coverage;
#[path = "../it/servers/mod.rs"]
#[expect(dead_code, unused_macros, unused_imports, reason = "the integration tests use the rest")]
mod servers;
