//! Builds a world: nodes with the real use cases over shared models, and its people.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use tidefeed::{
    ambient::Ambient,
    app::{Ports, UseCases, auditor},
    domain::{UserId, account::profile::Registration},
    live::LiveError,
    rng::SharedRng,
    store::{Accounts, Announcements, InboxTier, OutboxCache, Queue, StoreError, accounts::NewAccount},
    tier::{OutsideStores, OutsideTier},
    upkeep::Auditor,
};

use crate::{
    audits,
    checks::Checks,
    device::Device,
    fault_injector::{FaultInjector, SkewedClock},
    imports::Files,
    inbox_stores::SimInboxes,
    notifications::{SimAnnouncements, SimCache, SimQueue},
    plan::{self, Plan},
    primary_store::{Engine, PrimaryStore},
    replicas::replicate,
    rng::SimRng,
    rules::Rule,
    scheduler::{Owner, Scheduler},
};

/// Steps of what is done in peace at most.
const PATIENCE: usize = 100_000;
/// Reactions of a reader that nodes remember; few, so that more of them are common.
const MOST_REACTIONS: usize = 4;
/// Readers who were not seen for so long have their inboxes in SQL, in ms.
const ACTIVE_MS: i64 = 30_000;

/// How a world is run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Way {
    /// The rule that is broken.
    pub broken: Option<Rule>,
    /// Only what clients see counts as a failure.
    pub as_clients_see: bool,
    /// Whether what happens is written down.
    pub traced: bool,
}

/// What happened, in numbers.
#[derive(Debug, Default)]
pub struct Counts {
    pub publishes: AtomicU64,
    pub removals: AtomicU64,
    pub follows: AtomicU64,
    pub unfollows: AtomicU64,
    /// Batches of imports.
    pub batches: AtomicU64,
    /// Mutes, hides and blocks, and what lifts them.
    pub exclusions: AtomicU64,
    pub pages: AtomicU64,
    /// Pages that were judged.
    pub checked: AtomicU64,
    pub entries: AtomicU64,
    /// Reactions and changes of profiles.
    pub reactions: AtomicU64,
    /// Cards that were made from memory.
    pub cards: AtomicU64,
    /// Operations that a fault kept from an answer.
    pub unanswered: AtomicU64,
    /// Workers' steps.
    pub steps: AtomicU64,
    /// Readers that were audited.
    pub audits: AtomicU64,
    /// The events that watching devices have received.
    pub events: AtomicU64,
}

impl Counts {
    pub fn count(counter: &AtomicU64, more: u64) {
        counter.fetch_add(more, Relaxed);
    }
}

/// What all of a world shares.
pub struct Shared {
    pub plan: Plan,
    pub injector: FaultInjector,
    pub primary_store: PrimaryStore,
    pub queue: Arc<SimQueue>,
    pub cache: Option<Arc<SimCache>>,
    pub announcements: Arc<SimAnnouncements>,
    /// Of inboxes outside SQL, if there are any.
    pub inboxes: Option<SimInboxes>,
    pub people: Vec<UserId>,
    /// See [`plan::LEAVERS`].
    pub leavers: Vec<UserId>,
    /// Files that are being imported.
    pub files: Mutex<Files>,
    /// The rule that devices break.
    pub broken: Option<Rule>,
    pub counts: Counts,
}

impl Shared {
    /// A failure of the store is what faults are for; any other is a defect.
    pub fn excuse(&self, what: &'static str, error: &StoreError) {
        Counts::count(&self.counts.unanswered, 1);
        if !error.is_transient() {
            self.primary_store.base().checks.fail(what, || error.with_causes());
        }
    }

    /// As [`Self::excuse`], of a subscription.
    pub fn excuse_subscription(&self, error: &LiveError) {
        let what = "a subscription failed";
        match error {
            LiveError::Store(error) => self.excuse(what, error),
            other => self.primary_store.base().checks.fail(what, || other.to_string()),
        }
    }
}

/// A node: its use cases, and its clock.
pub struct Node {
    pub app: Arc<UseCases>,
    pub auditor: Arc<Auditor>,
    pub tier: Arc<dyn InboxTier>,
    announcements: Arc<dyn Announcements>,
    clock: Arc<SkewedClock>,
    primary_store: Arc<PrimaryStore>,
}

