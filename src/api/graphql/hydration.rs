//! Hydration: from ids to what clients see, in one batch for each kind.
//!
//! It lives as long as its data may be shown: one query, one mutation, or one event of a subscription. Objects hold
//! theirs.

use std::{sync::Arc, time::Duration};

use async_graphql::dataloader::{DataLoader, HashMapCache};
use graphql_transport::memory::AnswerBudget;

use super::{
    errors::Failure,
    feed_share::{SharedEntry, SharedValue},
    loaders::{
        AttributesOf, Called, CalledContent, ContentCardOf, CountersOf, CountsOf, ExclusionsOf, FollowOf,
        LoaderContext, MembershipOf, ReactionsTo, RepostedOf, SessionsOf, Tracked, UserCardOf, YieldOnce,
    },
    remembered_json::ShownContent,
    selection::ContentSelection,
    services::{Services, UseCases},
    viewer_dependence::ViewerDependence,
};
use crate::{
    accounts::Viewer,
    domain::{
        Content, ContentId, Counters, Entry, IdMap, Profile, UserId, ViewerReactions,
        account::{attributes::Attributes, profile::ProfileCounts, session::Session},
        timeline::exclusion::ExclusionState,
    },
    read::lists::{PageOf, Paged},
    store::{
        cards::{ContentCard, ContentParts, UserCard, UserParts},
        identities::Membership,
    },
};

/// The cards of a page's contents; `None` for one that has gone.
pub type PageCards = IdMap<ContentId, Option<Arc<ContentCard>>>;

/// The loaders of one answer for one viewer.
pub struct Hydration {
    loader: DataLoader<LoaderContext, HashMapCache>,
}

impl Hydration {
    /// A hydration without loaded data.
    pub fn new(services: Arc<Services>, viewer_dependence: ViewerDependence, budget: Option<AnswerBudget>) -> Self {
        let tasks = Tracked(services.tasks.clone());
        let source = LoaderContext { services, viewer_dependence, budget };
        let loader = DataLoader::with_cache(source, tasks, YieldOnce, HashMapCache::default());
        Self { loader: loader.delay(Duration::ZERO) }
    }

    /// A new hydration for the same viewer.
    pub fn renewed(&self) -> Arc<Self> {
        let LoaderContext { services, viewer_dependence, budget } = self.loader.loader();
        Arc::new(Self::new(Arc::clone(services), viewer_dependence.clone(), budget.clone()))
    }

    /// The use cases of the node.
    pub fn use_cases(&self) -> &UseCases {
        &self.services().use_cases
    }

    /// The use cases, the ports that are read, and the rest behind the schema.
    pub fn services(&self) -> &Services {
        &self.loader.loader().services
    }

    /// The viewer, and whether building the answer has read them.
    pub fn viewer_dependence(&self) -> &ViewerDependence {
        &self.loader.loader().viewer_dependence
    }

    /// The viewer's id. Reading it makes the answer depend on the viewer.
    pub fn viewer_id(&self) -> Option<UserId> {
        self.viewer().ok().map(|viewer| viewer.id)
    }

    /// The viewer. Fails for anonymous viewers, and once the token has expired.
    pub fn viewer(&self) -> Result<Viewer, Failure> {
        let viewer = self.loader.loader().viewer_dependence.viewer().ok_or(Failure::Anonymous)?;
        if self.services().clock.now_ms() >= viewer.good_until_ms {
            return Err(Failure::SignInEnded);
        }
        Ok(viewer)
    }

    /// Whether `user` is the viewer, and who asks may read what only the viewer sees.
    pub fn shows_private(&self, user: UserId) -> bool {
        self.viewer().is_ok_and(|viewer| viewer.id == user && viewer.may_read())
    }

