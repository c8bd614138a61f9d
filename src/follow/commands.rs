//! Follow and unfollow. Each is one transaction and takes effect on the next read; the inbox follows later.

use crate::{
    ambient::Ambient,
    domain::{EdgeMode, UserId},
    store::{
        Ports, StoreError,
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
    ports: Ports,
    ambient: Ambient,
}

impl Following {
    /// Commands on the follow edges in `ports`.
    pub fn new(ports: &Ports, ambient: &Ambient) -> Self {
        Self { ports: ports.clone(), ambient: ambient.clone() }
    }

    /// `reader` follows `author`. Idempotent.
    pub async fn follow(&self, reader: UserId, author: UserId) -> Result<FollowOutcome, StoreError> {
        let now = self.ambient.now_ms();
        match self.ports.follows.follow(reader, author, EdgeMode::Fill, self.ambient.rng.incarnation(), now).await? {
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
        if self.ports.follows.unfollow(reader, author, self.ambient.rng.version(), self.ambient.now_ms()).await? {
            self.notify(Pair { follower: reader, author }, RelationChange::Unfollowed).await;
        }
        Ok(UnfollowOutcome::NotFollowing)
    }

    /// Best effort: the pair's pending record is committed, and sweepers find it.
    async fn notify(&self, pair: Pair, change: RelationChange) {
        let messages = [Message::RelationChanged { pair }];
        let Pair { follower: reader, author } = pair;
        let announcement = Announcement::FollowsChanged { reader, author: Some(author), change: Some(change) };
        let changed = Announcement::Changed { shown: author.into() };
        let (sent, announced, shown) = futures_util::join!(
            self.ports.queue.send(&messages),
            self.ports.announcements.announce(&announcement),
            self.ports.announcements.announce(&changed)
        );
        note_lost("queue", sent);
        note_lost("announcement", announced.and(shown));
    }
}
