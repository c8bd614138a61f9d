//! The service among real servers that fail: nodes as processes, clients that judge every page, faults from outside.
//! One run for each combination.

#![recursion_limit = "256"] // the futures of a database connection nest deeper than the default
#![expect(clippy::disallowed_methods, reason = "tests spawn what they kill, and take their size from the environment")]

mod api;
mod cassandra;
mod cassandra_faults;
mod cassandra_nodes;
mod checker;
mod clients;
mod cluster_lines;
mod combinations;
mod damage;
mod deployment;
mod device;
mod disk;
mod faults;
mod history;
mod master_faults;
mod moves;
mod product;
mod proxy;
mod replica;
mod run;

use support::{binary, coverage, harness, outside_world, servers};
