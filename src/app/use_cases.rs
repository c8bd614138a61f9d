//! Builds the use cases over the given ports. Names no adapter: tests build the same use cases over other stores.

use std::sync::Arc;

use crate::{
    accounts::{AccountRemover, ProfilesService, Pruner, RemoverStores},
    api::graphql::FeedShare,
    clock::SharedClock,
    domain::{delivery::DeliveryPolicy, limits::MAX_DELIVERED_AT_ONCE, timeline::tier::InboxTiers},
    follow::{Excluding, Following, RelationReconciler},
    live::{Hub, LiveFeed, LiveSettings},
    publish::{
        Dispatcher, DispatcherOptions, ExecutorOptions, FirstServed, Indexer, Publisher, Reacting, SubtaskExecutor,
    },
    read::{
        ReadMarker, Searcher, TimelineReader, Visits,
        lists::{ListReader, ListStores},
    },
    rng::SharedRng,
    store::{
        AccountDeletions, Accounts, Announcements, Attempts, Cards, Contents, Deliveries, Exclusions, FollowLists,
        Follows, Identities, InboxTier, Inboxes, OutboxCache, People, Profiles, Queue, Reactions, ReadMarkers,
        Relations, SearchTerms, Sessions, Timelines, inbox_tier::InSql,
    },
    tier::{OutsideStores, OutsideTier},
    upkeep::{Reactivator, ReactivatorOptions, Sweeper, SweptStores, Trimmer},
};

/// The adapters of every port.
#[derive(Clone)]
pub struct Ports {
    /// Users and credentials.
    pub accounts: Arc<dyn Accounts>,
    /// Accounts that are deleted.
    pub account_deletions: Arc<dyn AccountDeletions>,
    /// Failed sign-ins.
    pub attempts: Arc<dyn Attempts>,
    /// Sign-ins that last.
    pub sessions: Arc<dyn Sessions>,
    /// What users say of themselves.
    pub profiles: Arc<dyn Profiles>,
    /// People as they are found.
    pub people: Arc<dyn People>,
    /// Users of an external issuer.
    pub identities: Arc<dyn Identities>,
    /// Contents and users with what is shown beside them.
    pub cards: Arc<dyn Cards>,
    /// Contents and outboxes.
    pub contents: Arc<dyn Contents>,
    /// Follow edges.
    pub follows: Arc<dyn Follows>,
    /// Follow edges, read through the deliveries' own connections.
    pub delivered_follows: Arc<dyn Follows>,
    /// Followers and the followed, as lists.
    pub follow_lists: Arc<dyn FollowLists>,
    /// Likes and bookmarks.
    pub reactions: Arc<dyn Reactions>,
    /// Read markers.
    pub read_markers: Arc<dyn ReadMarkers>,
    /// The search index.
    pub search_terms: Arc<dyn SearchTerms>,
    /// Mutes, hides and blocks.
    pub exclusions: Arc<dyn Exclusions>,
    /// Timeline reads.
    pub timelines: Arc<dyn Timelines>,
    /// Unfinished deliveries.
    pub deliveries: Arc<dyn Deliveries>,
    /// Inboxes and floors.
    pub inboxes: Arc<dyn Inboxes>,
    /// Pending relations.
    pub relations: Arc<dyn Relations>,
    /// Notifications.
    pub queue: Arc<dyn Queue>,
    /// Cached outboxes; without them every pull reads SQL.
    pub outbox_cache: Option<Arc<dyn OutboxCache>>,
    /// Announcements between nodes.
    pub announcements: Arc<dyn Announcements>,
    /// Where readers have their inboxes.
    pub tier: Arc<dyn InboxTier>,
}

impl Ports {
    /// All ports, with one adapter behind those of the primary store.
    pub fn with_primary_store<T>(
        store: Arc<T>,
        queue: Arc<dyn Queue>,
        outbox_cache: Option<Arc<dyn OutboxCache>>,
        announcements: Arc<dyn Announcements>,
    ) -> Self
    where
        T: Accounts
            + AccountDeletions
            + Attempts
            + Sessions
            + Profiles
            + People
            + Identities
            + Cards
            + Contents
            + Follows
            + Exclusions
            + FollowLists
            + Reactions
            + ReadMarkers
            + SearchTerms
            + Timelines
            + Deliveries
            + Inboxes
            + Relations
            + 'static,
    {
        Self {
            accounts: store.clone(),
            account_deletions: store.clone(),
            attempts: store.clone(),
            sessions: store.clone(),
            profiles: store.clone(),
            people: store.clone(),
            identities: store.clone(),
            cards: store.clone(),
            contents: store.clone(),
            follows: store.clone(),
            delivered_follows: store.clone(),
            follow_lists: store.clone(),
            reactions: store.clone(),
            read_markers: store.clone(),
            search_terms: store.clone(),
            exclusions: store.clone(),
            timelines: store.clone(),
            deliveries: store.clone(),
            inboxes: store.clone(),
            tier: Arc::new(InSql::of(store.clone())),
            relations: store,
            queue,
            outbox_cache,
            announcements,
        }
    }
}

