//! `make bench`: prints what a tidefeed binary costs, as ratios to limits and peers that run in the same minute.
//!
//! One process generates the load on one thread. The servers are separate processes, so `/proc` gives the cost of
//! each.

mod bare;
mod cassandra;
mod client;
mod costs;
mod database;
mod figure;
mod load;
mod memories;
mod metrics;
mod node;
mod options;
mod people;
mod postgraphile;
mod processes;
mod rounds;
mod rows;
mod scratch;
mod servers;
mod site;
mod socket;
mod world;

use anyhow::Result;
use clap::Parser as _;

use self::options::{Command, Options};

fn main() -> Result<()> {
    let options = Options::parse();
    match &options.command {
        Some(Command::Bare { listen, answer, event }) => tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?
            .block_on(bare::serve(*listen, answer, event)),
        Some(Command::Costs { into, day, commit }) => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?
            .block_on(costs::write(&options, into, (day, commit))),
        None => tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(rows::run(&options)),
    }
}