    /// What decides the JSON of `card`'s content, which is of this hydration's viewer. See [`ShownContent::of`]. `None`
    /// for anonymous viewers, and for a service that may not read.
    pub async fn shown(&self, card: &ContentCard, selection: ContentSelection) -> Option<ShownContent> {
        let viewer = self.viewer().ok().filter(Viewer::may_read)?;
        let is_viewers = viewer.id == card.content.author;
        let shows_external_id = self.services().shows_external_ids || is_viewers || viewer.acted_by.is_some();
        let is_reposted =
            if selection.reposted { self.viewer_reposted(card.content.subject()).await.ok()? } else { None };
        ShownContent::of(card, selection, (is_reposted, is_viewers, shows_external_id))
    }

    /// Loads the selected parts of contents and their authors in one statement, then those of the contents that they
    /// refer to. If loading fails, each field loads its own value and fails alone.
    pub async fn prime_contents(&self, contents: &[ContentId], selection: ContentSelection) {
        self.prime_each(contents, selection).await;
        if selection.reposted || selection.linked {
            let found = self.contents(contents, ContentSelection::default()).await;
            let found: Vec<_> = found.into_iter().flatten().flatten().collect();
            self.prime_linked(&linked(&found), &found, selection).await;
        }
    }

    /// Whether a remembered card has what is selected. Its bytes count towards the answer's budget.
    pub fn suffices(&self, card: &ContentCard, selection: ContentSelection) -> bool {
        (card.author.is_some() || selection.author.is_none()) && self.loader.loader().count_card(card).is_ok()
    }

    /// The cards of contents with the selected parts, in one statement. None are known if they cannot be read: then
    /// each field reads its own value, and fails alone.
    pub async fn read_cards(&self, contents: Vec<ContentId>, selection: ContentSelection) -> PageCards {
        if contents.is_empty() {
            return IdMap::default();
        }
        let parts = selection.parts();
        let read = self.loader.load_many(contents.into_iter().map(|id| ContentCardOf(id, parts))).await;
        read.unwrap_or_default().into_iter().map(|(key, card)| (key.0, card.map(Arc::new))).collect()
    }

    /// Loads what a page's contents refer to. Takes out the cards that other fields of the answer may show, too: fields
    /// find them in the loaders.
    pub async fn share(&self, cards: &mut PageCards, selection: ContentSelection) {
        let contents: Vec<_> = cards.values().flatten().map(|card| Arc::clone(&card.content)).collect();
        let linked = linked(&contents);
        let is_shared = |id: &ContentId| !selection.of_card || selection.linked && linked.contains(id);
        for (id, card) in cards.extract_if(|id, card| card.is_some() && is_shared(id)) {
            if let Some(card) = card {
                self.take_content_card(id, Arc::unwrap_or_clone(card)).await;
            }
        }
        if selection.reposted || selection.linked {
            self.prime_linked(&linked, &contents, selection).await;
        }
    }

    /// Loads the contents that `contents` refer to, and which of both the viewer has reposted.
    async fn prime_linked(&self, linked: &[ContentId], contents: &[Arc<Content>], selection: ContentSelection) {
        let mut subjects: Vec<_> = contents.iter().map(|content| content.subject()).collect();
        if selection.linked && !linked.is_empty() {
            self.prime_each(linked, selection).await;
            subjects.extend_from_slice(linked);
        }
        if selection.reposted && self.viewer_id().is_some() {
            let _unread = self.loader.load_many(subjects.into_iter().map(RepostedOf)).await;
        }
    }

    async fn prime_each(&self, contents: &[ContentId], selection: ContentSelection) {
        let parts = selection.parts();
        if parts == ContentParts::default() {
            let _unread = self.loader.load_many(contents.iter().copied()).await;
            return;
        }
        let keys = contents.iter().map(|id| ContentCardOf(*id, parts));
        let Ok(cards) = self.loader.load_many(keys).await else { return };
        for (ContentCardOf(id, _), card) in cards {
            let Some(card) = card else {
                self.loader.feed_one(id, None).await;
                continue;
            };
            self.take_content_card(id, card).await;
        }
    }

