//! A content as clients see it.

use std::sync::Arc;

use async_graphql::{Context, Enum, ID, Object, SimpleObject};
use graphql_transport::metered::Metered;

use super::{PageArguments, ReplyConnection, Shown, User, UserConnection, connections};
use crate::{
    api::graphql::{
        errors::Failure,
        hydration::Hydration,
        ids, named,
        scalars::{AnyInt, JsonText, Timestamp, count},
        scope::{Answer, answer},
        selection::ContentSelection,
        services::Services,
    },
    domain::{
        self, ContentId, ContentObject, Counters, PageRequest, ViewerReactions, account::external::ExternalId,
        object::DEFAULT_TYPE, timeline::cursor::List,
    },
    read::lists::PageOf,
    store::cards::ContentCard,
};

/// The kinds of contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "domain::ContentKind")]
pub enum ContentKind {
    /// A post: text, media or both.
    Post,
    /// A reply to another content.
    Reply,
    /// A repost of another content.
    Repost,
}

/// The type of a medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "domain::MediaKind")]
pub enum MediaKind {
    /// An image.
    Picture,
    /// A video.
    Video,
}

/// A picture or a video, stored elsewhere.
#[derive(SimpleObject)]
#[graphql(crate = "graphql_transport::objects")]
struct Media {
    /// The type of the medium.
    kind: Metered<MediaKind>,
    /// The URL; starts with https:// or http://.
    url: Metered<String>,
    /// In pixels, if the author has given it.
    width: Metered<Option<i32>>,
    /// In pixels, if the author has given it.
    height: Metered<Option<i32>>,
    /// The alternative text; empty if its author gave none.
    alt: Metered<String>,
}

/// A content, held with its hydration.
#[derive(Clone)]
pub struct Content {
    value: Arc<domain::Content>,
    /// What is known of it already, at one instant.
    card: Option<Arc<ContentCard>>,
    /// Whether the viewer has reposted it, if that is known already.
    is_reposted: Option<bool>,
    hydration: Arc<Hydration>,
}

impl Content {
    /// `content` as `hydration`'s viewer sees it.
    pub const fn new(content: Arc<domain::Content>, hydration: Arc<Hydration>) -> Self {
        Self { value: content, card: None, is_reposted: None, hydration }
    }

    /// As [`Self::new`], with everything that `card` has, and whether the viewer has reposted it if that is known.
    /// Both are of the same viewer.
    pub fn of_card(card: Arc<ContentCard>, is_reposted: Option<bool>, hydration: Arc<Hydration>) -> Self {
        Self { value: Arc::clone(&card.content), card: Some(card), is_reposted, hydration }
    }

    /// What the product says of it.
    fn object(&self) -> Option<&ContentObject> {
        self.value.object.as_deref()
    }

    async fn count(&self, ctx: &Context<'_>, of: fn(Counters) -> i64) -> Answer<i32> {
        answer(ctx, async {
            let counters = match self.card.as_ref().and_then(|card| card.counters) {
                Some(counters) => Some(counters),
                None => self.hydration.counters(self.value.id).await?,
            };
            Ok(counters.map(|counters| count(of(counters))))
        })
        .await
    }

    async fn reacted(&self, ctx: &Context<'_>, of: fn(ViewerReactions) -> bool) -> Answer<bool> {
        answer(ctx, async {
            let reactions = match self.card.as_ref().and_then(|card| card.reactions) {
                Some(reactions) => self.hydration.viewer_id().map(|_| reactions),
                None => self.hydration.viewer_reactions(self.value.id).await?,
            };
            Ok(reactions.map(of))
        })
        .await
    }

    async fn likers(&self, ctx: &Context<'_>, page: PageArguments) -> Result<Option<UserConnection>, Failure> {
        let page = PageOf::Likers(self.value.id, page.request(List::Likers)?);
        UserConnection::load(&self.hydration, ctx, List::Likers, page).await
    }

