//! What the resolvers can call: use cases, and the ports that hydration reads.
//!
//! Apart, so that the composition root fills one struct. It refuses to know any adapter.

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use crate::{
    api::auth::{AccountsService, SessionsService},
    clock::SharedClock,
    follow::{Boundaries, Following},
    live::LiveFeed,
    publish::Publisher,
    read::{ReadMarker, Searcher, TimelineReader},
    store::{Accounts, Contents, Exclusions, FollowLists, Follows, Profiles, Reactions},
};

/// Everything behind the schema.
pub struct Services {
    /// Registers and signs in.
    pub accounts_service: Arc<AccountsService>,
    /// Refreshes and ends what signing in has begun.
    pub sessions: Arc<SessionsService>,
    /// Changes profiles.
    pub profiles: Arc<dyn Profiles>,
    /// Reads timelines.
    pub timelines: Arc<TimelineReader>,
    /// Finds contents.
    pub searcher: Arc<Searcher>,
    /// Moves read markers.
    pub read_marker: Arc<ReadMarker>,
    /// Publishes and removes.
    pub publisher: Arc<Publisher>,
    /// Follows and unfollows.
    pub following: Arc<Following>,
    /// Mutes, hides and blocks.
    pub boundaries: Arc<Boundaries>,
    /// Opens live feeds.
    pub live: Arc<LiveFeed>,
    /// Profiles and their counts.
    pub accounts: Arc<dyn Accounts>,
    /// Contents, their counters, and authors' own contents.
    pub contents: Arc<dyn Contents>,
    /// Whom the viewer follows.
    pub follows: Arc<dyn Follows>,
    /// Followers and the followed, as lists.
    pub follow_lists: Arc<dyn FollowLists>,
    /// Likes and favourites.
    pub reactions: Arc<dyn Reactions>,
    /// Whom the viewer keeps out, and from whom they hide.
    pub exclusions: Arc<dyn Exclusions>,
    /// Decides whether a token has ended since it was checked.
    pub clock: SharedClock,
    /// Batches of the loaders run here where they run beside no operation; each ends with its statement.
    pub tasks: TaskTracker,
}
