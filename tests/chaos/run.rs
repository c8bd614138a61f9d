//! A run: rounds in which clients work while faults happen. After each round all deliveries must finish, and every
//! reader's timeline must be exact through every node.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use sea_orm::DatabaseConnection;
use tidefeed::{domain::Position, rng::SharedRng};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::checker::check;
use crate::clients::{Clients, IMPORTED, USERS, below};
use crate::coverage::BROKEN;
use crate::deployment::{Change, Deployment, PrimaryStore, RedisSetup};
use crate::device::Device;
use crate::faults::{Fault, Tally, inject, random_pause, shuffled_faults};
use crate::history::Read;
use crate::product::Product;
use crate::servers::numbers;

/// Clients that act at the same time.
const CLIENTS: u64 = 16;
/// A client's pause between two acts once enough were answered, while faults go on: without one, the clients of all
/// runs take the processors from what they test.
const PAUSE: Duration = Duration::from_millis(100);
/// Longer than any wait between two tries of a delivery that has failed a few times.
const PATIENCE: Duration = Duration::from_mins(10);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Mismatches that are printed in full.
const PRINTED: usize = 5;
/// Tables that must be empty when all work is done.
const LEFT_OVER: &[&str] = &["deliveries", "subtasks", "relations"];

/// Readers whose inboxes lie outside SQL and have been built there.
const CLAIMED: &str = "SELECT COUNT(*) FROM inbox_states WHERE tier = 1 AND basis IS NOT NULL";

/// What a run found.
#[derive(Debug, Default)]
pub struct Findings {
    pub pages: u64,
    pub entries: u64,
    pub faults: Tally,
    /// Changes that were refused, or had no answer, while there was no room for them.
    pub without_room: u64,
    pub mismatches: Vec<String>,
    /// Readers whose inboxes lay outside SQL once a round was quiescent, at most.
    pub readers_outside: i64,
    /// Statements that a replica had run for nodes once a round was quiescent, since its last start, at most.
    pub reads_on_replica: i64,
    /// How long the slowest round took to become quiescent, in ms.
    pub slowest_quiescence_ms: u128,
    /// How long the slowest device took to hold its timeline after that, in ms.
    pub slowest_device_ms: u128,
}

/// A deployment, its clients, and what was found so far.
pub struct Run {
    pub deployment: Deployment,
    pub clients: Arc<Clients>,
    pub product: Arc<Product>,
    pub found: Findings,
    rng: SharedRng,
    acts: Arc<AtomicU64>,
    devices: Vec<Arc<Device>>,
    /// The devices' lives; they end with the run.
    watching: JoinSet<Result<()>>,
    pub events: Arc<AtomicU64>,
}

impl Run {
    pub async fn start((primary_store, redis): (PrimaryStore, RedisSetup), seed: u64) -> Result<Self> {
        let (deployment, addresses) = Box::pin(Deployment::start(primary_store, redis)).await?;
        let mut clients = Clients::gather(addresses).await?;
        let rng = SharedRng::from_seed(seed);
        let product = Arc::new(Product::enter(&deployment, &mut clients, &rng).await?);
        let clients = Arc::new(clients);
        let (found, events) = (Findings::default(), Arc::default());
        let devices: Vec<_> = (0..USERS).map(|reader| Arc::new(Device::of(reader, Arc::clone(&events)))).collect();
        let mut watching = JoinSet::new();
        for device in &devices {
            let (device, clients, rng) = (Arc::clone(device), Arc::clone(&clients), SharedRng::from_seed(rng.u64()));
            watching.spawn(async move { device.live(&clients, &rng).await });
        }
        Ok(Self { deployment, clients, product, found, rng, acts: Arc::default(), devices, watching, events })
    }

    pub fn operations(&self) -> u64 {
        self.clients.counts.operations.load(Relaxed)
    }

    /// Clients and the product work while each fault happens once; then waits for quiescence and checks everything.
    pub async fn round(&mut self, least_operations: u64) -> Result<()> {
        let (faulty, until) = (Arc::new(AtomicBool::new(true)), self.clients.counts.answered() + least_operations);
        let mut tasks = self.start_clients(&faulty, until);
        self.start_product(&mut tasks, &faulty, until);
        let faults_ended = self.inject_faults(&tasks).await;
        faulty.store(false, Relaxed);
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
        faults_ended?;
        self.quiesce().await
    }

