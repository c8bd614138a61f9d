//! Loaders: one statement for many keys. Each field whose value the object does not hold has one.
//!
//! Every key gets a value, which is `None`, zero or `false` for a missing object, so nothing is loaded twice.

use std::{collections::HashMap, hash::Hash, sync::Arc, time::Duration};

use async_graphql::{dataloader::Loader, runtime::Timer};
use futures_util::{
    future::BoxFuture,
    task::{FutureObj, Spawn, SpawnError},
};
use graphql_transport::memory::AnswerBudget;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use super::{
    batches,
    errors::{ApiError, Failure},
    services::Services,
    viewer_dependence::ViewerDependence,
};
use crate::{
    domain::{
        Content, ContentId, Counters, Profile, UserId, ViewerReactions,
        account::{attributes::Attributes, profile::ProfileCounts, session::Session},
        timeline::exclusion::ExclusionState,
    },
    store::{
        StoreError,
        cards::{ContentCard, ContentParts, UserCard, UserParts},
        identities::Membership,
    },
};

/// What loaders read from.
pub struct LoaderContext {
    pub services: Arc<Services>,
    pub viewer_dependence: ViewerDependence,
    /// The budget of the operation.
    pub budget: Option<AnswerBudget>,
}

impl LoaderContext {
    /// Counts bytes that were read. `Err` stops the operation: it has read too much.
    fn count(&self, bytes: usize) -> Result<(), ApiError> {
        let fits = self.budget.as_ref().is_none_or(|budget| budget.read(bytes));
        if fits { Ok(()) } else { Err(Failure::TooMuchRead.shown()) }
    }

    /// As [`Self::count`], for a card that was remembered.
    pub fn count_card(&self, card: &ContentCard) -> Result<(), ApiError> {
        self.count(bytes_of_card(card))
    }

    /// As [`Self::count`], for a content that was read elsewhere.
    pub fn count_content(&self, content: &Content) -> Result<(), ApiError> {
        self.count(content.bytes())
    }
}

/// Contents of one statement. An operation reads less than this many beyond its budget.
const CONTENTS_AT_ONCE: usize = 256;

fn bytes_of_card(card: &ContentCard) -> usize {
    card.content.bytes() + card.author.as_ref().map_or(0, |author| author.profile.bytes())
}

/// A content with the parts to load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentCardOf(pub ContentId, pub ContentParts);

/// A user with the parts to load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UserCardOf(pub UserId, pub UserParts);

/// A content's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CountersOf(pub ContentId);

/// The viewer's repost of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RepostedOf(pub ContentId);

/// A user's counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CountsOf(pub UserId);

/// A user's open attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AttributesOf(pub UserId);

/// What the product has to do with a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MembershipOf(pub UserId);

/// The user with a product's id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Called(pub Arc<str>);

/// The content with a product's id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CalledContent(pub Arc<str>);

/// A user's sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionsOf(pub UserId);

/// The viewer's decisions about a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExclusionsOf(pub UserId);

/// Whether the viewer follows a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FollowOf(pub UserId);

/// The viewer's reactions to a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReactionsTo(pub ContentId);

/// Logs a failed batch once for all of its keys.
fn logged<T>(result: Result<T, StoreError>) -> Result<T, ApiError> {
    result.map_err(|error| Failure::Store(error).into_api_error())
}

impl Loader<ContentId> for LoaderContext {
    type Value = Option<Arc<Content>>;
    type Error = ApiError;

    async fn load(&self, keys: &[ContentId]) -> Result<HashMap<ContentId, Self::Value>, ApiError> {
        let viewer = self.viewer_dependence.viewer().map(|viewer| viewer.id);
        let mut found = Vec::with_capacity(keys.len());
        for some in keys.chunks(CONTENTS_AT_ONCE) {
            let contents = logged(self.services.ports.contents.by_ids(viewer, some).await)?;
            self.count(contents.iter().map(Content::bytes).sum())?;
            let contents: Vec<Arc<Content>> = contents.into_iter().map(Arc::new).collect();
            self.services.use_cases.reader.remember_contents(&contents);
            found.extend(contents);
        }
        Ok(complete(keys, found.into_iter().map(|content| (content.id, Some(content)))))
    }
}

impl Loader<ContentCardOf> for LoaderContext {
    type Value = Option<ContentCard>;
    type Error = ApiError;

    async fn load(&self, keys: &[ContentCardOf]) -> Result<HashMap<ContentCardOf, Self::Value>, ApiError> {
        let viewer = self.viewer_dependence.viewer().map(|viewer| viewer.id);
        let mut found = Vec::with_capacity(keys.len());
        for (parts, ids) in alike(keys.iter().map(|key| (key.1, key.0))) {
            for some in ids.chunks(CONTENTS_AT_ONCE) {
                let cards = logged(self.services.ports.contents.content_cards(viewer, some, parts).await)?;
                self.count(cards.iter().map(bytes_of_card).sum())?;
                self.services.use_cases.reader.remember_cards(&cards);
                found.extend(cards.into_iter().map(|card| (ContentCardOf(card.content.id, parts), Some(card))));
            }
        }
        Ok(complete(keys, found.into_iter()))
    }
}