    async fn take_content_card(&self, id: ContentId, card: ContentCard) {
        self.loader.feed_one(id, Some(card.content)).await;
        if card.counters.is_some() {
            self.loader.feed_one(CountersOf(id), card.counters).await;
        }
        if let Some(reactions) = card.reactions {
            self.loader.feed_one(ReactionsTo(id), reactions).await;
        }
        if let Some(author) = card.author {
            self.take_card(author).await;
        }
    }

    /// As [`Hydration::prime_contents`], for users.
    pub async fn prime_users(&self, users: &[UserId], parts: UserParts) {
        if parts == UserParts::default() {
            let _unread = self.loader.load_many(users.iter().copied()).await;
            return;
        }
        let Ok(cards) = self.loader.load_many(users.iter().map(|user| UserCardOf(*user, parts))).await else { return };
        for (UserCardOf(user, _), card) in cards {
            match card {
                Some(card) => self.take_card(card).await,
                None => self.loader.feed_one(user, None).await,
            }
        }
    }

    async fn take_card(&self, card: UserCard) {
        let id = card.profile.id;
        if let Some(is_followed) = card.is_followed {
            self.loader.feed_one(FollowOf(id), is_followed).await;
        }
        self.loader.feed_one(id, Some(card.profile)).await;
        if card.counts.is_some() {
            self.loader.feed_one(CountsOf(id), card.counts).await;
        }
        if let Some(exclusions) = card.exclusions {
            self.loader.feed_one(ExclusionsOf(id), exclusions).await;
        }
    }

    /// The content; `None` if it does not exist or was removed.
    pub async fn content(&self, id: ContentId) -> Result<Option<Arc<Content>>, Failure> {
        Ok(self.loader.load_one(id).await.map_err(Failure::Logged)?.flatten())
    }

    /// The contents in this order, in one batch with their selected parts; null in the place of missing ones.
    pub async fn contents(
        &self,
        ids: &[ContentId],
        selection: ContentSelection,
    ) -> Result<Vec<Option<Arc<Content>>>, Failure> {
        if selection != ContentSelection::default() {
            Box::pin(self.prime_contents(ids, selection)).await;
        }
        let found = self.loader.load_many(ids.iter().copied()).await.map_err(Failure::Logged)?;
        Ok(ids.iter().map(|id| found.get(id).cloned().flatten()).collect())
    }

    /// Whether the viewer has reposted the content; `None` for anonymous viewers.
    pub async fn viewer_reposted(&self, original: ContentId) -> Result<Option<bool>, Failure> {
        if self.viewer_id().is_none() {
            return Ok(None);
        }
        self.loader.load_one(RepostedOf(original)).await.map_err(Failure::Logged)
    }

    /// The content's counters.
    pub async fn counters(&self, id: ContentId) -> Result<Option<Counters>, Failure> {
        Ok(self.loader.load_one(CountersOf(id)).await.map_err(Failure::Logged)?.flatten())
    }

    /// The viewer's reactions to the content; `None` for anonymous viewers.
    pub async fn viewer_reactions(&self, id: ContentId) -> Result<Option<ViewerReactions>, Failure> {
        if self.viewer_id().is_none() {
            return Ok(None);
        }
        self.loader.load_one(ReactionsTo(id)).await.map_err(Failure::Logged)
    }

    /// The user's profile.
    pub async fn profile(&self, id: UserId) -> Result<Option<Arc<Profile>>, Failure> {
        Ok(self.loader.load_one(id).await.map_err(Failure::Logged)?.flatten())
    }

    /// A page of a list. One statement reads all pages of the same kind that are requested together. Counts as reading
    /// the viewer, even if the page is cached.
    pub async fn page(&self, page: PageOf) -> Result<Option<Paged>, Failure> {
        let _looked = self.viewer_id();
        let loaded = self.loader.load_one(page).await.map_err(Failure::Logged)?;
        loaded.flatten().transpose().map_err(Failure::Logged)
    }

    /// Remembers a profile that was read elsewhere.
    pub async fn remember(&self, profile: &Arc<Profile>) {
        self.loader.feed_one(profile.id, Some(Arc::clone(profile))).await;
    }

