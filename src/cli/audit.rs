//! `tidefeed audit`: checks every timeline against its definition and every counter against its rows, reports
//! differences with their cause, and repairs them.

use anyhow::{Context, bail};
use clap::{Args, value_parser};
use indicatif::{ProgressBar, ProgressStyle};

use super::{completion::Completion, print};
use crate::{
    ambient::Ambient,
    app::open_auditor,
    config::Config,
    domain::{Handle, PageSize, UserId},
    lifecycle::Lifecycle,
    store::{
        Accounts, CounterAudits, StoreError,
        audits::{Counted, Miscount, Recount},
    },
    upkeep::{AuditOptions, Auditor, Finding},
};

/// Readers looked up at a time.
const AT_ONCE: u64 = 500;
/// What an audit of every reader has looked at where none has an inbox.
const NO_INBOXES: &str = "No reader has an inbox yet, so no timeline could be wrong: pages are read from the authors' outboxes. An inbox comes \
                          with a reader's first visit.";
const REPAIRED: &str = "They are repaired. A wrong timeline or counter is a defect of Tidefeed or of the servers' storage: report it with \
                        the lines above.";
const NOT_REPAIRED: &str = "Run `tidefeed audit` without --no-repair to repair them.";

#[derive(Debug, Args)]
pub struct AuditArguments {
    /// Audit only this reader; can be repeated. Without it, every reader with an inbox is audited, and all counters.
    #[arg(long = "reader", value_name = "HANDLE")]
    readers: Vec<String>,
    /// Stop after this many readers, and leave the counters out.
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// How many pages of each reader to compare, from the newest on.
    #[arg(long, default_value_t = 20, value_parser = value_parser!(u32).range(1..=1_000_000))]
    pages: u32,
    /// Entries of a page.
    #[arg(long, default_value_t = 100, value_parser = value_parser!(i64).range(1..=100))]
    size: i64,
    /// Report differences without repairing them.
    #[arg(long)]
    no_repair: bool,
}

/// What has been found so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    readers: u64,
    pages: u64,
    wrong: u64,
    /// Contents and users whose counters were compared.
    counted: u64,
    miscounts: u64,
}

/// Exit code 1 if there was a difference, repaired or not.
pub async fn run(arguments: AuditArguments, config: &Config) -> anyhow::Result<Completion> {
    let lifecycle = Lifecycle::new();
    lifecycle.watch_signals(std::time::Duration::ZERO).context("signals cannot be watched")?;
    let options = AuditOptions {
        pages: arguments.pages,
        size: PageSize::try_new(arguments.size)?,
        repair: !arguments.no_repair,
        step: config.inbox.extend_step,
    };
    let (auditor, store) = open_auditor(config, options, &lifecycle, &Ambient::of_system()).await?;
    let named = named(&arguments.readers, &store).await?;
    let (tally, interrupted) = if arguments.readers.is_empty() {
        audit_everybody((&auditor, &store), arguments.limit, options.repair, &lifecycle).await?
    } else {
        let mut tally = Tally::default();
        for reader in named {
            tally.add(&auditor, reader, &ProgressBar::hidden()).await?;
        }
        (tally, false)
    };
    print_tally(&tally, interrupted)?;
    if tally.wrong + tally.miscounts > 0 {
        print::line(if options.repair { REPAIRED } else { NOT_REPAIRED })?;
    }
    if arguments.readers.is_empty() && arguments.limit.is_none() && !interrupted && tally.readers == 0 {
        print::line(NO_INBOXES)?;
    }
    Ok(completion(&tally, interrupted))
}

/// Compares every timeline, and then all counters; or the timelines of `limit` readers. A signal ends it, and is
/// reported beside what was found before.
pub(super) async fn audit_everybody(
    (auditor, store): (&Auditor, &impl CounterAudits),
    limit: Option<u64>,
    repair: bool,
    lifecycle: &Lifecycle,
) -> anyhow::Result<(Tally, bool)> {
    let (mut tally, mut interrupted) = audit_all(auditor, limit, lifecycle).await?;
    if limit.is_none() && !interrupted {
        interrupted = audit_counters(store, repair, &mut tally, lifecycle).await?;
    }
    Ok((tally, interrupted))
}

/// How a command ends that has audited.
pub(super) const fn completion(tally: &Tally, interrupted: bool) -> Completion {
    match (interrupted, tally.wrong + tally.miscounts) {
        (true, _) => Completion::Interrupted,
        (false, 0) => Completion::Done,
        (false, _) => Completion::ProblemsFound,
    }
}

async fn named(handles: &[String], accounts: &impl Accounts) -> anyhow::Result<Vec<UserId>> {
    let mut readers = Vec::new();
    for text in handles {
        let handle = Handle::try_new(text.trim_start_matches('@')).with_context(|| format!("--reader {text}"))?;
        match accounts.by_handle(&handle).await.context("the reader cannot be looked up")? {
            Some(profile) => readers.push(profile.id),
            None => bail!("--reader {text}: there is no user with this handle"),
        }
    }
    Ok(readers)
}

