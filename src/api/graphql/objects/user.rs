//! A user as clients see them.

use std::{borrow::Cow, sync::Arc};

use async_graphql::{Context, Enum, ID, Object};
use graphql_transport::metered::Metered;

use super::{
    BookmarkConnection, ContentConnection, ExcludedUserConnection, LikeConnection, PageArguments, ProfileAttribute,
    ReactedPage, Session, Shown, TimelineFilter, UserConnection, connections,
};
use crate::{
    api::graphql::{
        errors::Failure,
        hydration::Hydration,
        ids, named,
        scalars::{AnyInt, Timestamp, count},
        scope::{Answer, answer},
        selection::{ContentSelection, user_parts_of_connection},
    },
    domain::{
        Profile, Reaction,
        account::profile::ProfileCounts,
        timeline::{
            cursor::{self, List},
            exclusion::ExclusionState,
        },
    },
    read::lists::PageOf,
    store::{cards::UserCard, exclusions::ExclusionList},
};

/// Whether a user may sign in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum UserState {
    /// Yes.
    Active,
    /// The product keeps them out. What they published stays, and so does their profile, but nobody finds them by name.
    Deactivated,
}

/// A user, held with its hydration.
#[derive(Clone)]
pub struct User {
    profile: Arc<Profile>,
    /// Whether the viewer follows them, if that is known already.
    is_followed: Option<bool>,
    hydration: Arc<Hydration>,
}

impl User {
    /// `profile` as `hydration`'s viewer sees it.
    pub const fn new(profile: Arc<Profile>, hydration: Arc<Hydration>) -> Self {
        Self { profile, is_followed: None, hydration }
    }

    /// As [`Self::new`], with everything that `card` has. The card is of the same viewer.
    pub fn of_card(card: &UserCard, hydration: Arc<Hydration>) -> Self {
        Self { profile: Arc::clone(&card.profile), is_followed: card.is_followed, hydration }
    }

    async fn count(&self, ctx: &Context<'_>, of: fn(ProfileCounts) -> i64) -> Answer<i32> {
        answer(ctx, async { Ok(self.hydration.counts(self.profile.id).await?.map(|counts| count(of(counts)))) }).await
    }

    async fn exclusions(&self, ctx: &Context<'_>, of: fn(ExclusionState) -> bool) -> Answer<bool> {
        answer(ctx, async { Ok(self.hydration.viewer_exclusions(self.profile.id).await?.map(of)) }).await
    }

    /// Null unless the user is the viewer.
    async fn reacted_to(
        &self,
        ctx: &Context<'_>,
        reaction: Reaction,
        list: List,
        arguments: PageArguments,
    ) -> Result<Option<ReactedPage>, Failure> {
        let request = arguments.request(list)?;
        if !self.hydration.shows_private(self.profile.id) {
            return Ok(None);
        }
        let listing = self.hydration.use_cases().lists.reacted_to(self.profile.id, reaction, &request).await?;
        let selection = ContentSelection::of_connection(&ctx.look_ahead());
        ReactedPage::load(&self.hydration, list, &listing, selection).await.map(Some)
    }

    async fn published(&self, ctx: &Context<'_>, page: PageOf) -> Result<Option<ContentConnection>, Failure> {
        let page = self.hydration.entries_in(page).await?;
        let selection = ContentSelection::of_connection(&ctx.look_ahead());
        Ok(Some(ContentConnection::from(Shown::load(&self.hydration, &page, selection).await?)))
    }

    async fn excluded(
        &self,
        ctx: &Context<'_>,
        what: ExclusionList,
        first: Option<AnyInt>,
        after: Option<String>,
    ) -> Answer<ExcludedUserConnection> {
        answer(ctx, async {
            let selection = user_parts_of_connection(&ctx.look_ahead()).unwrap_or_default();
            let window = (first.map(|it| it.0), after.as_deref());
            ExcludedUserConnection::load(&self.hydration, self.profile.id, what, window, selection).await
        })
        .await
    }
}

/// A user of the service.
#[Object(crate = "graphql_transport::objects")]
impl User {
    /// Opaque; begins with U_.
    pub async fn id(&self) -> Metered<ID> {
        Metered(ids::of_user(self.profile.id))
    }

    /// The unique name, without @: a to z, 0 to 9 and _.
    async fn handle(&self) -> Metered<&str> {
        Metered(self.profile.handle.as_str())
    }

    /// The name to show.
    async fn name(&self) -> Metered<&str> {
        Metered(&self.profile.name)
    }

    /// The biography; may be empty.
    async fn bio(&self) -> Metered<&str> {
        Metered(&self.profile.bio)
    }