pub struct World {
    pub shared: Arc<Shared>,
    pub scheduler: Scheduler,
    pub nodes: Vec<Node>,
    pub devices: Vec<Connected>,
}

/// A device, and where its connection leads.
pub struct Connected {
    pub device: Arc<Device>,
    pub node: usize,
}

impl World {
    pub fn found(seed: u64, operations: usize, way: Way) -> Self {
        let mut rng = SimRng::of(seed);
        let mut plan = Plan::draw(&mut rng, operations);
        plan.rates.rolled_back = plan::rolled_back(seed);
        (plan.rates.interest, plan.rates.groups) = plan::interest(seed);
        plan = plan.of_remembered_readers(seed).with_cards(seed).with_outside_inboxes(seed);
        plan = plan.with_leavers(seed).with_imports(seed).with_replicas(seed);
        let injector = FaultInjector::new(rng.next(), plan.rates.clone(), way.traced);
        let Plan { one_writer, ranges_at_once, .. } = plan;
        let (most_reactions, has_spread_counts) = (MOST_REACTIONS, plan::has_leavers(seed));
        let engine = Engine { one_writer, ranges_at_once, most_reactions, has_spread_counts, broken: way.broken };
        let primary_store = PrimaryStore::new(injector.clone(), engine, Checks::new(!way.as_clients_see));
        let shared = Arc::new(Shared {
            people: (1..=plan.users).filter_map(|id| UserId::try_new(id * 10).ok()).collect(),
            leavers: (1..=if plan::has_leavers(seed) { plan::LEAVERS } else { 0 })
                .filter_map(|id| UserId::try_new(id * 10 + 5).ok())
                .collect(),
            queue: Arc::new(SimQueue::new(injector.clone())),
            cache: (plan.cache > 0).then(|| Arc::new(SimCache::new(primary_store.clone(), plan.cache))),
            announcements: Arc::new(SimAnnouncements::new(injector.clone(), way.broken)),
            inboxes: plan.outside.map(|(kind, _)| SimInboxes::new(kind, injector.clone(), way.broken)),
            files: Mutex::new(Files::default()),
            broken: way.broken,
            counts: Counts::default(),
            plan,
            injector: injector.clone(),
            primary_store,
        });
        let nodes = (0..shared.plan.nodes).map(|_| Node::start(&shared)).collect();
        let devices = Vec::new();
        let mut world = Self { shared, scheduler: Scheduler::new(injector), nodes, devices };
        world.settle_people();
        world.shared.primary_store.replicate();
        world.settle_replicas();
        world.admit_buckets();
        world.settle_devices();
        world
    }

    fn settle_people(&mut self) {
        let shared = Arc::clone(&self.shared);
        self.in_peace(async move {
            for user in shared.people.iter().chain(&shared.leavers) {
                let name = format!("user{user}");
                let registration = Registration::try_new(&name, &name, "", None).expect("a plain name will do");
                let account = NewAccount {
                    id: *user,
                    registration,
                    password_hash: None,
                    incarnation: i64::MAX,
                    now_ms: shared.injector.now(),
                };
                shared.primary_store.register(account).await.expect("nothing goes wrong yet");
            }
        });
    }

    /// Replicas of what is there now, which replicate for ever, and what asks the primary for each node.
    fn settle_replicas(&mut self) {
        let Some(options) = self.shared.plan.replicas else { return };
        let primary_store = &self.shared.primary_store;
        primary_store.begin_replication(options);
        for replica in 0..options.count {
            self.scheduler.settle(Owner::Outside, replicate(primary_store.state(), replica));
        }
        self.scheduler.settle(Owner::Outside, primary_store.replicas().run());
        for node in 0..self.nodes.len() {
            self.ask_primary(node);
        }
    }

    fn ask_primary(&mut self, node: usize) {
        if self.shared.plan.replicas.is_some() {
            self.scheduler.settle(Owner::Node(node), self.nodes[node].primary_store.replicas().run());
        }
    }

