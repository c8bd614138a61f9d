//! The outbox cache against a model: one author's outbox, whose changes and snapshots reach the cache in any order, or
//! several times, or never, while the cache itself is wiped or goes back in time.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, TestCaseError, TestRunner},
};
use redis::cmd;
use tidefeed::{
    domain::{ContentId, Entry, UserId},
    store::{OutboxCache, contents::OutboxHead, outbox_cache::OutboxChange},
};
use tokio::runtime::Handle;

use super::places::Backdoor;

/// What may happen. Indices are taken modulo what there is.
#[derive(Debug, Clone)]
enum Step {
    /// A content is published at this time, which may be older than what is there; `told`: the cache hears of it at once.
    Publish { time: i64, id: i64, told: bool },
    /// A content goes.
    Remove { index: usize, told: bool },
    /// The cache hears of some change, new or old.
    Tell { index: usize },
    /// The cache is filled from now.
    Fill { limit: usize },
    /// The cache is filled from some earlier snapshot.
    FillLate { index: usize, limit: usize },
    /// The server loses the outbox.
    Wipe,
    /// The server writes a dump.
    Dump,
    /// The server is restored from its last dump.
    Restore,
}

fn step() -> impl Strategy<Value = Step> {
    // Few times and few ids: ties and late commits are common.
    let publish = (0..12_i64, 1..1_000_i64, prop::bool::weighted(0.8));
    prop_oneof![
        8 => publish.prop_map(|(time, id, told)| Step::Publish { time, id, told }),
        4 => (any::<usize>(), prop::bool::weighted(0.8)).prop_map(|(index, told)| Step::Remove { index, told }),
        2 => any::<usize>().prop_map(|index| Step::Tell { index }),
        4 => (0..7_usize).prop_map(|limit| Step::Fill { limit }),
        1 => (any::<usize>(), 0..7_usize).prop_map(|(index, limit)| Step::FillLate { index, limit }),
        1 => Just(Step::Wipe),
        1 => Just(Step::Dump),
        2 => Just(Step::Restore),
    ]
}

/// The truth: what the outbox was after each change.
struct Model {
    author: UserId,
    /// Newest first; the place in the list is the outbox number.
    states: Vec<Vec<Entry>>,
    changes: Vec<OutboxChange>,
}

impl Model {
    fn change(&mut self, change: OutboxChange) {
        let mut entries = self.states.last().cloned().unwrap_or_default();
        match change {
            OutboxChange::Published(entry) => entries.push(entry),
            OutboxChange::Removed(entry) => entries.retain(|kept| *kept != entry),
        }
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.position()));
        self.states.push(entries);
        self.changes.push(change);
    }

    fn publish(&mut self, time: i64, id: i64) -> Result<bool> {
        let content = ContentId::try_new(id)?;
        let used = self.changes.iter().any(|change| change.entry().content == content);
        if !used {
            self.change(OutboxChange::Published(Entry { publish_time: time, content, author: self.author }));
        }
        Ok(!used)
    }

    fn remove(&mut self, index: usize) -> bool {
        let entries = self.states.last().map(Vec::as_slice).unwrap_or_default();
        let Some(entry) = entries.get(index % entries.len().max(1)).copied() else { return false };
        self.change(OutboxChange::Removed(entry));
        true
    }

    fn head(&self, state: usize, limit: usize) -> Result<OutboxHead> {
        let all = &self.states[state];
        let entries = all.iter().take(limit).copied().collect();
        Ok(OutboxHead { author: self.author, outbox_seq: i64::try_from(state)?, entries, whole: all.len() <= limit })
    }
}

struct World {
    cache: Arc<dyn OutboxCache>,
    backdoor: Option<(Backdoor, String)>,
    dump: Option<Vec<u8>>,
    model: Model,
    /// How often the cache knew the outbox at its present number.
    hits: u32,
}

impl World {
    async fn step(&mut self, step: &Step) -> Result<()> {
        let latest = self.model.states.len() - 1;
        match *step {
            Step::Publish { time, id, told } => {
                if self.model.publish(time, id)? && told {
                    self.tell(latest).await?;
                }
            }
            Step::Remove { index, told } => {
                if self.model.remove(index) && told {
                    self.tell(latest).await?;
                }
            }
            Step::Tell { index } => self.tell(index % latest.max(1)).await?,
            Step::Fill { limit } => self.cache.fill(&[self.model.head(latest, limit)?]).await?,
            Step::FillLate { index, limit } => {
                self.cache.fill(&[self.model.head(index % (latest + 1), limit)?]).await?;
            }
            Step::Wipe => self.wipe().await?,
            Step::Dump => self.write_dump().await?,
            Step::Restore => self.restore().await?,
        }
        self.check().await
    }

