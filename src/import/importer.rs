//! Commits a batch of an import, ends the deliveries of its contents, and tells who watches. An import is quiet: there
//! is no event for each content or follow, only one announcement for each author and each new follower.

use futures_util::future::join_all;
use quick_cache::sync::Cache;

use crate::{
    ambient::Ambient,
    domain::{
        ContentId, Entry, UserId,
        delivery::subtask::{END, Range},
    },
    store::{
        Ports, StoreError,
        announcements::{Announcement, RelationChange},
        deliveries::Together,
        imports::{Applied, AppliedBatch, ImportBatch, ImportStep},
        queue::Message,
    },
    telemetry::notifications::note_lost,
};

/// From when on an author's edges become `Pull`, because history is read from the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImporterLimits {
    /// The most contents of an author, times their targets, that one transaction delivers.
    pub rows_at_once: u64,
    /// The most contents of an author, imported by this process, of which anybody is pushed to.
    pub pushed_contents: u64,
}

impl Default for ImporterLimits {
    fn default() -> Self {
        Self { rows_at_once: 10_000, pushed_contents: 2_000 }
    }
}

/// Authors whose imported contents are counted.
const COUNTED_AUTHORS: usize = 100_000;

/// Commits batches of imports.
pub struct Importer {
    ports: Ports,
    ambient: Ambient,
    limits: ImporterLimits,
    /// How many contents of an author have come so far. Decides what deliveries cost, and nothing else.
    brought: Cache<UserId, u64>,
}

impl Importer {
    /// An importer into `ports` with the default limits.
    pub fn new(ports: &Ports, ambient: &Ambient) -> Self {
        let (limits, brought) = (ImporterLimits::default(), Cache::new(COUNTED_AUTHORS));
        Self { ports: ports.clone(), ambient: ambient.clone(), limits, brought }
    }

    /// The same with other limits.
    #[must_use]
    pub fn limited_to(self, limits: ImporterLimits) -> Self {
        Self { limits, ..self }
    }

    /// As [`crate::store::Imports::apply`]. When this returns, every read shows the batch. What follows it is best
    /// effort: dispatchers, reconcilers and catch-ups make up for whatever is lost.
    pub async fn apply(&self, step: &ImportStep, batch: &ImportBatch) -> Result<Applied, StoreError> {
        let applied = self.ports.imports.apply(step, batch).await?;
        if let Applied::Committed(done) = &applied {
            self.follow_up(done, batch).await;
        }
        Ok(applied)
    }

    async fn follow_up(&self, done: &AppliedBatch, batch: &ImportBatch) {
        if let Err(error) = self.deliver(done, batch).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "The deliveries of imported contents could not be ended at once. The sweeper will find them."
            );
        }
        let relations: Vec<Message> =
            done.unfollowed.iter().map(|pair| Message::RelationChanged { pair: *pair }).collect();
        if !relations.is_empty() {
            note_lost("queue", self.ports.queue.send(&relations).await);
        }
        let changed = |reader, author, change| Announcement::FollowsChanged { reader, author, change: Some(change) };
        let outboxes = done.authors.iter().map(|author| Announcement::OutboxChanged { author: *author });
        // Also to readers whose inbox is off: one who has just come back may be watching.
        let follows = done.followers.iter().map(|reader| changed(*reader, None, RelationChange::Followed));
        let excluded = done.excluded.iter().map(|it| changed(it.follower, Some(it.author), RelationChange::Excluded));
        let announcements = outboxes.chain(follows).chain(excluded);
        let announced = announcements.map(async |it| self.ports.announcements.announce(&it).await);
        for announced in join_all(announced).await {
            note_lost("announcement", announced);
        }
    }

    /// docs/protocol.md#deliveries-of-a-batch. What one transaction must not end goes to the dispatchers.
    async fn deliver(&self, done: &AppliedBatch, batch: &ImportBatch) -> Result<(), StoreError> {
        let (many, few) = self.sorted(done, batch);
        let mut left = Vec::new();
        for (contents, most) in [(few, self.limits.rows_at_once), (many, 0)] {
            left.extend(self.deliver_some(&contents, most).await?);
        }
        let messages: Vec<Message> = left.into_iter().map(|entry| Message::ContentPublished { entry }).collect();
        if !messages.is_empty() {
            note_lost("queue", self.ports.queue.send(&messages).await);
        }
        Ok(())
    }

    /// The new contents: those of authors of whom many have come, and the others.
    fn sorted(&self, done: &AppliedBatch, batch: &ImportBatch) -> (Vec<ContentId>, Vec<ContentId>) {
        let ImportBatch::Contents(contents) = batch else { return (Vec::new(), Vec::new()) };
        let published: std::collections::HashSet<ContentId> = done.published.iter().copied().collect();
        let (mut many, mut few) = (Vec::new(), Vec::new());
        for content in contents.iter().filter(|it| published.contains(&it.id)) {
            let brought = self.brought.get(&content.author).unwrap_or(0) + 1;
            self.brought.insert(content.author, brought);
            if brought > self.limits.pushed_contents { many.push(content.id) } else { few.push(content.id) }
        }
        (many, few)
    }

    /// Ends deliveries; of authors with too many targets once these are pulled. Returns those that are left.
    async fn deliver_some(&self, contents: &[ContentId], most: u64) -> Result<Vec<Entry>, StoreError> {
        let Together { mut left, too_many, .. } = self.ports.deliveries.deliver_together(contents, most).await?;
        if too_many.is_empty() {
            return Ok(left);
        }
        let mut authors: Vec<UserId> = too_many.iter().map(|entry| entry.author).collect();
        authors.sort_unstable();
        authors.dedup();
        for author in authors {
            self.demote(author).await?;
        }
        let contents: Vec<ContentId> = too_many.iter().map(|entry| entry.content).collect();
        // The author's own edge stays.
        let again = self.ports.deliveries.deliver_together(&contents, most.max(contents.len() as u64)).await?;
        left.extend(again.left);
        left.extend(again.too_many);
        Ok(left)
    }

    /// docs/protocol.md#promote-and-demote: the author's edges become `Pull`, but for the author's own. A visit
    /// promotes them again.
    async fn demote(&self, author: UserId) -> Result<(), StoreError> {
        let everybody = Range { after: 0, through: END };
        loop {
            let readers = self.ports.delivered_follows.pushed_readers(author, everybody, None).await?;
            let readers: Vec<UserId> = readers.into_iter().map(|it| it.reader).filter(|it| *it != author).collect();
            if readers.is_empty() {
                return Ok(());
            }
            self.ports.delivered_follows.demote(author, &readers, self.ambient.rng.version()).await?;
        }
    }
}
