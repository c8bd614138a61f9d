//! Compares the outbox cache with a model of one author's outbox. Its changes and snapshots reach the cache in any
//! order, several times or never, while the cache is wiped or restored to an old state, and SQL loses commits.

use std::{collections::HashMap, sync::Arc};

use anyhow::{Context as _, Result};
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner},
};
use redis::cmd;
use tidefeed::{
    domain::{ContentId, Entry, UserId},
    store::{
        OutboxCache,
        contents::{OutboxHead, VersionChange},
        outbox_cache::OutboxChange,
    },
};
use tokio::runtime::Handle;

use super::adapters::RawConnection;

/// A step of a history. Indices are taken modulo the number of elements.
#[derive(Debug, Clone)]
enum Step {
    /// A content is published at this time, which may be older than existing ones; `notified`: the cache is notified
    /// at once.
    Publish { time: i64, id: i64, notified: bool },
    /// A content is removed.
    Remove { index: usize, notified: bool },
    /// The cache is notified of some change, new or old.
    Apply { index: usize },
    /// The cache is filled with the present state.
    Fill { limit: usize },
    /// The cache is filled from some earlier snapshot.
    FillLate { index: usize, limit: usize },
    /// SQL loses its last commits, and continues from there.
    FailOver { lost: usize },
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
        8 => publish.prop_map(|(time, id, notified)| Step::Publish { time, id, notified }),
        4 => (any::<usize>(), prop::bool::weighted(0.8)).prop_map(|(index, notified)| Step::Remove { index, notified }),
        2 => any::<usize>().prop_map(|index| Step::Apply { index }),
        4 => (0..7_usize).prop_map(|limit| Step::Fill { limit }),
        1 => (any::<usize>(), 0..7_usize).prop_map(|(index, limit)| Step::FillLate { index, limit }),
        1 => (1..4_usize).prop_map(|lost| Step::FailOver { lost }),
        1 => Just(Step::Wipe),
        1 => Just(Step::Dump),
        2 => Just(Step::Restore),
    ]
}

/// The outbox at each of its versions.
struct Model {
    author: UserId,
    /// The present and the past versions, oldest first, without those that SQL lost.
    versions: Vec<i64>,
    /// The entries at every version that ever existed, newest first.
    states: HashMap<i64, Vec<Entry>>,
    /// Every change that ever happened.
    changes: Vec<(VersionChange, OutboxChange)>,
}

impl Model {
    fn new() -> Result<Self> {
        let (versions, states) = (vec![0], HashMap::from([(0, Vec::new())]));
        Ok(Self { author: UserId::try_new(1)?, versions, states, changes: Vec::new() })
    }

    fn latest(&self) -> i64 {
        self.versions.last().copied().unwrap_or_default()
    }

    fn entries(&self) -> &[Entry] {
        &self.states[&self.latest()]
    }

    /// A version that was never drawn before: multiplying by an odd number repeats nothing within 63 bits.
    fn draw(&self) -> Result<i64> {
        Ok((i64::try_from(self.changes.len())? + 1).wrapping_mul(0x1E37_79B9_7F4A_7C15) & i64::MAX)
    }

    fn change(&mut self, change: OutboxChange) -> Result<()> {
        let mut entries = self.entries().to_vec();
        match change {
            OutboxChange::Published(entry) => entries.push(entry),
            OutboxChange::Removed(entry) => entries.retain(|kept| *kept != entry),
        }
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.position()));
        let versions = VersionChange { before: self.latest(), after: self.draw()? };
        anyhow::ensure!(self.states.insert(versions.after, entries).is_none(), "a version was drawn twice");
        self.versions.push(versions.after);
        self.changes.push((versions, change));
        Ok(())
    }

    fn publish(&mut self, time: i64, id: i64) -> Result<bool> {
        let content = ContentId::try_new(id)?;
        let used = self.changes.iter().any(|(_, change)| change.entry().content == content);
        if !used {
            self.change(OutboxChange::Published(Entry { publish_time: time, content, author: self.author }))?;
        }
        Ok(!used)
    }

    fn remove(&mut self, index: usize) -> Result<bool> {
        let entries = self.entries();
        let Some(entry) = entries.get(index % entries.len().max(1)).copied() else { return Ok(false) };
        self.change(OutboxChange::Removed(entry))?;
        Ok(true)
    }

    fn fail_over(&mut self, lost: usize) {
        self.versions.truncate(self.versions.len().saturating_sub(lost).max(1));
    }

    fn head(&self, version: i64, limit: usize) -> OutboxHead {
        let all = &self.states[&version];
        let entries = all.iter().take(limit).copied().collect();
        OutboxHead { author: self.author, version, entries, whole: all.len() <= limit }
    }
}

struct World {
    cache: Arc<dyn OutboxCache>,
    /// The server of the cache, and the key of that outbox.
    raw: (RawConnection, String),
    dump: Option<Vec<u8>>,
    model: Model,
    /// How often the cache knew the outbox at its present version.
    hits: u32,
}