    /// Remembers a content that a use case has read for the same viewer. It counts towards the answer's budget.
    pub async fn remember_content(&self, content: &Arc<Content>) {
        let _refused_later = self.loader.loader().count_content(content);
        self.loader.feed_one(content.id, Some(Arc::clone(content))).await;
    }

    /// Remembers the shared parts of `entry`. Subscribers who see it follow its author, unless they are the author.
    pub async fn remember_entry(&self, entry: &Entry, found: Arc<Content>, parts: SharedEntry) {
        let Entry { content, author, .. } = *entry;
        self.loader.feed_one(content, Some(found)).await;
        if let SharedValue::Known(counters) = parts.counters {
            self.loader.feed_one(CountersOf(content), counters).await;
        }
        if let SharedValue::Known(profile) = parts.profile {
            self.loader.feed_one(author, profile).await;
        }
        if let SharedValue::Known(counts) = parts.counts {
            self.loader.feed_one(CountsOf(author), counts).await;
        }
        self.loader.feed_one(FollowOf(author), true).await;
    }

    /// The user's counts.
    pub async fn counts(&self, id: UserId) -> Result<Option<ProfileCounts>, Failure> {
        Ok(self.loader.load_one(CountsOf(id)).await.map_err(Failure::Logged)?.flatten())
    }

    /// The user's open attributes.
    pub async fn attributes(&self, id: UserId) -> Result<Arc<Attributes>, Failure> {
        Ok(self.loader.load_one(AttributesOf(id)).await.map_err(Failure::Logged)?.unwrap_or_default())
    }

    /// What the product calls the user, and whether it keeps them out; `None` without a user.
    pub async fn membership(&self, id: UserId) -> Result<Option<Arc<Membership>>, Failure> {
        Ok(self.loader.load_one(MembershipOf(id)).await.map_err(Failure::Logged)?.flatten())
    }

    /// The user whom the product calls so.
    pub async fn called(&self, external_id: &str) -> Result<Option<UserId>, Failure> {
        Ok(self.loader.load_one(Called(external_id.into())).await.map_err(Failure::Logged)?.flatten())
    }

    /// The content that the product calls so, removed or not.
    pub async fn called_content(&self, external_id: &str) -> Result<Option<ContentId>, Failure> {
        Ok(self.loader.load_one(CalledContent(external_id.into())).await.map_err(Failure::Logged)?.flatten())
    }

    /// The viewer's sessions, newest first; `None` for anonymous viewers. Read once for an answer.
    pub async fn sessions(&self) -> Result<Option<(Arc<Vec<Session>>, Viewer)>, Failure> {
        let Ok(viewer) = self.viewer() else { return Ok(None) };
        let sessions = self.loader.load_one(SessionsOf(viewer.id)).await.map_err(Failure::Logged)?;
        Ok(Some((sessions.unwrap_or_default(), viewer)))
    }

    /// Whether the viewer follows the user; `None` for anonymous viewers and for the viewer themselves.
    pub async fn viewer_follows(&self, id: UserId) -> Result<Option<bool>, Failure> {
        if self.viewer_id().is_none_or(|viewer| viewer == id) {
            return Ok(None);
        }
        self.loader.load_one(FollowOf(id)).await.map_err(Failure::Logged)
    }

    /// What the viewer has decided about the user; `None` for anonymous viewers and for the viewer themselves.
    pub async fn viewer_exclusions(&self, id: UserId) -> Result<Option<ExclusionState>, Failure> {
        if self.viewer_id().is_none_or(|viewer| viewer == id) {
            return Ok(None);
        }
        self.loader.load_one(ExclusionsOf(id)).await.map_err(Failure::Logged)
    }
}

/// The contents that these refer to.
fn linked(contents: &[Arc<Content>]) -> Vec<ContentId> {
    contents.iter().filter_map(|content| content.reference.content()).collect()
}