    /// A link to a picture, if they have one.
    async fn avatar_url(&self) -> Metered<Option<Cow<'_, str>>> {
        Metered(self.profile.avatar_url.as_deref().map(|url| self.hydration.services().complete(url)))
    }

    /// Custom attributes, in the order of their keys. Null if they cannot be read now.
    async fn attributes(&self, ctx: &Context<'_>) -> Answer<Vec<ProfileAttribute>> {
        answer(ctx, async {
            let attributes = self.hydration.attributes(self.profile.id).await?;
            let pair = |(key, value): (&str, &str)| ProfileAttribute {
                key: Metered(key.to_owned()),
                value: Metered(value.to_owned()),
            };
            Ok(Some(attributes.iter().map(pair).collect()))
        })
        .await
    }

    /// What the product calls them: the subject in its issuer's tokens. Null if it does not, or does not show it.
    async fn external_id(&self, ctx: &Context<'_>) -> Answer<Metered<String>> {
        answer(ctx, async {
            if !named::sees(ctx, &self.hydration, Some(self.profile.id)) {
                return Ok(None);
            }
            let membership = self.hydration.membership(self.profile.id).await?;
            Ok(membership.and_then(|it| it.subject.clone()).map(Metered))
        })
        .await
    }

    /// Whether they may sign in. Null if that cannot be read now.
    async fn state(&self, ctx: &Context<'_>) -> Answer<UserState> {
        answer(ctx, async {
            let membership = self.hydration.membership(self.profile.id).await?;
            Ok(membership.map(|it| if it.is_deactivated { UserState::Deactivated } else { UserState::Active }))
        })
        .await
    }

    /// The user's sessions, newest first, at most 50. Null unless the user is the viewer.
    async fn sessions(&self, ctx: &Context<'_>) -> Answer<Vec<Session>> {
        answer(ctx, async {
            let own = self.hydration.shows_private(self.profile.id);
            let Some((sessions, viewer)) = (if own { self.hydration.sessions().await? } else { None }) else {
                return Ok(None);
            };
            Ok(Some(sessions.iter().map(|session| Session::new(session.clone(), viewer.session)).collect()))
        })
        .await
    }

    /// When they registered.
    async fn created_at(&self) -> Metered<Timestamp> {
        Metered(Timestamp(self.profile.created_at))
    }

    /// The number of followers. Null if that cannot be read now.
    async fn follower_count(&self, ctx: &Context<'_>) -> Answer<i32> {
        self.count(ctx, |counts| counts.followers).await
    }

    /// The number of followed users. Null if that cannot be read now.
    async fn following_count(&self, ctx: &Context<'_>) -> Answer<i32> {
        self.count(ctx, |counts| counts.following).await
    }

    /// The number of contents that they published and did not delete. Null if that cannot be read now.
    async fn content_count(&self, ctx: &Context<'_>) -> Answer<i32> {
        self.count(ctx, |counts| counts.contents).await
    }

    /// Whether the viewer follows them. Null for anonymous viewers and for the viewer themselves: one's own contents
    /// are always part of one's timeline.
    async fn viewer_is_following(&self, ctx: &Context<'_>) -> Answer<bool> {
        answer(ctx, async {
            match self.is_followed {
                Some(_) if self.hydration.viewer_id().is_none_or(|viewer| viewer == self.profile.id) => Ok(None),
                Some(is_followed) => Ok(Some(is_followed)),
                None => self.hydration.viewer_follows(self.profile.id).await,
            }
        })
        .await
    }

    /// Whether the user is the viewer.
    async fn is_viewer(&self) -> Metered<bool> {
        Metered(self.hydration.viewer_id() == Some(self.profile.id))
    }

    /// The position up to which they have read their timeline, on any device; valid as `after` of `newContentCount`.
    /// Null unless the user is the viewer, and before the first `markTimelineRead`.
    async fn timeline_read_marker(&self, ctx: &Context<'_>) -> Answer<Metered<String>> {
        answer(ctx, async {
            if !self.hydration.shows_private(self.profile.id) {
                return Ok(None);
            }
            Ok(self.hydration.use_cases().read_marker.of(self.profile.id).await?.map(cursor::encode).map(Metered))
        })
        .await
    }

    /// Whether the viewer has muted them. Null for anonymous viewers and for the viewer themselves.
    async fn viewer_has_muted(&self, ctx: &Context<'_>) -> Answer<bool> {
        self.exclusions(ctx, |exclusions| exclusions.has_muted).await
    }

    /// Whether the viewer has blocked them. Null for anonymous viewers and for the viewer themselves.
    async fn viewer_has_blocked(&self, ctx: &Context<'_>) -> Answer<bool> {
        self.exclusions(ctx, |exclusions| exclusions.has_blocked).await
    }

    /// Whether the viewer hides from them. Null for anonymous viewers and for the viewer themselves.
    async fn viewer_is_hiding(&self, ctx: &Context<'_>) -> Answer<bool> {
        self.exclusions(ctx, |exclusions| exclusions.is_hiding).await
    }

    /// The users whom they mute, longest registered first. Null unless the user is the viewer.
    async fn muted_users(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The number of items to read, 1 to 100; 20 by default.")] first: Option<AnyInt>,
        #[graphql(desc = "Only users after the one with this cursor.")] after: Option<String>,
    ) -> Answer<ExcludedUserConnection> {
        self.excluded(ctx, ExclusionList::Muted, first, after).await
    }

    /// The users whom they block, longest registered first. Null unless the user is the viewer.
    async fn blocked_users(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The number of items to read, 1 to 100; 20 by default.")] first: Option<AnyInt>,
        #[graphql(desc = "Only users after the one with this cursor.")] after: Option<String>,
    ) -> Answer<ExcludedUserConnection> {
        self.excluded(ctx, ExclusionList::Blocked, first, after).await
    }

    /// The users from whom they hide, followers or not, longest registered first. Null unless the user is the viewer.
    async fn hidden_followers(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The number of items to read, 1 to 100; 20 by default.")] first: Option<AnyInt>,
        #[graphql(desc = "Only users after the one with this cursor.")] after: Option<String>,
    ) -> Answer<ExcludedUserConnection> {
        self.excluded(ctx, ExclusionList::HiddenFrom, first, after).await
    }

    #[graphql(flatten)]
    fn published_pages(&self) -> PublishedPages {
        PublishedPages(self.clone())
    }

    #[graphql(flatten)]
    fn people_pages(&self) -> UserLists {
        UserLists(self.clone())
    }
}

