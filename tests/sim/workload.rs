//! Runs a world: clients and workers at once, each step drawn at random, with faults between any two steps.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use tidefeed::{
    app::UseCases,
    domain::{ContentKind, Direction, Entry, Kinds, PageRequest, PageSize, Position, Reaction, Reference, UserId},
    store::{InboxTier, StoreError},
};

use crate::{
    audits,
    client::{Client, Exclusion},
    imports,
    rng::SimRng,
    scheduler::Owner,
    world::{Counts, Node, Shared, World},
};

/// Steps of the scheduler for each operation at most; a story that takes more stands still.
const PATIENCE: usize = 2_000;

/// Subtasks of a shift at most.
const SHIFT: usize = 20;

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The workers of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worker {
    Dispatcher,
    Executor,
    Reconciler,
    Reactivator,
    Sweeper,
    Trimmer,
    /// Of deleted accounts.
    Remover,
    /// Dispatcher, executor and reconciler, until none of them has anything to do.
    Shift,
}

impl Worker {
    /// Which one of them does something is drawn from these.
    pub const DRAWN: [Self; 9] = [
        Self::Dispatcher,
        Self::Executor,
        Self::Reconciler,
        Self::Reactivator,
        Self::Reactivator,
        Self::Sweeper,
        Self::Trimmer,
        Self::Shift,
        Self::Shift,
    ];

    /// One step of the worker; whether there was anything to do.
    pub async fn step(self, app: &UseCases) -> Result<bool, StoreError> {
        let now = Duration::ZERO;
        Ok(match self {
            Self::Dispatcher => app.dispatcher.run_once("dispatcher", now).await? > 0,
            Self::Executor => app.executor.run_once("executor", now).await? > 0,
            Self::Reconciler => app.reconciler.run_once("reconciler", now).await? > 0,
            Self::Reactivator => app.reactivator.run_once("reactivator", now).await? > 0,
            Self::Sweeper => !app.sweeper.run_once().await?.is_nothing(),
            Self::Trimmer => app.trimmer.run_once().await?.0 > 0,
            Self::Remover => app.remover.run_once().await?,
            Self::Shift => {
                let delivered = app.dispatcher.run_once("dispatcher", now).await?;
                let mut pushed = 0;
                while pushed < SHIFT && app.executor.run_once("executor", now).await? > 0 {
                    pushed += 1;
                }
                delivered + pushed + app.reconciler.run_once("reconciler", now).await? > 0
            }
        })
    }
}

async fn work(shared: Arc<Shared>, app: Arc<UseCases>, worker: Worker) {
    Counts::count(&shared.counts.steps, 1);
    shared.injector.note(|| format!("{worker:?} begins"));
    match worker.step(&app).await {
        Ok(_) => shared.injector.note(|| format!("{worker:?} ends")),
        Err(error) => shared.excuse("a worker failed", &error),
    }
}

/// A round of the keeper of inboxes outside SQL, or this reader goes back to SQL.
async fn keep_outside(shared: Arc<Shared>, tier: Arc<dyn InboxTier>, leaves: Option<UserId>) {
    let kept = match leaves {
        Some(reader) => tier.move_to_sql(reader).await.map(drop),
        None => tier.run_once().await.map(drop),
    };
    if let Err(error) = kept {
        shared.excuse("the keeper failed", &error);
    }
}

impl World {
    /// Runs the story to its last operation; whatever is under way then stays so.
    pub fn run_story(&mut self) {
        let shared = Arc::clone(&self.shared);
        let mut begun = 0;
        let mut patience = PATIENCE * shared.plan.operations;
        while begun < shared.plan.operations && patience > 0 && !self.has_failed() {
            patience -= 1;
            if self.scheduler.active() < shared.plan.crowd && shared.injector.chance(150_000) {
                begun += usize::from(self.begin());
            } else {
                self.scheduler.step();
            }
            self.inject_fault();
        }
        if patience == 0 {
            shared.primary_store.base().checks.fail("a story stands still", String::new);
        }
    }

    /// Begins an operation or a worker's step; whether it was an operation.
    fn begin(&mut self) -> bool {
        let node = self.shared.injector.index(self.nodes.len());
        let app = Arc::clone(&self.nodes[node].app);
        let shared = Arc::clone(&self.shared);
        if self.shared.injector.chance(shared.plan.work) {
            self.begin_work(node);
            return false;
        }
        let client = Client { shared, app };
        let is_of_leavers = !client.shared.leavers.is_empty() && client.shared.injector.chance(400_000);
        let drawn = if is_of_leavers { Some(concerning_a_leaver(client)) } else { operation(client) };
        let Some(operation) = drawn else { return false };
        self.scheduler.start(Owner::Node(node), operation);
        true
    }