    /// Nodes of a former version give way to this one.
    pub async fn replace_former_nodes(&mut self) -> Result<()> {
        let clients = Arc::clone(&self.clients);
        self.deployment.replace_former_nodes(|node, address| clients.api.moved(node, address)).await?;
        clients.api.all_know_keys();
        Ok(())
    }

    /// Clients work while nodes get another setting; then waits for quiescence and checks everything.
    pub async fn change(&mut self, least_operations: u64, change: Change<'_>) -> Result<()> {
        let (moving, until) = (Arc::new(AtomicBool::new(true)), self.clients.counts.answered() + least_operations);
        let mut tasks = self.start_clients(&moving, until);
        let clients = Arc::clone(&self.clients);
        let changed = self.deployment.change(change, |node, address| clients.api.moved(node, address)).await;
        moving.store(false, Relaxed);
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
        changed?;
        self.quiesce().await
    }

    /// Clients work without a fault; then waits for quiescence and checks everything.
    pub async fn work(&mut self, least_operations: u64) -> Result<()> {
        let until = self.clients.counts.answered() + least_operations;
        let mut tasks = self.start_clients(&Arc::default(), until);
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
        self.quiesce().await
    }

    /// Starts the clients. They work until they have enough answers, and longer while faults happen.
    fn start_clients(&self, faulty: &Arc<AtomicBool>, until: u64) -> JoinSet<Result<()>> {
        let mut tasks = JoinSet::new();
        for _ in 0..CLIENTS {
            let (clients, faulty, acts) = (Arc::clone(&self.clients), Arc::clone(faulty), Arc::clone(&self.acts));
            let rng = SharedRng::from_seed(self.rng.u64());
            tasks.spawn(async move {
                while faulty.load(Relaxed) || clients.counts.answered() < until {
                    clients.act(&rng, acts.fetch_add(1, Relaxed)).await?;
                    if clients.counts.answered() >= until {
                        sleep(PAUSE).await;
                    }
                }
                Ok(())
            });
        }
        tasks
    }

    /// Starts the product beside the clients, for as long as they work.
    fn start_product(&self, tasks: &mut JoinSet<Result<()>>, faulty: &Arc<AtomicBool>, until: u64) {
        let (clients, product, faulty) = (Arc::clone(&self.clients), Arc::clone(&self.product), Arc::clone(faulty));
        let rng = SharedRng::from_seed(self.rng.u64());
        tasks.spawn(async move {
            while faulty.load(Relaxed) || clients.counts.answered() < until {
                product.act(&clients, &rng).await?;
            }
            Ok(())
        });
    }

    /// Injects each fault once, with pauses.
    async fn inject_faults(&mut self, tasks: &JoinSet<Result<()>>) -> Result<()> {
        for fault in shuffled_faults(&self.deployment, &self.rng) {
            ensure!(tasks.len() as u64 == CLIENTS + 1, "a client, or the product, has ended");
            sleep(random_pause(&self.rng)).await;
            let before = self.clients.counts.unknown.load(Relaxed);
            inject(fault, &mut self.deployment, &self.clients, &self.rng).await.with_context(|| fault.name())?;
            if fault == Fault::DiskFull {
                self.found.without_room += self.clients.counts.unknown.load(Relaxed) - before;
            }
            *self.found.faults.entry(fault).or_default() += 1;
            self.ask_invariant().await?;
        }
        Ok(())
    }

    /// Waits until all work is done, checks everything that was read, and reads everything once more from every node.
    pub async fn quiesce(&mut self) -> Result<()> {
        self.clients.decide(&self.rng).await?;
        let began = Instant::now();
        self.nothing_is_left().await?;
        self.found.slowest_quiescence_ms = self.found.slowest_quiescence_ms.max(began.elapsed().as_millis());
        self.judge();
        let timelines = self.read_everything().await?;
        self.ask_devices(&timelines).await?;
        self.ask_invariant().await?;
        let outside = numbers(&self.deployment.database().await?, CLAIMED).await?;
        self.found.readers_outside = self.found.readers_outside.max(outside.first().copied().unwrap_or(0));
        if let Some(replica) = &self.deployment.replica {
            self.found.reads_on_replica = self.found.reads_on_replica.max(replica.reads().await?);
        }
        self.nodes_are_ready().await?;
        self.deployment.lines_are_used()?;
        self.deployment.read_logs();
        let odd = std::mem::take(&mut self.deployment.odd_lines);
        self.found.mismatches.extend(odd.into_iter().map(|line| format!("a node wrote: {line}")));
        Ok(())
    }