impl Loader<UserCardOf> for LoaderContext {
    type Value = Option<UserCard>;
    type Error = ApiError;

    async fn load(&self, keys: &[UserCardOf]) -> Result<HashMap<UserCardOf, Self::Value>, ApiError> {
        let viewer = self.viewer_dependence.viewer().map(|viewer| viewer.id);
        let mut found = Vec::with_capacity(keys.len());
        for (parts, ids) in alike(keys.iter().map(|key| (key.1, key.0))) {
            let cards = logged(self.services.ports.contents.user_cards(viewer, &ids, parts).await)?;
            self.count(cards.iter().map(|card| card.profile.bytes()).sum())?;
            found.extend(cards.into_iter().map(|card| (UserCardOf(card.profile.id, parts), Some(card))));
        }
        Ok(complete(keys, found.into_iter()))
    }
}

/// Groups ids by the parts to load.
fn alike<P: Eq + Hash, I>(asked: impl Iterator<Item = (P, I)>) -> HashMap<P, Vec<I>> {
    let mut alike: HashMap<P, Vec<I>> = HashMap::new();
    for (parts, id) in asked {
        alike.entry(parts).or_default().push(id);
    }
    alike
}

impl Loader<CountersOf> for LoaderContext {
    type Value = Option<Counters>;
    type Error = ApiError;

    async fn load(&self, keys: &[CountersOf]) -> Result<HashMap<CountersOf, Self::Value>, ApiError> {
        let ids: Vec<ContentId> = keys.iter().map(|key| key.0).collect();
        let found = logged(self.services.ports.contents.counters(&ids).await)?;
        Ok(complete(keys, found.into_iter().map(|(id, counters)| (CountersOf(id), Some(counters)))))
    }
}

impl Loader<RepostedOf> for LoaderContext {
    type Value = bool;
    type Error = ApiError;

    async fn load(&self, keys: &[RepostedOf]) -> Result<HashMap<RepostedOf, bool>, ApiError> {
        let Some(viewer) = self.viewer_dependence.viewer() else { return Ok(complete(keys, std::iter::empty())) };
        let ids: Vec<ContentId> = keys.iter().map(|key| key.0).collect();
        let found = logged(self.services.ports.contents.reposted_among(viewer.id, &ids).await)?;
        Ok(complete(keys, found.into_iter().map(|(original, _)| (RepostedOf(original), true))))
    }
}

impl Loader<UserId> for LoaderContext {
    type Value = Option<Arc<Profile>>;
    type Error = ApiError;

    async fn load(&self, keys: &[UserId]) -> Result<HashMap<UserId, Self::Value>, ApiError> {
        let found = logged(self.services.ports.accounts.profiles(keys).await)?;
        self.count(found.iter().map(Profile::bytes).sum())?;
        Ok(complete(keys, found.into_iter().map(|profile| (profile.id, Some(Arc::new(profile))))))
    }
}

impl Loader<CountsOf> for LoaderContext {
    type Value = Option<ProfileCounts>;
    type Error = ApiError;

    async fn load(&self, keys: &[CountsOf]) -> Result<HashMap<CountsOf, Self::Value>, ApiError> {
        let ids: Vec<UserId> = keys.iter().map(|key| key.0).collect();
        let found = logged(self.services.ports.accounts.counts(&ids).await)?;
        Ok(complete(keys, found.into_iter().map(|(id, counts)| (CountsOf(id), Some(counts)))))
    }
}

impl Loader<AttributesOf> for LoaderContext {
    type Value = Arc<Attributes>;
    type Error = ApiError;

    async fn load(&self, keys: &[AttributesOf]) -> Result<HashMap<AttributesOf, Self::Value>, ApiError> {
        let ids: Vec<UserId> = keys.iter().map(|key| key.0).collect();
        let found = logged(self.services.ports.accounts.attributes(&ids).await)?;
        self.count(found.iter().flat_map(|(_, all)| all.iter()).map(|(key, value)| key.len() + value.len()).sum())?;
        Ok(complete(keys, found.into_iter().map(|(id, attributes)| (AttributesOf(id), Arc::new(attributes)))))
    }
}

impl Loader<MembershipOf> for LoaderContext {
    type Value = Option<Arc<Membership>>;
    type Error = ApiError;

    async fn load(&self, keys: &[MembershipOf]) -> Result<HashMap<MembershipOf, Self::Value>, ApiError> {
        let ids: Vec<UserId> = keys.iter().map(|key| key.0).collect();
        let issuer = self.services.external_users.issuer();
        let found = logged(self.services.ports.accounts.memberships(issuer, &ids).await)?;
        self.count(found.iter().map(|it| it.subject.as_ref().map_or(0, String::len)).sum())?;
        Ok(complete(keys, found.into_iter().map(|it| (MembershipOf(it.user), Some(Arc::new(it))))))
    }
}