    /// One operation without faults; mostly one that a live subscriber must be sent: an exclusion, a repost of what
    /// they are shown, or the end of either.
    pub fn change_something(&mut self) {
        let client = Client { app: Arc::clone(&self.nodes[0].app), shared: Arc::clone(&self.shared) };
        let injector = &self.shared.injector;
        let reader = self.devices[injector.index(self.devices.len())].device.reader;
        let (other, how) = (injector.pick(&self.shared.people), injector.pick(&Exclusion::ALL));
        let is_about_reader = injector.chance(500_000);
        if injector.chance(500_000) {
            if let Some(work) = self.repost_or_remove(client, reader) {
                self.in_peace(work);
            }
        } else if injector.chance(600_000) {
            let (who, whom) = if is_about_reader { (other, reader) } else { (reader, other) };
            let there = injector.chance(500_000);
            self.in_peace(client.keep_out(who, whom, how, there));
        } else if let Some(operation) = operation(client) {
            self.in_peace(operation);
        }
    }

    /// A followed author reposts an entry of the reader's timeline, or an entry is deleted: a repost, or the original
    /// of one.
    fn repost_or_remove(&self, client: Client, reader: UserId) -> Option<Work> {
        let (injector, base) = (&self.shared.injector, self.shared.primary_store.base());
        let oracle = &base.checks.oracle;
        let timeline = oracle.timeline(reader);
        let followed: Vec<UserId> =
            self.shared.people.iter().copied().filter(|author| oracle.follows(reader, *author)).collect();
        if timeline.is_empty() || followed.is_empty() {
            return None;
        }
        let item = injector.pick(&timeline);
        Some(match injector.chance(500_000) {
            true => Box::pin(client.publish(injector.pick(&followed), None, Reference::RepostOf(item.subject))),
            false => Box::pin(client.remove(item.entry)),
        })
    }

    fn begin_work(&mut self, node: usize) {
        let (shared, Node { app, auditor, .. }) = (Arc::clone(&self.shared), &self.nodes[node]);
        let [audits, repairs] = shared.plan.audits;
        let keeps = shared.inboxes.is_some() && shared.injector.chance(150_000);
        let work: Work = if keeps {
            let (tier, reader) = (Arc::clone(&self.nodes[node].tier), shared.injector.pick(&shared.people));
            let leaves = shared.injector.chance(300_000);
            Box::pin(keep_outside(shared, tier, leaves.then_some(reader)))
        } else if shared.injector.chance(audits) {
            Box::pin(audits::audit(shared, Arc::clone(auditor)))
        } else if shared.injector.chance(repairs) {
            let reader = shared.injector.pick(&shared.people);
            Box::pin(audits::mend(shared, reader))
        } else if !shared.leavers.is_empty() && shared.injector.chance(500_000) {
            Box::pin(work(shared, Arc::clone(app), Worker::Remover))
        } else {
            let worker = shared.injector.pick(&Worker::DRAWN);
            Box::pin(work(shared, Arc::clone(app), worker))
        };
        self.scheduler.start(Owner::Node(node), work);
    }

    /// Time passes, and something may go wrong.
    fn inject_fault(&mut self) {
        let shared = Arc::clone(&self.shared);
        let (injector, rates) = (&shared.injector, shared.injector.rates());
        if injector.chance(300_000) {
            let passed = injector.within(1, 20);
            injector.pass(passed);
        }
        shared.announcements.come();
        shared.announcements.break_some();
        if injector.injects(rates.leap) {
            let leap = injector.within(1, shared.plan.leap);
            injector.note(|| format!("{leap} ms pass"));
            injector.pass(leap);
        }
        if injector.injects(rates.crash) {
            let node = injector.index(self.nodes.len());
            self.crash(node);
        }
        if injector.injects(rates.cancel) {
            self.scheduler.cancel_one();
        }
        if injector.injects(rates.clock_jumps) {
            let node = injector.index(self.nodes.len());
            self.set_clock(node);
        }
        if injector.injects(rates.queue_wiped) {
            let (dump, empty) = (injector.chance(400_000), injector.chance(500_000));
            if dump { shared.queue.dump() } else { shared.queue.restart(empty) }
        }
        if let Some(inboxes) = &shared.inboxes
            && injector.injects(rates.inboxes_happen)
        {
            inboxes.happen();
        }
        if injector.injects(rates.commits_lost) {
            shared.primary_store.lose_commits();
        }
        if let Some(replicas) = shared.plan.replicas
            && injector.injects(rates.replica_built)
        {
            shared.primary_store.build_replica(injector.index(replicas.count));
        }
        if let Some(cache) = &shared.cache
            && injector.injects(rates.cache_wiped)
        {
            let (dump, empty) = (injector.chance(400_000), injector.chance(500_000));
            if dump { cache.dump() } else { cache.restart(empty) }
        }
    }
}