    /// With inboxes outside SQL, readers may enter the tier from the beginning on.
    fn admit_buckets(&mut self) {
        if self.shared.inboxes.is_some() {
            let (tier, shared) = (Arc::clone(&self.nodes[0].tier), Arc::clone(&self.shared));
            self.in_peace(async move {
                if let Err(error) = tier.run_once().await {
                    shared.excuse("buckets were not admitted", &error);
                }
            });
        }
    }

    fn settle_devices(&mut self) {
        let shared = Arc::clone(&self.shared);
        for _ in 0..shared.plan.watchers.devices {
            let reader = shared.injector.pick(&shared.people);
            self.devices.push(Connected { device: Arc::new(Device::of(reader, &shared)), node: 0 });
        }
        for node in 0..self.nodes.len() {
            self.listen(node);
        }
        self.connect(0..self.devices.len());
    }

    /// If anybody watches, the node passes on what it hears.
    fn listen(&mut self, node: usize) {
        if !self.devices.is_empty() {
            let Node { app, announcements, .. } = &self.nodes[node];
            let (hub, listener) = (Arc::clone(&app.hub), announcements.listen());
            self.scheduler.settle(Owner::Node(node), async move { hub.run(listener).await });
        }
    }

    /// Runs this to its end with everything that is under way, while nothing goes wrong.
    pub fn in_peace(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.shared.injector.calm(true);
        self.scheduler.resume_all();
        self.scheduler.start(Owner::Outside, work);
        for _ in 0..PATIENCE {
            if self.scheduler.is_quiet() || self.has_failed() || !self.scheduler.step() {
                break;
            }
            self.shared.announcements.come();
        }
        let endless = !self.scheduler.is_quiet();
        self.shared.primary_store.base().checks.fail_if(endless, "some work never ends", String::new);
        self.shared.injector.calm(false);
    }

    pub fn has_failed(&self) -> bool {
        self.shared.primary_store.base().checks.failure.is_some()
    }

    /// The node dies with all that runs on it, and another takes its place.
    pub fn crash(&mut self, node: usize) {
        self.shared.injector.note(|| format!("node {node} dies"));
        self.scheduler.crash(node);
        self.nodes[node].primary_store.close();
        self.nodes[node] = Node::start(&self.shared);
        self.ask_primary(node);
        self.listen(node);
        let cut_off: Vec<usize> = (0..self.devices.len()).filter(|it| self.devices[*it].node == node).collect();
        self.connect(cut_off);
    }

    /// The node's clock is wrong in another way from now on.
    pub fn set_clock(&self, node: usize) {
        self.nodes[node].clock.set_skew(skew(&self.shared));
    }
}

fn skew(shared: &Shared) -> i64 {
    shared.injector.within(-shared.plan.skew, shared.plan.skew)
}

impl Node {
    fn start(shared: &Arc<Shared>) -> Self {
        let clock = Arc::new(SkewedClock::new(&shared.injector, skew(shared)));
        let cache = shared.cache.clone().map(|cache| cache as Arc<dyn OutboxCache>);
        let queue: Arc<dyn Queue> = shared.queue.clone();
        let primary_store = Arc::new(shared.primary_store.of_a_node());
        let announcements: Arc<dyn Announcements> = shared.announcements.of_a_node();
        let mut ports = Ports::with_primary_store(primary_store.clone(), queue, cache, announcements.clone());
        let ambient = Ambient { clock: clock.clone(), rng: SharedRng::from_seed(shared.injector.next()) };
        if let (Some(inboxes), Some((_, keep))) = (&shared.inboxes, shared.plan.outside) {
            let (inboxes, states) = (inboxes.port(), primary_store.clone());
            let stores = OutsideStores { inboxes, states, keep, active_ms: ACTIVE_MS, builds_at_once: 1 };
            let (in_sql, grows_by) = (ports.tier.in_sql().clone(), shared.plan.settings.tiers.step);
            ports.tier = Arc::new(OutsideTier::new(stores, in_sql, grows_by, ambient.clone()));
        }
        let app = UseCases::build(&ports, shared.plan.settings, &ambient);
        let audits = Arc::new(shared.primary_store.clone());
        let auditor = auditor(&ports, audits, app.reader.clone(), audits::options(shared));
        let (app, auditor) = (Arc::new(app), Arc::new(auditor));
        Self { app, auditor, tier: ports.tier.clone(), announcements, clock, primary_store }
    }
}