connections! { entries: PublishedPages(User) {
    /// Their contents, newest first, paged as `Query.timeline`. Empty if one of the two blocks the other. Mutes and
    /// hides do not matter here, because they change timelines only.
    contents(filter) -> ContentConnection;

    /// Their contents with pictures or video, newest first, paged as `contents`.
    media_contents -> ContentConnection;
} }

connections! { items: UserLists(User) {
    /// Their followers, newest first, without themselves and those hidden by a block. `followerCount` counts the
    /// hidden ones too.
    followers -> UserConnection;

    /// The users whom they follow, most recently followed first, without themselves and those hidden by a block.
    /// `followingCount` counts the hidden ones too.
    following -> UserConnection;

    /// Their bookmarks, the newest first, without deleted contents. Null unless the user is the viewer.
    bookmarks -> BookmarkConnection;

    /// The contents that they like, newest like first, without deleted contents. Null unless the user is the viewer.
    likes -> LikeConnection;
} }

/// The pages of the connections.
impl User {
    async fn contents(
        &self,
        ctx: &Context<'_>,
        page: PageArguments,
        filter: Option<TimelineFilter>,
    ) -> Result<Option<ContentConnection>, Failure> {
        let request = page.of_contents()?.of(TimelineFilter::kinds(filter)?);
        self.published(ctx, PageOf::Outbox(self.profile.id, request)).await
    }

    async fn media_contents(
        &self,
        ctx: &Context<'_>,
        page: PageArguments,
    ) -> Result<Option<ContentConnection>, Failure> {
        self.published(ctx, PageOf::Media(self.profile.id, page.of_contents()?)).await
    }

    async fn followers(&self, ctx: &Context<'_>, page: PageArguments) -> Result<Option<UserConnection>, Failure> {
        let page = PageOf::Followers(self.profile.id, page.request(List::Followers)?);
        UserConnection::load(&self.hydration, ctx, List::Followers, page).await
    }

    async fn following(&self, ctx: &Context<'_>, page: PageArguments) -> Result<Option<UserConnection>, Failure> {
        let page = PageOf::Following(self.profile.id, page.request(List::Following)?);
        UserConnection::load(&self.hydration, ctx, List::Following, page).await
    }

    async fn bookmarks(&self, ctx: &Context<'_>, page: PageArguments) -> Result<Option<BookmarkConnection>, Failure> {
        Ok(self.reacted_to(ctx, Reaction::Bookmark, List::Bookmarks, page).await?.map(BookmarkConnection::from))
    }

    async fn likes(&self, ctx: &Context<'_>, page: PageArguments) -> Result<Option<LikeConnection>, Failure> {
        Ok(self.reacted_to(ctx, Reaction::Like, List::Likes, page).await?.map(LikeConnection::from))
    }
}