impl Loader<Called> for LoaderContext {
    type Value = Option<UserId>;
    type Error = ApiError;

    async fn load(&self, keys: &[Called]) -> Result<HashMap<Called, Self::Value>, ApiError> {
        let ids: Vec<&str> = keys.iter().map(|key| &*key.0).collect();
        let found = logged(self.services.external_users.find_all(&ids).await)?;
        Ok(keys.iter().map(|key| (key.clone(), found.get(&*key.0).copied())).collect())
    }
}

impl Loader<CalledContent> for LoaderContext {
    type Value = Option<ContentId>;
    type Error = ApiError;

    async fn load(&self, keys: &[CalledContent]) -> Result<HashMap<CalledContent, Self::Value>, ApiError> {
        let ids: Vec<&str> = keys.iter().map(|key| &*key.0).collect();
        let found = logged(self.services.use_cases.external_contents.find_all(&ids).await)?;
        Ok(keys.iter().map(|key| (key.clone(), found.get(&*key.0).copied())).collect())
    }
}

impl Loader<SessionsOf> for LoaderContext {
    type Value = Arc<Vec<Session>>;
    type Error = ApiError;

    /// One statement for each user; only the viewer's sessions are requested.
    async fn load(&self, keys: &[SessionsOf]) -> Result<HashMap<SessionsOf, Self::Value>, ApiError> {
        let mut found = HashMap::with_capacity(keys.len());
        for key in keys {
            let sessions = logged(self.services.sessions.of_user(key.0).await)?;
            self.count(sessions.iter().map(|session| size_of_val(session) + session.agent.len()).sum())?;
            found.insert(*key, Arc::new(sessions));
        }
        Ok(found)
    }
}

impl Loader<FollowOf> for LoaderContext {
    type Value = bool;
    type Error = ApiError;

    async fn load(&self, keys: &[FollowOf]) -> Result<HashMap<FollowOf, bool>, ApiError> {
        let Some(viewer) = self.viewer_dependence.viewer() else { return Ok(complete(keys, std::iter::empty())) };
        let ids: Vec<UserId> = keys.iter().map(|key| key.0).collect();
        let found = logged(self.services.ports.follows.followed_among(viewer.id, &ids).await)?;
        Ok(complete(keys, found.into_iter().map(|id| (FollowOf(id), true))))
    }
}

impl Loader<ReactionsTo> for LoaderContext {
    type Value = ViewerReactions;
    type Error = ApiError;

    async fn load(&self, keys: &[ReactionsTo]) -> Result<HashMap<ReactionsTo, ViewerReactions>, ApiError> {
        let Some(viewer) = self.viewer_dependence.viewer() else { return Ok(complete(keys, std::iter::empty())) };
        let ids: Vec<ContentId> = keys.iter().map(|key| key.0).collect();
        let found = logged(self.services.ports.contents.of_user(viewer.id, &ids).await)?;
        Ok(complete(keys, found.into_iter().map(|(id, reactions)| (ReactionsTo(id), reactions))))
    }
}

impl Loader<ExclusionsOf> for LoaderContext {
    type Value = ExclusionState;
    type Error = ApiError;

    async fn load(&self, keys: &[ExclusionsOf]) -> Result<HashMap<ExclusionsOf, ExclusionState>, ApiError> {
        let Some(viewer) = self.viewer_dependence.viewer() else { return Ok(complete(keys, std::iter::empty())) };
        let ids: Vec<UserId> = keys.iter().map(|key| key.0).collect();
        let found = logged(self.services.ports.exclusions.exclusion_states(viewer.id, &ids).await)?;
        Ok(complete(keys, found.into_iter().map(|(id, exclusions)| (ExclusionsOf(id), exclusions))))
    }
}

fn complete<K: Copy + Eq + Hash, V: Default>(keys: &[K], found: impl Iterator<Item = (K, V)>) -> HashMap<K, V> {
    keys.iter().map(|key| (*key, V::default())).chain(found).collect()
}

/// Runs a loader's batches beside their operation, or else as tracked tasks. Log lines carry the id of the first
/// request.
pub struct Tracked(pub TaskTracker);

impl Spawn for Tracked {
    fn spawn_obj(&self, future: FutureObj<'static, ()>) -> Result<(), SpawnError> {
        let batch = FutureObj::new(Box::new(future.in_current_span()));
        if let Some(batch) = batches::spawn_in_operation(batch) {
            self.0.spawn(batch);
        }
        Ok(())
    }
}

/// Yields once instead of sleeping: a timer's shortest wait is a millisecond.
pub struct YieldOnce;

impl Timer for YieldOnce {
    fn delay(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::task::yield_now())
    }
}