impl Ports {
    /// Uses `store` for deliveries and inbox updates: the same store with its own connections, so that this work does
    /// not wait for readers.
    #[must_use]
    pub fn delivering_by<T>(self, store: Arc<T>) -> Self
    where
        T: Deliveries + Follows + Inboxes + Relations + 'static,
    {
        Self {
            deliveries: store.clone(),
            delivered_follows: store.clone(),
            inboxes: store.clone(),
            tier: Arc::new(InSql::of(store.clone())),
            relations: store,
            ..self
        }
    }

    /// Has the inboxes of active readers in a store outside SQL. `step`: rows that an inbox in SQL grows by.
    #[must_use]
    pub fn with_outside(self, stores: OutsideStores, step: u32, (clock, rng): (&SharedClock, &SharedRng)) -> Self {
        let in_sql = self.tier.in_sql().clone();
        Self { tier: Arc::new(OutsideTier::new(stores, in_sql, step, (clock.clone(), rng.clone()))), ..self }
    }
}

/// The settings of the use cases.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Decides which followers are pushed to.
    pub policy: DeliveryPolicy,
    /// Which followers a cut delivery serves first.
    pub first: FirstServed,
    /// Followers of a subtask.
    pub subtask_size: u32,
    /// Inbox rows of one transaction of a subtask.
    pub batch_size: u32,
    /// Most batches of a delivery that is made in one transaction.
    pub batches_at_once: u32,
    /// How long a subtask's lease lasts, in ms.
    pub lease_ms: i64,
    /// Failures after which a delivery counts as failing.
    pub failing_after: u32,
    /// How much inboxes hold.
    pub tiers: InboxTiers,
    /// How often a present reader is noted, in ms.
    pub seen_every_ms: i64,
    /// Bounds of live feeds.
    pub live: LiveSettings,
}

/// Messages that a dispatcher takes at a time.
const DISPATCH_BATCH: usize = 16;

/// All use cases of a node.
pub struct UseCases {
    /// Notes visits.
    pub visits: Arc<Visits>,
    /// Reads timelines.
    pub reader: Arc<TimelineReader>,
    /// Reads lists.
    pub lists: Arc<ListReader>,
    /// Searches contents.
    pub searcher: Arc<Searcher>,
    /// Moves read markers.
    pub read_marker: Arc<ReadMarker>,
    /// Publishes and removes.
    pub publisher: Arc<Publisher>,
    /// Likes, bookmarks, and undoes both.
    pub reacting: Arc<Reacting>,
    /// Changes profiles.
    pub profiles: Arc<ProfilesService>,
    /// Follows and unfollows.
    pub following: Arc<Following>,
    /// Mutes, hides and blocks.
    pub excluding: Arc<Excluding>,
    /// Opens live feeds.
    pub live: Arc<LiveFeed<FeedShare>>,
    /// This node's subscribers.
    pub hub: Arc<Hub<FeedShare>>,
    /// Cuts deliveries into subtasks.
    pub dispatcher: Arc<Dispatcher>,
    /// Runs subtasks: writes inbox rows.
    pub executor: Arc<SubtaskExecutor>,
    /// Updates inboxes after follows and unfollows.
    pub reconciler: Arc<RelationReconciler>,
    /// Reactivates returning readers.
    pub reactivator: Arc<Reactivator>,
    /// Lost notifications, lapsed readers.
    pub sweeper: Arc<Sweeper>,
    /// Trims overfull inboxes.
    pub trimmer: Arc<Trimmer>,
    /// Deletes ended sessions.
    pub pruner: Arc<Pruner>,
    /// Deletes the rows of deleted accounts.
    pub remover: Arc<AccountRemover>,
    /// Indexes contents that are older than the search index.
    pub indexer: Arc<Indexer>,
}

