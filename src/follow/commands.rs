//! Follow and unfollow. Each is one transaction and takes effect on the next read; the inbox follows later.

use std::sync::Arc;

use crate::{
    clock::SharedClock,
    domain::{EdgeMode, UserId},
    rng::SharedRng,
    store::{
        Announcements, Follows, Queue, StoreError,
        announcements::{Announcement, RelationChange},
        follows::Followed,
        queue::Message,
        relations::Pair,
    },
    telemetry::notifications::note_lost,
};

/// How a follow ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowOutcome {
    /// The reader follows the author now, and also sees old contents. Perhaps they did before.
    Following,
    /// There is no such author.
    UnknownAuthor,
    /// The reader already follows the maximum number of authors.
    TooMany,
    /// One of the two has blocked the other.
    Blocked,
}

/// How an unfollow ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnfollowOutcome {
    /// The reader does not follow the author now. Perhaps they did not before.
    NotFollowing,
    /// Nobody can unfollow themselves: their own contents stay in their timeline.
    Oneself,
}

/// The commands on follow edges.
pub struct Following {
    follows: Arc<dyn Follows>,
    queue: Arc<dyn Queue>,
    announcements: Arc<dyn Announcements>,
    clock: SharedClock,
    rng: SharedRng,
}

impl Following {
    /// Does no I/O.
    #[must_use]
    pub fn new(
        follows: Arc<dyn Follows>,
        queue: Arc<dyn Queue>,
        announcements: Arc<dyn Announcements>,
        clock: SharedClock,
        rng: SharedRng,
    ) -> Self {
        Self { follows, queue, announcements, clock, rng }
    }

    /// `reader` follows `author`. Idempotent.
    pub async fn follow(&self, reader: UserId, author: UserId) -> Result<FollowOutcome, StoreError> {
        let now = self.clock.now_ms();
        match self.follows.follow(reader, author, EdgeMode::Fill, self.rng.incarnation(), now).await? {
            Followed::New => self.notify(Pair { follower: reader, author }, RelationChange::Followed).await,
            Followed::Already => {}
            Followed::UnknownAuthor => return Ok(FollowOutcome::UnknownAuthor),
            Followed::TooMany => return Ok(FollowOutcome::TooMany),
            Followed::Blocked => return Ok(FollowOutcome::Blocked),
        }
        Ok(FollowOutcome::Following)
    }

    /// Ends the follow of `author` by `reader`. Idempotent.
    pub async fn unfollow(&self, reader: UserId, author: UserId) -> Result<UnfollowOutcome, StoreError> {
        if reader == author {
            return Ok(UnfollowOutcome::Oneself);
        }
        if self.follows.unfollow(reader, author, self.rng.version(), self.clock.now_ms()).await? {
            self.notify(Pair { follower: reader, author }, RelationChange::Unfollowed).await;
        }
        Ok(UnfollowOutcome::NotFollowing)
    }

    /// Best effort: the pair's pending record is committed, and sweepers find it.
    async fn notify(&self, pair: Pair, change: RelationChange) {
        let messages = [Message::RelationChanged { pair }];
        let Pair { follower: reader, author } = pair;
        let announcement = Announcement::FollowsChanged { reader, author: Some(author), change: Some(change) };
        let (sent, announced) =
            futures_util::join!(self.queue.send(&messages), self.announcements.announce(&announcement));
        note_lost("queue", sent);
        note_lost("announcement", announced);
    }
}