    async fn other(&self, ctx: &Context<'_>, id: Option<ContentId>) -> Answer<Self> {
        answer(ctx, async {
            let Some(id) = id else { return Ok(None) };
            // Whether a block hides it depends on the viewer, even if it is loaded already.
            let _looked = self.hydration.viewer_id();
            Ok(self.hydration.content(id).await?.map(|content| Self::new(content, Arc::clone(&self.hydration))))
        })
        .await
    }
}

/// A post, a reply or a repost.
#[Object(crate = "graphql_transport::objects")]
impl Content {
    /// Opaque; begins with C_.
    pub async fn id(&self) -> Metered<ID> {
        Metered(ids::of_content(self.value.id))
    }

    /// Whether it is a post, a reply or a repost.
    async fn kind(&self) -> Metered<ContentKind> {
        Metered(self.value.kind.into())
    }

    /// The text; empty if it has media only.
    async fn text(&self) -> Metered<&str> {
        Metered(&self.value.text)
    }

    /// Its pictures and videos, in the author's order.
    async fn media(&self) -> Vec<Media> {
        let complete = |medium| Media::of(medium, self.hydration.services());
        self.value.media.iter().map(complete).collect()
    }

    /// The product's own id of it. Null if it has none, or if that is not shown.
    async fn external_id(&self, ctx: &Context<'_>) -> Metered<Option<&str>> {
        let shown = named::sees(ctx, &self.hydration, Some(self.value.author));
        Metered(self.value.external_id().filter(|_| shown).map(ExternalId::as_str))
    }

    /// Where the product shows it; starts with https:// or http://. Null if the product has not said.
    async fn url(&self) -> Metered<Option<&str>> {
        Metered(self.object().and_then(|object| object.url.as_deref()))
    }

    /// What it is to the product, such as `run`; `post` unless the product says otherwise.
    #[graphql(name = "type")]
    async fn content_type(&self) -> Metered<&str> {
        Metered(self.object().map_or(DEFAULT_TYPE, |object| object.content_type.as_str()))
    }

