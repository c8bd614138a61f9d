//! `tidefeed migrate`: brings the tables up to date, or says which migrations are missing.

use anyhow::Context;
use clap::Args;

use super::{completion::Completion, print};
use crate::{app::open_store, config::Config, store::Schema};

#[derive(Debug, Args)]
pub struct MigrateArguments {
    /// Only report pending migrations; exit code 1 if there are any.
    #[arg(long)]
    check: bool,
}

pub async fn run(arguments: &MigrateArguments, config: &Config) -> anyhow::Result<Completion> {
    let store = open_store(config).await?;
    let schema: &dyn Schema = &store;
    let pending = schema.pending().await.context("the pending migrations cannot be listed")?;
    if pending.is_empty() {
        print::line(format!("{}: the tables are up to date.", config.store.url))?;
        return Ok(Completion::Done);
    }
    if arguments.check {
        print::line(format!(
            "{}: {} migrations have not run. Run `tidefeed migrate` to apply:",
            config.store.url,
            pending.len()
        ))?;
        print::line(format!("  {}", pending.join("\n  ")))?;
        return Ok(Completion::ProblemsFound);
    }
    schema.migrate().await.context("the migrations cannot be applied; does the user own the database?")?;
    print::line(format!("{}: applied {}", config.store.url, pending.join(", ")))?;
    Ok(Completion::Done)
}
