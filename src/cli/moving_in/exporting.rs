//! `tidefeed export`: writes all that a product may take with it into a file of its own form.

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use ::import::{
    report::Report,
    sort::{RUN_BYTES, Sorter},
};
use anyhow::Context as _;
use clap::Args;
use tokio::task::spawn_blocking;

use super::{
    ended,
    target::Target,
    work::{self, Stop, Work},
};
use crate::{app::open_exporter, cli::completion::Completion, config::Config, lifecycle::Lifecycle};

/// What is to be exported, and where to.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// The new file, which must not exist and which only you may read; - is standard output.
    #[arg(long, value_name = "PATH")]
    to: PathBuf,
}

/// Exit codes: 0, or 1 if it could not go on; then there is no file.
pub async fn run(arguments: &ExportArguments, config: &Config) -> anyhow::Result<Completion> {
    let lifecycle = Lifecycle::new();
    lifecycle.watch_signals(Duration::ZERO).context("signals cannot be watched")?;
    let draining = lifecycle.draining();
    let target = Target::of(&arguments.to)?;
    let exporter = open_exporter(config).await?;
    let stop = Stop::default();
    let mut work = Work::new(Arc::clone(&stop), i64::MAX);
    let mut sorter = Sorter::new(target.folder(), RUN_BYTES);
    let mut report = Report::new(io::sink());
    let mut take = |record: ::import::record::Record, number| {
        sorter.push_numbered(&record, number)?;
        report.summary.count(record.kind());
        report.summary.lines += 1;
        work.reached("Read", sorter.lines(), (0, None))
    };
    tokio::select! {
        read = exporter.each(&mut take) => read.context("the store cannot be read to its end")?,
        () = draining.cancelled() => return Ok(Completion::Interrupted),
    }
    let written = spawn_blocking(move || {
        work::write(sorter, target, &mut work)?;
        work::end("Exported", report)
    });
    ended(&lifecycle, &stop, written).await
}