    /// Reads every reader's whole timeline through every node, and checks it. Returns the timelines, folded.
    pub async fn read_everything(&mut self) -> Result<Vec<Vec<Position>>> {
        let mut timelines = vec![Vec::new(); USERS + IMPORTED];
        for node in 0..self.deployment.nodes() {
            for (reader, timeline) in timelines.iter_mut().enumerate() {
                let (size, began) = (30 + below(&self.rng, 71), Instant::now());
                // A page that a busy machine keeps beyond the nodes' short limits is asked for again.
                let walked = loop {
                    match self.clients.walk(node, reader, size).await? {
                        Some(walked) => break walked,
                        None if began.elapsed() < PATIENCE => {}
                        None => bail!("node {node} fails without faults:\n{}", self.deployment.last_words(node)),
                    }
                };
                let mut met = HashSet::new();
                *timeline = walked.seen.iter().filter(|it| met.insert(it.subject)).map(|it| it.position).collect();
            }
        }
        self.judge();
        Ok(timelines)
    }

    /// Waits until every device holds its folded timeline down to its floor, and reports wrong events.
    async fn ask_devices(&mut self, timelines: &[Vec<Position>]) -> Result<()> {
        if let Some(ended) = self.watching.try_join_next() {
            ended??;
        }
        let began = Instant::now();
        for device in &self.devices {
            let timeline = &timelines[device.reader];
            loop {
                let held = device.above_floor()?;
                let due = |floor| timeline.iter().copied().filter(|it| *it > floor).collect::<Vec<_>>();
                if held.as_ref().is_some_and(|(floor, held)| *held == due(*floor)) {
                    break;
                }
                if began.elapsed() > PATIENCE {
                    let wrong = format!("the device of {} holds {held:?} of {timeline:?}", device.reader);
                    self.found.mismatches.push(wrong);
                    break;
                }
                sleep(POLL_INTERVAL).await;
            }
            self.found.mismatches.append(&mut device.wrong());
        }
        self.found.slowest_device_ms = self.found.slowest_device_ms.max(began.elapsed().as_millis());
        Ok(())
    }

    /// Waits until every node reports that it is ready, without a restart.
    async fn nodes_are_ready(&self) -> Result<()> {
        for node in 0..self.deployment.nodes() {
            let began = Instant::now();
            while !self.clients.api.is_ready(node).await {
                ensure!(began.elapsed() < PATIENCE, "node {node} is not ready:\n{}", self.deployment.last_words(node));
                sleep(POLL_INTERVAL).await;
            }
        }
        Ok(())
    }

    async fn nothing_is_left(&self) -> Result<()> {
        let (database, began) = (self.deployment.database().await?, Instant::now());
        loop {
            let left = left_over(&database).await?;
            if left.is_empty() {
                return Ok(());
            }
            ensure!(began.elapsed() < PATIENCE, "not finished after {PATIENCE:?}: {left}");
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Checks all reads so far against the history, and clears both.
    fn judge(&mut self) {
        let mut history = self.clients.history();
        let reads: Vec<Read> = std::mem::take(&mut history.reads);
        for read in &reads {
            self.found.pages += 1;
            self.found.entries += read.seen.len() as u64;
            if let Err(why) = check(&history, read) {
                self.found.mismatches.push(why);
            }
        }
        history.settle(self.clients.now());
    }

    pub async fn ask_invariant(&mut self) -> Result<()> {
        let broken = numbers(&self.deployment.database().await?, BROKEN).await?;
        if broken != [0] {
            self.found.mismatches.push(format!("{broken:?} contents are in no inbox that is trusted to hold them"));
        }
        Ok(())
    }

    /// Fails if anything was wrong.
    pub fn verdict(&self) -> Result<()> {
        let mut list = String::new();
        for mismatch in self.found.mismatches.iter().take(PRINTED) {
            writeln!(list, "  {mismatch}")?;
        }
        ensure!(self.found.mismatches.is_empty(), "{} mismatches:\n{list}", self.found.mismatches.len());
        Ok(())
    }
}

async fn left_over(database: &DatabaseConnection) -> Result<String> {
    let mut left = String::new();
    for table in LEFT_OVER {
        let rows = numbers(database, &format!("SELECT COUNT(*) FROM {table}")).await?;
        if rows != [0] {
            write!(left, "{rows:?} {table} ")?;
        }
    }
    Ok(left)
}