/// Draws what somebody does; `None` if there is nothing to do it with.
fn operation(client: Client) -> Option<Work> {
    let shared = Arc::clone(&client.shared);
    let mut rng = shared.injector.rng();
    let (somebody, other) = (rng.pick(&shared.people), rng.pick(&shared.people));
    let author = author(&shared, &mut rng);
    let size = PageSize::try_new(rng.within(1, shared.plan.page)).ok()?;
    let kinds = if rng.chance(800_000) { Kinds::ALL } else { Kinds::try_new([rng.pick(&ContentKind::ALL)]).ok()? };
    let newest = PageRequest::newest(size).of(kinds);
    let direction = if rng.chance(750_000) { Direction::Older } else { Direction::Newer };
    if shared.plan.has_imports && rng.chance(150_000) {
        return Some(Box::pin(imports::some(client)));
    }
    let parts = || shared.plan.shares.iter().chain([&shared.plan.cards]);
    let all: u64 = parts().sum();
    let mut drawn = rng.below(all);
    let kind = parts().position(|share| {
        let here = drawn < *share;
        drawn = drawn.saturating_sub(*share);
        here
    })?;
    Some(match kind {
        0 => {
            let key = rng.chance(200_000).then(|| format!("key{}", rng.below(4)));
            let reference = reference(&shared, &mut rng);
            Box::pin(client.publish(author, key, reference))
        }
        1 => {
            let entry = any_content(&shared, &mut rng)?;
            Box::pin(client.remove(entry))
        }
        2 => Box::pin(async move { client.follow(somebody, author).await }),
        3 => Box::pin(async move { client.unfollow(somebody, author).await }),
        4 => {
            let request = PageRequest { direction, bound: bound(&shared, &mut rng), ..newest };
            Box::pin(async move { drop(client.page(somebody, request).await) })
        }
        5 => Box::pin(client.walk(somebody, PageRequest { direction, ..newest })),
        6 => {
            let how = rng.pick(&Exclusion::ALL);
            Box::pin(client.keep_out(somebody, other, how, rng.chance(500_000)))
        }
        8 if rng.chance(400_000) => Box::pin(client.rename(author, rng.next())),
        8 => {
            let (content, reaction) =
                (any_content(&shared, &mut rng)?.content, rng.pick(&[Reaction::Like, Reaction::Bookmark]));
            Box::pin(client.react(somebody, content, reaction, rng.chance(600_000)))
        }
        _ => {
            let crowd = shared.people.iter().copied().filter(|_| rng.chance(600_000)).collect();
            Box::pin(client.crowd(crowd, author, rng.chance(500_000)))
        }
    })
}

/// Somebody who will leave is followed, mostly, or leaves.
fn concerning_a_leaver(client: Client) -> Work {
    let injector = &client.shared.injector;
    let (somebody, leaver) = (injector.pick(&client.shared.people), injector.pick(&client.shared.leavers));
    match injector.chance(850_000) {
        true => Box::pin(async move { client.follow(somebody, leaver).await }),
        false => Box::pin(client.leave(leaver)),
    }
}

/// Whom the others read: some worlds have a star.
fn author(shared: &Shared, rng: &mut SimRng) -> UserId {
    let (star, share) = shared.plan.star;
    let anybody = rng.pick(&shared.people);
    if rng.chance(share) { shared.people[star % shared.people.len()] } else { anybody }
}

/// Some answer or repeat others.
fn reference(shared: &Shared, rng: &mut SimRng) -> Reference {
    let [reposts, replies] = shared.plan.references;
    let (reposts, replies) = (rng.chance(reposts), rng.chance(replies));
    match any_content(shared, rng) {
        Some(other) if reposts => Reference::RepostOf(other.content),
        Some(other) if replies => Reference::ReplyTo(other.content),
        _ => Reference::Nothing,
    }
}

fn any_content(shared: &Shared, rng: &mut SimRng) -> Option<Entry> {
    let base = shared.primary_store.base();
    let mut contents = base.checks.oracle.contents();
    let nth = rng.index(contents.len());
    contents.nth(nth).map(|(entry, _)| entry)
}

/// Where a page begins: at either end, at a content, or beside one.
fn bound(shared: &Shared, rng: &mut SimRng) -> Option<Position> {
    if rng.chance(400_000) {
        return None;
    }
    let at = any_content(shared, rng)?.position();
    let beside = Position::bound(at.publish_time(), at.content_number() + 1);
    Some(if rng.chance(850_000) { at } else { beside })
}