    /// Change number `index` + 1.
    async fn tell(&self, index: usize) -> Result<()> {
        let Some(change) = self.model.changes.get(index) else { return Ok(()) };
        Ok(self.cache.apply(self.model.author, i64::try_from(index)? + 1, *change).await?)
    }

    async fn wipe(&self) -> Result<()> {
        if let Some((backdoor, key)) = &self.backdoor {
            backdoor.run::<()>(cmd("DEL").arg(key)).await?;
        }
        Ok(())
    }

    async fn write_dump(&mut self) -> Result<()> {
        if let Some((backdoor, key)) = &self.backdoor {
            self.dump = backdoor.run(cmd("DUMP").arg(key)).await?;
        }
        Ok(())
    }

    async fn restore(&self) -> Result<()> {
        if let (Some((backdoor, key)), Some(dump)) = (&self.backdoor, &self.dump) {
            backdoor.run::<()>(cmd("RESTORE").arg(key).arg(0).arg(dump.as_slice()).arg("REPLACE")).await?;
        }
        Ok(())
    }

    /// The cache may know nothing; what it knows was true at the number that it names.
    async fn check(&mut self) -> Result<()> {
        let Some(found) = self.cache.fetch(&[self.model.author]).await?.remove(0) else { return Ok(()) };
        let truth = self.model.states.get(usize::try_from(found.outbox_seq)?).context("a number from the future")?;
        let complete = |entry: &&Entry| entry.position() >= found.complete_from;
        let expected: Vec<&Entry> = truth.iter().filter(complete).collect();
        let claimed: Vec<&Entry> = found.entries.iter().filter(complete).collect();
        anyhow::ensure!(claimed == expected, "{found:?} is not {truth:?}");
        anyhow::ensure!(found.entries.is_sorted_by_key(|entry| std::cmp::Reverse(entry.position())), "{found:?}");
        anyhow::ensure!(found.entries.len() <= self.cache.capacity(), "{found:?}");
        self.hits += u32::from(usize::try_from(found.outbox_seq)? == self.model.states.len() - 1);
        Ok(())
    }
}

/// Runs `cases` random histories of author 1 against `cache`; `backdoor` is the server and the key of that outbox.
pub async fn run(cases: u32, cache: Arc<dyn OutboxCache>, backdoor: Option<(Backdoor, String)>) -> Result<()> {
    let runtime = Handle::current();
    let hits = tokio::task::spawn_blocking(move || run_cases(cases, &cache, backdoor.as_ref(), &runtime)).await??;
    // Otherwise nothing was tried: a cache that always misses is not wrong.
    anyhow::ensure!(hits > 5 * cases, "only {hits} hits");
    Ok(())
}

fn run_cases(
    cases: u32,
    cache: &Arc<dyn OutboxCache>,
    backdoor: Option<&(Backdoor, String)>,
    runtime: &Handle,
) -> Result<u32> {
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let hits = std::cell::Cell::new(0);
    // Each case has a cache without memory of the case before: numbers begin anew.
    let result = runner.run(&vec(step(), 1..60), |steps| {
        let seen = runtime.block_on(one_history(cache, backdoor, &steps));
        let seen = seen.map_err(|error| TestCaseError::fail(format!("{error:#}")))?;
        hits.set(hits.get() + seen);
        Ok(())
    });
    result.map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok(hits.get())
}

async fn one_history(
    cache: &Arc<dyn OutboxCache>,
    backdoor: Option<&(Backdoor, String)>,
    steps: &[Step],
) -> Result<u32> {
    let model = Model { author: UserId::try_new(1)?, states: vec![Vec::new()], changes: Vec::new() };
    let mut world = World { cache: Arc::clone(cache), backdoor: backdoor.cloned(), dump: None, model, hits: 0 };
    forget(&world).await?;
    for step in steps {
        world.step(step).await?;
    }
    Ok(world.hits)
}

/// Evicts as the port allows: a change far ahead of anything cached.
async fn forget(world: &World) -> Result<()> {
    let entry = Entry { publish_time: 1, content: ContentId::try_new(1)?, author: world.model.author };
    Ok(world.cache.apply(world.model.author, 1 << 40, OutboxChange::Removed(entry)).await?)
}
