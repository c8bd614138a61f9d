//! Declares the use cases of a node, and builds them over ports. Names no adapter: tests build the same over other
//! stores.

use std::sync::Arc;

use crate::{
    accounts::{AccountRemover, ProfilesService, Pruner},
    ambient::Ambient,
    domain::{delivery::DeliveryPolicy, limits::MAX_DELIVERED_AT_ONCE, timeline::tier::InboxTiers},
    follow::{Excluding, Following, RelationReconciler},
    import::Importer,
    live::{Hub, LiveFeed, LiveSettings},
    publish::{
        Dispatcher, DispatcherOptions, ExecutorOptions, FirstServed, Indexer, Publisher, Reacting, SubtaskExecutor,
    },
    read::{ExternalContents, ReadMarker, Readers, Searcher, TimelineReader, lists::ListReader},
    store::Ports,
    upkeep::{CountGatherer, Reactivator, ReactivatorOptions, Sweeper, Trimmer},
};

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
    /// How long the log of services is kept, in ms.
    pub service_log_ms: i64,
    /// Bounds of live feeds.
    pub live: LiveSettings,
}

/// Messages that a dispatcher takes at a time.
const DISPATCH_BATCH: usize = 16;

impl Settings {
    fn dispatcher(&self) -> DispatcherOptions {
        let Self { policy, first, subtask_size, .. } = *self;
        let at_once = self.batch_size.min(subtask_size).saturating_mul(self.batches_at_once);
        DispatcherOptions {
            subtask_size,
            at_once: at_once.min(MAX_DELIVERED_AT_ONCE),
            policy,
            first,
            batch: DISPATCH_BATCH,
        }
    }

    const fn executor(&self) -> ExecutorOptions {
        ExecutorOptions { batch_size: self.batch_size, lease_ms: self.lease_ms, policy: self.policy }
    }
}

/// All use cases of a node; `S` as in [`crate::live::Batch`].
pub struct UseCases<S> {
    /// Remembers readers, and notes their visits.
    pub readers: Arc<Readers>,
    /// Reads timelines.
    pub reader: Arc<TimelineReader>,
    /// Reads lists.
    pub lists: Arc<ListReader>,
    /// Finds contents by the product's own ids.
    pub external_contents: Arc<ExternalContents>,
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
    /// Commits batches of imports.
    pub importer: Arc<Importer>,
    /// Opens live feeds.
    pub live: Arc<LiveFeed<S>>,
    /// This node's subscribers.
    pub hub: Arc<Hub<S>>,
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
    /// Adds the changes of spread counts to their rows.
    pub count_gatherer: Arc<CountGatherer>,
    /// Deletes ended sessions.
    pub pruner: Arc<Pruner>,
    /// Deletes the rows of deleted accounts.
    pub remover: Arc<AccountRemover>,
    /// Indexes contents that are older than the search index.
    pub indexer: Arc<Indexer>,
}

impl<S: Default> UseCases<S> {
    /// Builds all use cases. Nothing runs yet.
    pub fn build(ports: &Ports, settings: Settings, ambient: &Ambient) -> Self {
        let Settings { policy, tiers, .. } = settings;
        let hub = Arc::new(Hub::new(ports.timelines.clone(), ports.announcements.clone(), settings.live.buffer));
        let shown = (ports.follows.clone(), ports.contents.clone());
        let readers = Arc::new(Readers::new(ports.queue.clone(), ambient.clock.clone(), settings.seen_every_ms));
        let reader = Arc::new(TimelineReader::new(ports, readers.clone()));
        let (markers, announcements) = (ports.accounts.clone(), ports.announcements.clone());
        let returning = ReactivatorOptions { policy, tiers };
        Self {
            reactivator: Arc::new(Reactivator::new(ports, readers.clone(), returning, ambient)),
            readers,
            lists: Arc::new(ListReader::new(ports)),
            external_contents: Arc::new(ExternalContents::new(ports.contents.clone(), ambient.clock.clone())),
            searcher: Arc::new(Searcher::new(ports.contents.clone())),
            read_marker: Arc::new(ReadMarker::new(markers, announcements, reader.clone())),
            publisher: Arc::new(Publisher::new(ports, ambient)),
            reacting: Arc::new(Reacting::new(ports, ambient)),
            profiles: Arc::new(ProfilesService::new(ports.accounts.clone(), ambient.rng.clone())),
            following: Arc::new(Following::new(ports, ambient)),
            excluding: Arc::new(Excluding::new(ports, ambient)),
            importer: Arc::new(Importer::new(ports, ambient)),
            live: Arc::new(LiveFeed::new(hub.clone(), shown, reader.clone(), settings.live)),
            hub,
            reader,
            dispatcher: Arc::new(Dispatcher::new(ports, settings.dispatcher(), ambient)),
            executor: Arc::new(SubtaskExecutor::new(ports, settings.executor(), ambient)),
            reconciler: Arc::new(RelationReconciler::new(ports, tiers.keep, ambient)),
            sweeper: Arc::new(Sweeper::new(ports, policy, settings.failing_after, ambient)),
            trimmer: Arc::new(Trimmer::new(ports.inboxes.clone(), tiers, ambient.clock.clone())),
            count_gatherer: Arc::new(CountGatherer::new(ports.contents.clone(), ambient.clock.clone())),
            pruner: Arc::new(Pruner::new(ports.accounts.clone(), settings.service_log_ms, ambient.clock.clone())),
            remover: Arc::new(AccountRemover::new(ports, ambient)),
            indexer: Arc::new(Indexer::new(ports)),
        }
    }
}