impl UseCases {
    /// Builds all use cases. Nothing runs yet.
    pub fn build(ports: &Ports, settings: Settings, clock: &SharedClock, rng: &SharedRng) -> Self {
        let hub = Arc::new(Hub::new(ports.timelines.clone(), settings.live.buffer));
        let visits = Arc::new(Visits::new(ports.queue.clone(), clock.clone(), settings.seen_every_ms));
        let reader = Arc::new(TimelineReader::new(
            ports.timelines.clone(),
            ports.contents.clone(),
            ports.outbox_cache.clone(),
            visits.clone(),
            ports.tier.outside().cloned(),
        ));
        Self {
            visits,
            searcher: Arc::new(Searcher::new(ports.search_terms.clone())),
            read_marker: Arc::new(ReadMarker::new(
                ports.read_markers.clone(),
                ports.announcements.clone(),
                reader.clone(),
            )),
            lists: Arc::new(ListReader::new(list_stores(ports))),
            publisher: Arc::new(publisher(ports, clock, rng)),
            reacting: Arc::new(Reacting::new(
                ports.contents.clone(),
                ports.reactions.clone(),
                clock.clone(),
                rng.clone(),
            )),
            profiles: Arc::new(ProfilesService::new(ports.profiles.clone(), rng.clone())),
            following: Arc::new(Following::new(
                ports.follows.clone(),
                ports.queue.clone(),
                ports.announcements.clone(),
                clock.clone(),
                rng.clone(),
            )),
            excluding: Arc::new(Excluding::new(
                ports.exclusions.clone(),
                ports.queue.clone(),
                ports.announcements.clone(),
                (clock.clone(), rng.clone()),
            )),
            live: Arc::new(LiveFeed::new(hub.clone(), ports.follows.clone(), reader.clone(), settings.live)),
            hub,
            reader,
            dispatcher: Arc::new(dispatcher(ports, settings, clock, rng)),
            executor: Arc::new(executor(ports, settings, clock, rng)),
            reconciler: Arc::new(reconciler(ports, settings, clock, rng)),
            reactivator: Arc::new(reactivator(ports, settings, clock, rng)),
            sweeper: Arc::new(sweeper(ports, settings, clock, rng)),
            trimmer: Arc::new(Trimmer::new(ports.inboxes.clone(), settings.tiers, clock.clone())),
            pruner: Arc::new(Pruner::new(ports.sessions.clone(), ports.attempts.clone(), clock.clone())),
            remover: Arc::new(remover(ports, clock, rng)),
            indexer: Arc::new(Indexer::new(ports.search_terms.clone(), ports.people.clone())),
        }
    }
}

fn list_stores(ports: &Ports) -> ListStores {
    ListStores {
        contents: ports.contents.clone(),
        follow_lists: ports.follow_lists.clone(),
        reactions: ports.reactions.clone(),
        exclusions: ports.exclusions.clone(),
        people: ports.people.clone(),
    }
}

fn publisher(ports: &Ports, clock: &SharedClock, rng: &SharedRng) -> Publisher {
    let contents = ports.contents.clone();
    Publisher::new(contents, ports.queue.clone(), ports.announcements.clone(), clock.clone(), rng.clone())
        .with_outbox_cache(ports.outbox_cache.clone())
}

fn dispatcher(ports: &Ports, settings: Settings, clock: &SharedClock, rng: &SharedRng) -> Dispatcher {
    let batch = settings.batch_size.min(settings.subtask_size);
    let options = DispatcherOptions {
        subtask_size: settings.subtask_size,
        at_once: batch.saturating_mul(settings.batches_at_once).min(MAX_DELIVERED_AT_ONCE),
        policy: settings.policy,
        first: settings.first,
        batch: DISPATCH_BATCH,
    };
    let tier = ports.tier.clone();
    Dispatcher::new(ports.deliveries.clone(), ports.queue.clone(), tier, options, (clock.clone(), rng.clone()))
}

fn executor(ports: &Ports, settings: Settings, clock: &SharedClock, rng: &SharedRng) -> SubtaskExecutor {
    let options =
        ExecutorOptions { batch_size: settings.batch_size, lease_ms: settings.lease_ms, policy: settings.policy };
    SubtaskExecutor::new(
        ports.deliveries.clone(),
        ports.delivered_follows.clone(),
        ports.queue.clone(),
        ports.tier.clone(),
        options,
        (clock.clone(), rng.clone()),
    )
}

fn reconciler(ports: &Ports, settings: Settings, clock: &SharedClock, rng: &SharedRng) -> RelationReconciler {
    let (inboxes, keep) = (ports.inboxes.clone(), settings.tiers.keep);
    let times = (clock.clone(), rng.clone());
    RelationReconciler::new(ports.relations.clone(), inboxes, ports.queue.clone(), ports.tier.clone(), keep, times)
}

fn reactivator(ports: &Ports, settings: Settings, clock: &SharedClock, rng: &SharedRng) -> Reactivator {
    let options = ReactivatorOptions { policy: settings.policy, tiers: settings.tiers };
    let times = (clock.clone(), rng.clone());
    let (inboxes, follows, queue) = (ports.inboxes.clone(), ports.follows.clone(), ports.queue.clone());
    Reactivator::new(inboxes, follows, queue, ports.tier.clone(), options, times)
}

fn remover(ports: &Ports, clock: &SharedClock, rng: &SharedRng) -> AccountRemover {
    let stores = RemoverStores {
        deletions: ports.account_deletions.clone(),
        contents: ports.contents.clone(),
        follows: ports.follows.clone(),
        tier: ports.tier.clone(),
    };
    AccountRemover::new(stores, clock.clone(), rng.clone())
}

fn sweeper(ports: &Ports, settings: Settings, clock: &SharedClock, rng: &SharedRng) -> Sweeper {
    let stores = SweptStores {
        deliveries: ports.deliveries.clone(),
        relations: ports.relations.clone(),
        inboxes: ports.inboxes.clone(),
        queue: ports.queue.clone(),
    };
    Sweeper::new(stores, settings.policy, settings.failing_after, clock.clone(), rng.clone())
}
