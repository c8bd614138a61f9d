//! What the resolvers can call: use cases, and ports of which they only read.
//!
//! Whatever writes is a use case. `tests/tidy.rs` lists the methods of ports that resolvers may call.

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use crate::{
    accounts::{AccountsService, ProfilesService, SessionsService, export::Exports},
    clock::SharedClock,
    follow::{Excluding, Following},
    live::LiveFeed,
    publish::{Publisher, Reacting},
    read::{ReadMarker, Searcher, TimelineReader},
    store::{Accounts, Cards, Contents, Exclusions, FollowLists, Follows, People, Profiles, Reactions},
};

/// Everything behind the schema. The fields are public, because the composition root and tests fill them.
pub struct Services {
    /// Registers and signs in.
    pub accounts_service: Arc<AccountsService>,
    /// Refreshes and ends what signing in has begun.
    pub sessions: Arc<SessionsService>,
    /// Makes links to copies of accounts.
    pub exports: Arc<Exports>,
    /// Changes profiles.
    pub profiles_service: Arc<ProfilesService>,
    /// Reads timelines.
    pub timelines: Arc<TimelineReader>,
    /// Finds contents.
    pub searcher: Arc<Searcher>,
    /// Moves read markers.
    pub read_marker: Arc<ReadMarker>,
    /// Publishes and removes.
    pub publisher: Arc<Publisher>,
    /// Likes and keeps contents, and takes that back.
    pub reacting: Arc<Reacting>,
    /// Follows and unfollows.
    pub following: Arc<Following>,
    /// Mutes, hides and blocks.
    pub excluding: Arc<Excluding>,
    /// Opens live feeds.
    pub live: Arc<LiveFeed>,
    /// Profiles and their counts.
    pub accounts: Arc<dyn Accounts>,
    /// Open attributes of profiles.
    pub profiles: Arc<dyn Profiles>,
    /// Finds people.
    pub people: Arc<dyn People>,
    /// Contents and users with what is shown beside them.
    pub cards: Arc<dyn Cards>,
    /// Contents, their counters, and authors' own contents.
    pub contents: Arc<dyn Contents>,
    /// Whom the viewer follows.
    pub follows: Arc<dyn Follows>,
    /// Followers and the followed, as lists.
    pub follow_lists: Arc<dyn FollowLists>,
    /// Likes and bookmarks.
    pub reactions: Arc<dyn Reactions>,
    /// Whom the viewer keeps out, and from whom they hide.
    pub exclusions: Arc<dyn Exclusions>,
    /// Decides whether a token has ended since it was checked.
    pub clock: SharedClock,
    /// Batches of the loaders run here where they run beside no operation; each ends with its statement.
    pub tasks: TaskTracker,
}
