//! Tests the binary as people run it: what it prints, what it changes, and the exit codes that scripts rely on.

mod apart;
mod audit;
mod backup;
mod configuration;
mod exporting;
mod full;
mod health;
mod inbox;
mod loading;
mod logs;
mod moving_in;
mod node;
mod overload;
mod plan;
mod redis_rights;
mod seeding;
mod service;
mod tables;
mod to_tidb;
mod transport;

use crate::binary::{CommandLine, Ended, process};