    /// What else the product says of it: an object. Null if it says nothing.
    async fn attributes(&self) -> Metered<Option<JsonText<'_>>> {
        Metered(self.object().and_then(|object| object.attributes.as_ref()).map(JsonText))
    }

    /// When it was published. Timelines are in this order.
    async fn created_at(&self) -> Metered<Timestamp> {
        Metered(Timestamp(self.value.publish_time))
    }

    /// Who published it. Null if that cannot be read now.
    async fn author(&self, ctx: &Context<'_>) -> Answer<User> {
        answer(ctx, async {
            let hydration = Arc::clone(&self.hydration);
            if let Some(author) = self.card.as_ref().and_then(|card| card.author.as_ref()) {
                return Ok(Some(User::of_card(author, hydration)));
            }
            let profile = self.hydration.profile(self.value.author).await?;
            Ok(profile.map(|profile| User::new(profile, hydration)))
        })
        .await
    }

    /// The number of its direct replies that were not deleted. Null if that cannot be read now.
    async fn reply_count(&self, ctx: &Context<'_>) -> Answer<i32> {
        self.count(ctx, |counters| counters.replies).await
    }

    /// The number of users who like it. Null if that cannot be read now.
    async fn like_count(&self, ctx: &Context<'_>) -> Answer<i32> {
        self.count(ctx, |counters| counters.likes).await
    }

    /// The number of users who have reposted it. Null if that cannot be read now.
    async fn repost_count(&self, ctx: &Context<'_>) -> Answer<i32> {
        self.count(ctx, |counters| counters.reposts).await
    }

    /// The number of users who have bookmarked it. Null unless the viewer has published it: bookmarks are private.
    async fn bookmark_count(&self, ctx: &Context<'_>) -> Answer<i32> {
        if !self.hydration.shows_private(self.value.author) {
            return None;
        }
        self.count(ctx, |counters| counters.bookmarks).await
    }

    /// The content that a reply answers. Null if this is not a reply, or if that content was deleted or is hidden by a
    /// block.
    async fn in_reply_to(&self, ctx: &Context<'_>) -> Answer<Self> {
        self.other(ctx, self.value.reference.reply_to()).await
    }

    /// The contents above it in its thread, the first one first, at most 50. Empty if it is not a reply. Deleted
    /// contents and those hidden by a block are null.
    async fn ancestors(&self, ctx: &Context<'_>) -> Answer<Vec<Option<Self>>> {
        answer(ctx, async {
            if self.value.reference.reply_to().is_none() {
                return Ok(Some(Vec::new()));
            }
            let ids = self.hydration.above(self.value.id).await?;
            let contents = self.hydration.contents(&ids, ContentSelection::of(&ctx.look_ahead())).await?;
            let shown = |content: Arc<domain::Content>| Self::new(content, Arc::clone(&self.hydration));
            Ok(Some(contents.into_iter().map(|content| content.map(shown)).collect()))
        })
        .await
    }

    /// The direct replies to it, oldest first, without deleted ones and those hidden by a block. A repost has none:
    /// replies go to its original.
    async fn replies(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The number of items to read, 1 to 100; 20 by default.")] first: Option<AnyInt>,
        #[graphql(desc = "Only replies after the one with this cursor.")] after: Option<String>,
    ) -> Answer<ReplyConnection> {
        answer(ctx, async {
            let request = PageRequest::from_connection(first.map(|it| it.0), after.as_deref(), None, None)?;
            let page = self.hydration.entries_in(PageOf::replies(self.value.id, request)).await?;
            let selection = ContentSelection::of_connection(&ctx.look_ahead());
            Ok(Some(Shown::load(&self.hydration, &page, selection).await?.reversed().into()))
        })
        .await
    }

    /// Whether the viewer likes it. Null for anonymous viewers, or if that cannot be read now.
    async fn viewer_has_liked(&self, ctx: &Context<'_>) -> Answer<bool> {
        self.reacted(ctx, |own| own.liked).await
    }

    /// Whether the viewer has bookmarked it. Null for anonymous viewers, or if that cannot be read now.
    async fn viewer_has_bookmarked(&self, ctx: &Context<'_>) -> Answer<bool> {
        self.reacted(ctx, |own| own.bookmarked).await
    }

    #[graphql(flatten)]
    fn likers_pages(&self) -> Likers {
        Likers(self.clone())
    }

    /// The reposted content; never itself a repost. Null if this is not a repost, or if the original was deleted or is
    /// hidden by a block.
    async fn repost_of(&self, ctx: &Context<'_>) -> Answer<Self> {
        self.other(ctx, self.value.reference.repost_of()).await
    }

    /// For a repost, the id of its original, even if that was deleted; otherwise its own id. Of all entries with the
    /// same subject, a timeline shows the newest.
    async fn subject_id(&self) -> Metered<ID> {
        Metered(ids::of_content(self.value.subject()))
    }

    /// Whether the viewer has reposted it; for a repost, whether the viewer has reposted its original. Null for
    /// anonymous viewers.
    async fn viewer_has_reposted(&self, ctx: &Context<'_>) -> Answer<bool> {
        answer(ctx, async {
            match self.is_reposted {
                Some(is_reposted) => Ok(self.hydration.viewer_id().map(|_| is_reposted)),
                None => self.hydration.viewer_reposted(self.value.subject()).await,
            }
        })
        .await
    }

    /// Whether the viewer has published it, and so may delete it. False for anonymous viewers.
    async fn viewer_is_author(&self) -> Metered<bool> {
        Metered(self.hydration.viewer_id() == Some(self.value.author))
    }
}

connections! { items: Likers(Content) {
    /// The users who like it, newest like first, without those hidden by a block. `likeCount` counts the hidden ones
    /// too.
    likers -> UserConnection;
} }

impl Media {
    fn of(medium: &domain::Media, services: &Services) -> Self {
        let domain::Media { kind, url, width, height, alt } = medium.clone();
        Self {
            kind: Metered(kind.into()),
            url: services.complete(&url).into_owned().into(),
            width: width.into(),
            height: height.into(),
            alt: alt.into(),
        }
    }
}
