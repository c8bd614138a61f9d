//! What resolvers can call: use cases, and ports that they only read.
//!
//! Only use cases write. `tests/tidy.rs` lists the port methods that resolvers may call.

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use super::{feed_share::FeedShare, remembered_json::RememberedJson};
use crate::{
    accounts::{AccountsService, ProfilesService, SessionsService, export::Exports},
    clock::SharedClock,
    follow::{Excluding, Following},
    live::LiveFeed,
    publish::{Publisher, Reacting},
    read::{ReadMarker, Searcher, TimelineReader, lists::ListReader},
    store::{Accounts, Cards, Contents, Exclusions, Follows, Profiles, Reactions},
};

/// The services behind the schema. The fields are public, because the composition root and tests fill them.
pub struct Services {
    /// Registers users and signs them in.
    pub accounts_service: Arc<AccountsService>,
    /// Refreshes and ends sessions.
    pub sessions: Arc<SessionsService>,
    /// Issues links to exports.
    pub exports: Arc<Exports>,
    /// Changes profiles.
    pub profiles_service: Arc<ProfilesService>,
    /// Reads timelines.
    pub timelines: Arc<TimelineReader>,
    /// Reads lists: of contents, of people, of reactions.
    pub lists: Arc<ListReader>,
    /// Searches contents.
    pub searcher: Arc<Searcher>,
    /// Moves read markers.
    pub read_marker: Arc<ReadMarker>,
    /// Publishes and removes.
    pub publisher: Arc<Publisher>,
    /// Likes, bookmarks, and undoes both.
    pub reacting: Arc<Reacting>,
    /// Follows and unfollows.
    pub following: Arc<Following>,
    /// Mutes, hides and blocks.
    pub excluding: Arc<Excluding>,
    /// Opens live feeds.
    pub live: Arc<LiveFeed<FeedShare>>,
    /// Profiles and their counts.
    pub accounts: Arc<dyn Accounts>,
    /// Open attributes of profiles.
    pub profiles: Arc<dyn Profiles>,
    /// Contents and users with what is shown beside them.
    pub cards: Arc<dyn Cards>,
    /// Contents of pages as JSON.
    pub json: RememberedJson,
    /// Contents and their counters.
    pub contents: Arc<dyn Contents>,
    /// Whom the viewer follows.
    pub follows: Arc<dyn Follows>,
    /// The viewer's reactions.
    pub reactions: Arc<dyn Reactions>,
    /// What the viewer has decided about others.
    pub exclusions: Arc<dyn Exclusions>,
    /// Tells whether a token has expired since it was checked.
    pub clock: SharedClock,
    /// Runs loaders' batches that belong to no operation. Each ends with its statement.
    pub tasks: TaskTracker,
}
