//! Compares the model with the real store: sends the same random calls of every port to the model and to SQLite, one
//! after the other. Every answer must be the same, and so must every row afterwards. So what the simulation shows for
//! the model holds for the store.

mod acts;
mod cards;
mod contents;
mod deliveries;
mod edges;
mod inboxes;
mod reads;
mod rows;

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::Result;
use sea_orm::{Database, DatabaseConnection};
use tempfile::TempDir;
use tidefeed::{
    app::Ports,
    domain::{UserId, limits::MAX_REMEMBERED_REACTIONS},
    store::{
        memory::{MemoryAnnouncements, MemoryQueue},
        sql::{SqlOptions, SqlStore},
    },
};

use self::{
    acts::{Drawer, PEOPLE, Step},
    rows::Row,
};
use crate::{
    checks::Checks,
    fault_injector::{BEGINNING, FaultInjector, Rates},
    notifications::SimAnnouncements,
    primary_store::{Engine, PrimaryStore},
    rng::SimRng,
    stories::from_environment,
};

/// Sequences of calls.
const SEQUENCES: u64 = 150;
/// Calls of a sequence.
const CALLS: usize = 60;

/// The real store, emptied for each sequence.
struct Real {
    options: SqlOptions,
    rows: DatabaseConnection,
    _folder: TempDir,
}

impl Real {
    async fn new() -> Result<Self> {
        // These rows need not survive a crash of the machine.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { TempDir::new_in(memory)? } else { TempDir::new()? };
        let url = format!("sqlite://{}", folder.path().join("twin.db").display());
        let patience = Duration::from_secs(10);
        let (acquire_timeout, statement_timeout) = (patience, patience);
        let options = SqlOptions { url: url.clone(), max_connections: 1, acquire_timeout, statement_timeout };
        let store = SqlStore::connect(&options).await?;
        store.migrate().await?;
        store.close().await?;
        Ok(Self { options, rows: Database::connect(&url).await?, _folder: folder })
    }

    /// Connected anew: a store remembers what reposts show, and another sequence gives other contents the same ids.
    async fn connect(&self) -> Result<(SqlStore, Ports)> {
        let store = SqlStore::connect(&self.options).await?;
        let queue = Arc::new(MemoryQueue::new(1, self.options.acquire_timeout));
        let announcements = Arc::new(MemoryAnnouncements::new(1));
        let ports = Ports::with_primary_store(Arc::new(store.clone()), queue, None, announcements);
        Ok((store, ports))
    }
}

/// The model without faults and without concurrent work.
fn model() -> (PrimaryStore, Ports) {
    let injector = FaultInjector::new(0, Rates::default(), false);
    let engine = Engine { ranges_at_once: usize::MAX, most_reactions: MAX_REMEMBERED_REACTIONS, ..Engine::default() };
    let primary_store = PrimaryStore::new(injector.clone(), engine, Checks::new(true));
    let queue = Arc::new(MemoryQueue::new(1, Duration::ZERO));
    let ports = Ports::with_primary_store(
        Arc::new(primary_store.clone()),
        queue,
        None,
        Arc::new(SimAnnouncements::new(injector, None)).of_a_node(),
    );
    (primary_store, ports)
}

/// The two, with the same people in both.
struct Differential<'a> {
    real: &'a Real,
    store: SqlStore,
    of_store: Ports,
    primary_store: PrimaryStore,
    ports: Ports,
}

impl<'a> Differential<'a> {
    async fn begin(real: &'a Real) -> Result<Self> {
        rows::clear(&real.rows).await?;
        let ((store, of_store), (primary_store, ports)) = (real.connect().await?, model());
        for number in 1..=PEOPLE {
            let account = reads::account(UserId::try_new(number * 10)?, number * 10, BEGINNING + number);
            of_store.accounts.register(account.clone()).await?;
            ports.accounts.register(account).await?;
        }
        Ok(Self { real, store, of_store, primary_store, ports })
    }

    async fn end(self) -> Result<()> {
        Ok(self.store.close().await?)
    }

    /// Both take the step; what they disagree about, if anything.
    async fn take(&self, step: &Step) -> Result<Option<String>> {
        let (real, modelled) = (step.answer(&self.of_store).await, step.answer(&self.ports).await);
        if real != modelled {
            return Ok(Some(format!("the store answers {real}\nthe model answers {modelled}")));
        }
        let (real, modelled) =
            (rows::of_database(&self.real.rows).await?, rows::of_model(&self.primary_store.base().tables));
        if real == modelled {
            return Ok(None);
        }
        let only = |of: &[Row], other: &[Row]| of.iter().filter(|it| !other.contains(it)).cloned().collect::<Vec<_>>();
        let (here, there) = (only(&real, &modelled), only(&modelled, &real));
        Ok(Some(format!("only the store has {here:?}\nonly the model has {there:?}")))
    }
}

/// Draws a sequence and takes it, up to the first difference.
async fn explore(real: &Real, seed: u64) -> Result<(Vec<Step>, Option<String>)> {
    let differential = Differential::begin(real).await?;
    let (mut rng, mut now, mut last) = (SimRng::of(seed), BEGINNING, 1_000);
    let mut steps = Vec::new();
    for _ in 0..CALLS {
        now += rng.within(-200, 3_000);
        let step = {
            let base = differential.primary_store.base();
            Step::draw(&mut Drawer { rng: &mut rng, tables: &base.tables, now, last: &mut last })
        };
        steps.push(step.clone());
        if let Some(what) = differential.take(&step).await? {
            return Ok((steps, Some(what)));
        }
    }
    differential.end().await?;
    Ok((steps, None))
}

/// The steps anew, without those that the difference does not need.
async fn shrink(real: &Real, mut steps: Vec<Step>) -> Result<Vec<Step>> {
    for place in (0..steps.len().saturating_sub(1)).rev() {
        let mut fewer = steps.clone();
        fewer.remove(place);
        if difference(real, &fewer).await?.is_some() {
            steps = fewer;
        }
    }
    Ok(steps)
}

async fn difference(real: &Real, steps: &[Step]) -> Result<Option<String>> {
    let differential = Differential::begin(real).await?;
    for (place, step) in steps.iter().enumerate() {
        if let Some(what) = differential.take(step).await? {
            return Ok(Some(what).filter(|_| place + 1 == steps.len()));
        }
    }
    differential.end().await?;
    Ok(None)
}

#[tokio::test]
async fn the_model_and_sqlite_give_the_same_answers_and_rows() -> Result<()> {
    let real = Real::new().await?;
    let first = from_environment("SEED").unwrap_or(1);
    for seed in first..first + from_environment("SEQUENCES").unwrap_or(SEQUENCES) {
        if let (steps, Some(_)) = explore(&real, seed).await? {
            let steps = shrink(&real, steps).await?;
            let what = difference(&real, &steps).await?.unwrap_or_default();
            let outcome: Vec<String> = steps.iter().map(|step| format!("{step:?}")).collect();
            anyhow::bail!("SEED={seed}: after\n  {}\n{what}", outcome.join("\n  "));
        }
    }
    Ok(())
}
