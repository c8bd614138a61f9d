//! Parses the command line.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Parser, Subcommand};

/// Measures a tidefeed binary.
#[derive(Debug, Clone, Parser)]
pub struct Options {
    /// The binary to measure.
    #[arg(long)]
    pub tidefeed: PathBuf,
    /// Rows to measure, by name or by a prefix of it. Default: all rows.
    #[arg(long, value_delimiter = ',')]
    pub row: Vec<String>,
    /// Users of the worlds.
    #[arg(long)]
    pub users: Option<u64>,
    /// Subscribers of the row `crowd`.
    #[arg(long)]
    pub subscribers: Option<usize>,
    /// Contents, follows and reactions of the file of the row `import`, each.
    #[arg(long)]
    pub imported: Option<usize>,
    /// Rounds of A and B in turn.
    #[arg(long)]
    pub rounds: Option<usize>,
    /// Length of each side of a round, in milliseconds.
    #[arg(long)]
    pub milliseconds: Option<u64>,
    /// Uses a small world and very short rounds to check that every row runs. The figures mean nothing.
    #[arg(long)]
    pub quick: bool,
    /// Seeds new worlds even if those of an earlier run exist.
    #[arg(long)]
    pub fresh: bool,
    /// Prints the names of all rows.
    #[arg(long)]
    pub list: bool,
    /// Folder for worlds and their copies, on the disk to be measured.
    #[arg(long, default_value = "target/bench")]
    pub folder: PathBuf,
    /// Runs another command instead of the table.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Commands besides the table.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Serves the same bytes to everybody, to measure the cost of HTTP alone. The table starts it.
    #[command(hide = true)]
    Bare {
        /// Address to listen on.
        #[arg(long)]
        listen: SocketAddr,
        /// A file with the body of each answer.
        #[arg(long)]
        answer: PathBuf,
        /// A file with the text of each event.
        #[arg(long)]
        event: PathBuf,
    },
    /// Measures what one of each operation costs, for `tidefeed plan`.
    Costs {
        /// The JSON file to write.
        into: PathBuf,
        /// Today.
        #[arg(long)]
        day: String,
        /// What is measured.
        #[arg(long)]
        commit: String,
    },
}

impl Options {
    /// People of each world.
    pub fn users(&self) -> u64 {
        self.users.unwrap_or(if self.quick { 300 } else { 100_000 })
    }

    /// Number of rounds of A and B.
    pub fn rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.quick { 1 } else { 5 }).max(1)
    }

    /// Length of each side of a round.
    pub fn length(&self) -> Duration {
        Duration::from_millis(self.milliseconds.unwrap_or(if self.quick { 150 } else { 2_000 }))
    }

    /// `full`, or `quick` with `--quick`.
    pub const fn size(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }
}
