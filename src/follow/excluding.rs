//! Mute, hide and block, and their reversal: one transaction each, in effect from the next read on.

use crate::{
    ambient::Ambient,
    domain::UserId,
    store::{
        Ports, StoreError,
        announcements::{Announcement, RelationChange},
        exclusions::{Blocked, Excluded},
        queue::Message,
        relations::Pair,
    },
    telemetry::notifications::note_lost,
};

/// The outcome of a mute, hide or block, or of its reversal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExclusionOutcome {
    /// The request is in force; perhaps it was before.
    Done,
    /// There is no such user.
    UnknownUser,
    /// Users cannot exclude themselves.
    Oneself,
}

/// The commands on exclusions. All are idempotent.
pub struct Excluding {
    ports: Ports,
    ambient: Ambient,
}

impl Excluding {
    /// Commands on the exclusions in `ports`.
    pub fn new(ports: &Ports, ambient: &Ambient) -> Self {
        Self { ports: ports.clone(), ambient: ambient.clone() }
    }

    /// Keeps `author` out of `reader`'s timeline. The follow stays.
    pub async fn mute(&self, reader: UserId, author: UserId) -> Result<ExclusionOutcome, StoreError> {
        if reader == author {
            return Ok(ExclusionOutcome::Oneself);
        }
        let excluded = self.ports.exclusions.mute(reader, author, self.ambient.rng.version()).await?;
        Ok(self.excluded(excluded, reader, author).await)
    }

    /// Undoes [`Self::mute`].
    pub async fn unmute(&self, reader: UserId, author: UserId) -> Result<ExclusionOutcome, StoreError> {
        if self.ports.exclusions.unmute(reader, author, self.ambient.rng.version()).await? {
            self.announce_to_reader(reader, author, RelationChange::Included).await;
        }
        Ok(ExclusionOutcome::Done)
    }

    /// Keeps `author` out of `reader`'s timeline, even if the reader follows. The author's page stays open to the
    /// reader.
    pub async fn hide(&self, author: UserId, reader: UserId) -> Result<ExclusionOutcome, StoreError> {
        if reader == author {
            return Ok(ExclusionOutcome::Oneself);
        }
        let excluded = self.ports.exclusions.hide(author, reader, self.ambient.rng.version()).await?;
        Ok(self.excluded(excluded, reader, author).await)
    }

    /// Undoes [`Self::hide`].
    pub async fn unhide(&self, author: UserId, reader: UserId) -> Result<ExclusionOutcome, StoreError> {
        if self.ports.exclusions.unhide(author, reader, self.ambient.rng.version()).await? {
            self.announce_to_reader(reader, author, RelationChange::Included).await;
        }
        Ok(ExclusionOutcome::Done)
    }

    /// Hides the contents of both from each other, ends both follows, and prevents new ones until the block is lifted.
    pub async fn block(&self, user: UserId, other: UserId) -> Result<ExclusionOutcome, StoreError> {
        if user == other {
            return Ok(ExclusionOutcome::Oneself);
        }
        match self.ports.exclusions.block(user, other, self.ambient.rng.version(), self.ambient.now_ms()).await? {
            Blocked::New { ended } => {
                self.notify_reconcilers(&ended).await;
                self.announce_to_both(user, other, RelationChange::Excluded).await;
                self.announce_counts(&ended).await;
            }
            Blocked::Already => {}
            Blocked::UnknownUser => return Ok(ExclusionOutcome::UnknownUser),
        }
        Ok(ExclusionOutcome::Done)
    }

    /// Undoes [`Self::block`], except that the follow edges stay ended.
    pub async fn unblock(&self, user: UserId, other: UserId) -> Result<ExclusionOutcome, StoreError> {
        if self.ports.exclusions.unblock(user, other, self.ambient.rng.version()).await? {
            self.announce_to_both(user, other, RelationChange::Included).await;
        }
        Ok(ExclusionOutcome::Done)
    }

    async fn excluded(&self, excluded: Excluded, reader: UserId, author: UserId) -> ExclusionOutcome {
        match excluded {
            Excluded::New => self.announce_to_reader(reader, author, RelationChange::Excluded).await,
            Excluded::Already => {}
            Excluded::UnknownUser => return ExclusionOutcome::UnknownUser,
        }
        ExclusionOutcome::Done
    }

    /// Best effort: the pending records are committed, and sweepers find them.
    async fn notify_reconcilers(&self, ended: &[Pair]) {
        let messages: Vec<Message> = ended.iter().map(|pair| Message::RelationChanged { pair: *pair }).collect();
        if !messages.is_empty() {
            note_lost("queue", self.ports.queue.send(&messages).await);
        }
    }

    /// Best effort: makes the reader's subscriptions read the timeline again.
    async fn announce_to_reader(&self, reader: UserId, author: UserId, change: RelationChange) {
        let announcement = Announcement::FollowsChanged { reader, author: Some(author), change: Some(change) };
        note_lost("announcement", self.ports.announcements.announce(&announcement).await);
    }

    /// Best effort: who shows one of the two reads their counts again.
    async fn announce_counts(&self, ended: &[Pair]) {
        for user in ended.first().into_iter().flat_map(|pair| [pair.follower, pair.author]) {
            let changed = Announcement::Changed { shown: user.into() };
            note_lost("announcement", self.ports.announcements.announce(&changed).await);
        }
    }

    /// As [`Self::announce_to_reader`], for both sides.
    async fn announce_to_both(&self, user: UserId, other: UserId, change: RelationChange) {
        self.announce_to_reader(user, other, change).await;
        self.announce_to_reader(other, user, change).await;
    }
}