/// Audits every reader, or `limit` of them. A signal ends it between two readers.
async fn audit_all(auditor: &Auditor, limit: Option<u64>, lifecycle: &Lifecycle) -> anyhow::Result<(Tally, bool)> {
    let bar = bar(limit);
    let (mut tally, mut after) = (Tally::default(), 0);
    loop {
        let left = limit.map_or(AT_ONCE, |limit| AT_ONCE.min(limit.saturating_sub(tally.readers)));
        let readers = if left == 0 { Vec::new() } else { auditor.readers(after, left).await? };
        let Some(last) = readers.last() else {
            bar.finish_and_clear();
            return Ok((tally, false));
        };
        after = last.get();
        for reader in readers {
            if lifecycle.draining().is_cancelled() {
                bar.finish_and_clear();
                return Ok((tally, true));
            }
            tally.add(auditor, reader, &bar).await?;
        }
    }
}

/// Compares all counters with their rows. A signal ends it between two statements; returns whether one did.
async fn audit_counters(
    store: &impl CounterAudits,
    repair: bool,
    tally: &mut Tally,
    lifecycle: &Lifecycle,
) -> anyhow::Result<bool> {
    for of_users in [false, true] {
        let mut after = 0;
        loop {
            if lifecycle.draining().is_cancelled() {
                return Ok(true);
            }
            let recount = next_recount(store, of_users, after).await.context("the counters cannot be audited")?;
            tally.counted += recount.looked_at;
            for miscount in &recount.miscounts {
                tally.miscounts += 1;
                if repair {
                    store.correct(miscount.of).await.context("a counter cannot be corrected")?;
                }
                print::line(description_of_miscount(miscount, repair))?;
            }
            match recount.last {
                Some(last) => after = last,
                None => break,
            }
        }
    }
    Ok(false)
}

async fn next_recount(store: &impl CounterAudits, of_users: bool, after: i64) -> Result<Recount, StoreError> {
    if of_users { store.recount_users(after, AT_ONCE).await } else { store.recount_contents(after, AT_ONCE).await }
}

fn description_of_miscount(miscount: &Miscount, repaired: bool) -> String {
    let Miscount { of, counter, kept, rows } = miscount;
    let whose = match of {
        Counted::Content(content) => format!("content {content}"),
        Counted::User(user) => format!("user {user}"),
    };
    let end = if repaired { "repaired" } else { "left as it is (--no-repair)" };
    format!("WRONG {whose}: {counter} says {kept}, and there are {rows}\n      -> {end}")
}

fn bar(limit: Option<u64>) -> ProgressBar {
    let (bar, template) = match limit {
        Some(limit) => (ProgressBar::new(limit), "auditing {wide_bar} {pos}/{len} readers {msg} {eta:>4}"),
        None => (ProgressBar::new_spinner(), "auditing {spinner} {pos} readers {msg} {elapsed:>4}"),
    };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

impl Tally {
    async fn add(&mut self, auditor: &Auditor, reader: UserId, bar: &ProgressBar) -> anyhow::Result<()> {
        let audit = auditor.audit(reader).await.with_context(|| format!("reader {reader} cannot be audited"))?;
        self.readers += 1;
        self.pages += u64::from(audit.pages);
        if let Some(finding) = &audit.finding {
            self.wrong += 1;
            bar.suspend(|| print::line(description(finding)))?;
        }
        bar.set_position(self.readers);
        bar.set_message(format!("{} pages, {} wrong", self.pages, self.wrong));
        Ok(())
    }
}

/// Describes one wrong timeline.
fn description(finding: &Finding) -> String {
    let mut lines = vec![format!("WRONG reader {}: {}", finding.reader, finding.cause.name())];
    lines.extend(finding.flaws.iter().map(|flaw| {
        let (what, entry) = (flaw.cause.name(), flaw.entry);
        format!("{what}: content {} of author {} at {}", entry.content, entry.author, entry.publish_time)
    }));
    lines.extend(finding.difference.as_ref().map(|difference| {
        let order = if difference.disorder { ", is out of order" } else { "" };
        let end = if difference.wrong_end { ", and is wrong about whether more entries follow" } else { "" };
        let (missing, surplus) = (difference.missing.len(), difference.surplus.len());
        format!("a page misses {missing} entries and has {surplus} too many{order}{end}")
    }));
    let end = if finding.repaired { "-> repaired" } else { "-> left as it is (--no-repair)" };
    lines.push(end.to_owned());
    lines.join("\n      ")
}

pub(super) fn print_tally(tally: &Tally, interrupted: bool) -> anyhow::Result<()> {
    let Tally { readers, pages, wrong, counted, miscounts } = tally;
    let how = if interrupted { "Interrupted after" } else { "Audited" };
    print::line(format!("{how} {readers} readers, {pages} pages: {wrong} timelines wrong"))?;
    if *counted > 0 {
        print::line(format!("Counted again for {counted} contents and users: {miscounts} counters wrong"))?;
    }
    Ok(())
}