impl World {
    async fn step(&mut self, step: &Step) -> Result<()> {
        match *step {
            Step::Publish { time, id, notified } => {
                if self.model.publish(time, id)? && notified {
                    self.apply_change(self.model.changes.len() - 1).await?;
                }
            }
            Step::Remove { index, notified } => {
                if self.model.remove(index)? && notified {
                    self.apply_change(self.model.changes.len() - 1).await?;
                }
            }
            Step::Apply { index } => self.apply_change(index % self.model.changes.len().max(1)).await?,
            Step::Fill { limit } => self.cache.fill(&[self.model.head(self.model.latest(), limit)]).await?,
            Step::FillLate { index, limit } => {
                let version = self.model.versions[index % self.model.versions.len()];
                self.cache.fill(&[self.model.head(version, limit)]).await?;
            }
            Step::FailOver { lost } => self.model.fail_over(lost),
            Step::Wipe => self.wipe().await?,
            Step::Dump => self.write_dump().await?,
            Step::Restore => self.restore().await?,
        }
        self.check().await
    }

    async fn apply_change(&self, index: usize) -> Result<()> {
        let Some((versions, change)) = self.model.changes.get(index) else { return Ok(()) };
        Ok(self.cache.apply(self.model.author, *versions, *change).await?)
    }

    async fn wipe(&self) -> Result<()> {
        let (raw, key) = &self.raw;
        raw.run(cmd("DEL").arg(key)).await
    }

    async fn write_dump(&mut self) -> Result<()> {
        let (raw, key) = &self.raw;
        self.dump = raw.run(cmd("DUMP").arg(key)).await?;
        Ok(())
    }

    async fn restore(&self) -> Result<()> {
        let Some(dump) = &self.dump else { return Ok(()) };
        let (raw, key) = &self.raw;
        raw.run(cmd("RESTORE").arg(key).arg(0).arg(dump.as_slice()).arg("REPLACE")).await
    }

    /// The cache may have no outbox; otherwise it must be right at its version.
    async fn check(&mut self) -> Result<()> {
        let Some(found) = self.cache.fetch(&[self.model.author]).await?.remove(0) else { return Ok(()) };
        let recorded = self.model.states.get(&found.version).context("a version that nobody drew")?;
        let complete = |entry: &&Entry| entry.position() >= found.complete_from;
        let expected: Vec<&Entry> = recorded.iter().filter(complete).collect();
        let claimed: Vec<&Entry> = found.entries.iter().filter(complete).collect();
        anyhow::ensure!(claimed == expected, "{found:?} is not {recorded:?}");
        anyhow::ensure!(found.entries.is_sorted_by_key(|entry| std::cmp::Reverse(entry.position())), "{found:?}");
        anyhow::ensure!(found.entries.len() <= self.cache.capacity(), "{found:?}");
        self.hits += u32::from(found.version == self.model.latest());
        Ok(())
    }
}

/// Histories that are equal in every run.
const KNOWN: u32 = 24;

/// Runs `cases` random histories of author 1 against `cache`, and some known ones; `raw` is the server and the
/// key of that outbox.
pub async fn run(cases: u32, cache: Arc<dyn OutboxCache>, raw: (RawConnection, String)) -> Result<()> {
    let runtime = Handle::current();
    let config = |cases| Config { cases, failure_persistence: None, ..Config::default() };
    let known = TestRunner::new_with_rng(config(KNOWN), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let random = TestRunner::new(config(cases));
    let run_both = move || {
        run_cases(random, &cache, &raw, &runtime)?;
        run_cases(known, &cache, &raw, &runtime)
    };
    let hits = tokio::task::spawn_blocking(run_both).await??;
    // A cache that always misses would pass. In random histories the number of hits is random, so the known ones must
    // hit.
    anyhow::ensure!(hits > 5 * KNOWN, "only {hits} hits");
    Ok(())
}

fn run_cases(
    mut runner: TestRunner,
    cache: &Arc<dyn OutboxCache>,
    raw: &(RawConnection, String),
    runtime: &Handle,
) -> Result<u32> {
    let hits = std::cell::Cell::new(0);
    // Each case has a new cache, because versions start again.
    let result = runner.run(&vec(step(), 1..60), |steps| {
        let seen = runtime.block_on(one_history(cache, raw, &steps));
        let seen = seen.map_err(|error| TestCaseError::fail(format!("{error:#}")))?;
        hits.set(hits.get() + seen);
        Ok(())
    });
    result.map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok(hits.get())
}

async fn one_history(cache: &Arc<dyn OutboxCache>, raw: &(RawConnection, String), steps: &[Step]) -> Result<u32> {
    let model = Model::new()?;
    let mut world = World { cache: Arc::clone(cache), raw: raw.clone(), dump: None, model, hits: 0 };
    forget(&world).await?;
    for step in steps {
        world.step(step).await?;
    }
    Ok(world.hits)
}

/// Evicts as the port allows: a change to what is not cached.
async fn forget(world: &World) -> Result<()> {
    let entry = Entry { publish_time: 1, content: ContentId::try_new(1)?, author: world.model.author };
    Ok(world
        .cache
        .apply(world.model.author, VersionChange { before: i64::MAX, after: -1 }, OutboxChange::Removed(entry))
        .await?)
}
