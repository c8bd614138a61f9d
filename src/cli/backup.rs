//! `tidefeed backup check`: says whether a restored backup would serve exact pages. Changes nothing in it.
//!
//! It asks SQL alone. Redis and Cassandra belong to the nodes in production, and know nothing of the backup.

use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand, value_parser};

use super::{
    audit::{audit_everybody, completion, print_tally},
    completion::Completion,
    doctor::{self, line, tables},
    print,
};
use crate::{
    ambient::Ambient,
    app::{open_auditor, open_store},
    config::{Config, InboxPlace, Millis},
    domain::{PageSize, limits::INBOX_BUCKETS},
    lifecycle::Lifecycle,
    store::{
        Inspect as _, OutsideStates, Schema as _, StoreError,
        inspection::{Finding, Verdict},
    },
    upkeep::AuditOptions,
};

/// How long a statement over a whole table may take.
const STATEMENT_MS: u32 = 24 * 60 * 60 * 1_000;
/// Entries of a compared page.
const PAGE: i64 = 100;

#[derive(Debug, Args)]
pub struct BackupArguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Check the restored backup that store.url names: its tables and rows, and every timeline and counter, as
    /// `tidefeed audit --no-repair` does. Asks neither Redis nor Cassandra, and changes nothing.
    Check {
        /// Stop after this many readers, and leave the counters out.
        #[arg(long, value_name = "N")]
        limit: Option<u64>,
        /// How many pages of each reader to compare, from the newest on.
        #[arg(long, default_value_t = 20, value_parser = value_parser!(u32).range(1..=1_000_000))]
        pages: u32,
    },
}

/// Exit code 1 if the backup would not serve exact pages as it is.
pub async fn run(arguments: &BackupArguments, config: &Config) -> anyhow::Result<Completion> {
    let Action::Check { limit, pages } = arguments.action;
    if let Some(file) = config.store.url.sqlite_file().filter(|file| !file.exists()) {
        bail!("there is no file {}: store.url has to name the restored backup", file.display());
    }
    let config = of_sql_alone(config);
    let ambient = Ambient::of_system();
    print::line(format!("Checking {}.", config.store.url))?;
    if !is_whole(&config, &ambient).await? {
        print::line("This backup cannot be used as it is.")?;
        return Ok(Completion::ProblemsFound);
    }
    let lifecycle = Lifecycle::new();
    lifecycle.watch_signals(Duration::ZERO).context("signals cannot be watched")?;
    let options = AuditOptions { pages, size: PageSize::try_new(PAGE)?, repair: false, step: config.inbox.extend_step };
    let (auditor, store) = open_auditor(&config, options, &lifecycle, &ambient).await?;
    let (tally, interrupted) = audit_everybody((&auditor, &store), limit, false, &lifecycle).await?;
    print_tally(&tally, interrupted)?;
    let completion = completion(&tally, interrupted);
    match completion {
        Completion::Done if limit.is_some() => print::line("The timelines that were compared are exact.")?,
        Completion::Done => print::line("This backup would serve exact pages.")?,
        Completion::ProblemsFound => print::line(
            "This backup is not of one moment, or has lost rows. Restore another one; or repair this one with `tidefeed audit`.",
        )?,
        Completion::SomeRefused | Completion::Interrupted => {}
    }
    Ok(completion)
}

/// The configuration without the servers beside SQL, and with time for statements over whole tables.
fn of_sql_alone(config: &Config) -> Config {
    let mut alone = config.clone();
    alone.redis.urls.clear();
    alone.inbox.store = InboxPlace::Sql;
    alone.store.statement_timeout_ms = Millis::new(STATEMENT_MS);
    alone
}

/// Prints what was found of its tables and rows; whether an audit may follow.
async fn is_whole(config: &Config, ambient: &Ambient) -> anyhow::Result<bool> {
    let store = open_store(config).await?;
    let tables = tables(store.pending().await);
    let are_current = tables.verdict == Verdict::Fine;
    let mut findings = vec![secret(config), tables];
    if are_current {
        findings.extend(store.inspect_backup(ambient.now_ms()).await);
        findings.extend(outside(store.tokens().await.map(|tokens| tokens.len())));
    }
    for finding in &findings {
        print::line(line(finding))?;
    }
    store.close().await?;
    Ok(findings.iter().all(|finding| finding.verdict != Verdict::Broken))
}

/// Of a backup of a SQLite file, the secret beside it belongs to it.
fn secret(config: &Config) -> Finding {
    let beside = config.store.url.sqlite_file().map(|file| file.with_file_name("secret"));
    match beside.filter(|secret| config.auth.secret.is_empty() && !secret.exists()) {
        Some(secret) => Finding::doubtful(
            "secret",
            format!(
                "there is no file {}: a node would make another secret, and refuse all access tokens",
                secret.display()
            ),
            "keep the file `secret`, which lies beside the database, with every backup; or set auth.secret",
        ),
        None => doctor::secret(config),
    }
}

/// What to do before nodes believe inboxes outside SQL again: those may know what the backup does not.
fn outside(admitted: Result<usize, StoreError>) -> Option<Finding> {
    match admitted {
        Ok(0) => None,
        Ok(admitted) => Some(Finding::doubtful(
            "inboxes",
            format!("{admitted} of {INBOX_BUCKETS} inbox buckets lie in Redis or Cassandra"),
            "run `tidefeed inbox renew` when this backup is put back, before a node starts",
        )),
        Err(error) => Some(Finding::broken("inboxes", error.with_causes(), "restore another backup")),
    }
}
