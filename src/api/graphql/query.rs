//! The root of queries: everything but the viewer's timeline.

use std::sync::Arc;

use async_graphql::{Context, ID, MergedObject, Object};

use super::{
    errors::{ApiError, Failure},
    hydration::Hydration,
    ids::{InvalidId, NodeId},
    named,
    objects::{Content, ContentConnection, FoundUserConnection, Node, Session, Shown, User, suggested},
    scalars::{AnyInt, Timestamp},
    scope::{Answer, answer, hydration},
    selection::{ContentSelection, user_parts, user_parts_of_connection},
    timeline::TimelineQuery,
};
use crate::domain::{ContentId, Handle, PageRequest, SessionId, UserId, limits::MAX_NODES, search::Search};

/// Queries.
#[derive(MergedObject, Default)]
pub struct Query(TimelineQuery, OtherQuery);

/// The rest of them.
#[derive(Default)]
struct OtherQuery;

/// Queries.
#[expect(clippy::too_many_arguments, reason = "a search has four conditions, and two arguments of a connection")]
#[Object]
impl OtherQuery {
    /// Searches contents by text, author and time, newest first. Contents match all given conditions. Give `text`,
    /// `author` or both.
    ///
    /// A content matches if it contains every word of `text` as a whole word (letters, digits or a pictograph), and
    /// every run of Chinese, Japanese, Korean or Thai characters literally. The parts of a word with an apostrophe are
    /// words, too; the beginning of a word is not. Case, width, skin tones and invisible marks do not matter, nor do
    /// the points and variants of letters in Arabic, Persian and Hebrew; accents do. The search covers the whole text
    /// of every content; reposts have no text and never match. With an author and no text, it finds all contents of
    /// the author except reposts.
    ///
    /// A content is found from the moment it is published until it is deleted. Contents hidden by a block are left
    /// out. Without `author`, so are contents of users whom the viewer mutes or who hide from the viewer.
    ///
    /// Each page does a bounded amount of work, so it may have fewer entries than asked for, even none, although more
    /// follow. Read on with `endCursor` while `hasNextPage` is true.
    async fn search(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Words, or parts of unspaced text, in any order; at most 100 characters.")] text: Option<
            String,
        >,
        #[graphql(desc = "Only contents of this user; begins with U_ or ext:.")] author: Option<ID>,
        #[graphql(desc = "Only contents published at this time or later.")] from: Option<Timestamp>,
        #[graphql(desc = "Only contents published before this time; later than `from`.")] to: Option<Timestamp>,
        #[graphql(desc = "The number of items to read, 1 to 100; 20 by default.")] first: Option<AnyInt>,
        #[graphql(desc = "Only entries older than the one with this cursor.")] after: Option<String>,
    ) -> Answer<ContentConnection> {
        answer(ctx, async {
            let hydration = hydration(ctx)?;
            let author = match author {
                Some(id) => Some(named::user(ctx, &hydration, &id).await?),
                None => None,
            };
            let search = Search::try_new(text.as_deref(), author, from.map(|it| it.0), to.map(|it| it.0))?;
            let request = PageRequest::from_connection(first.map(|it| it.0), after.as_deref(), None, None)?;
            let searcher = &hydration.use_cases().searcher;
            let found = searcher.page(hydration.viewer_id(), &search, request.bound, request.size).await?;
            let selection = ContentSelection::of_connection(&ctx.look_ahead());
            Ok(Some(ContentConnection::from(Shown::found(&hydration, &found, selection).await?)))
        })
        .await
    }

    /// Finds users whose handle begins with `text`, or whose name has `text` at the beginning of one of its first
    /// eight words: `lo` and `ada lo` find Ada Lovelace. In Chinese, Japanese, Korean and Thai, `text` may begin at
    /// any of the first eight characters. With a leading @, only handles count. What does not matter in `search`, such
    /// as case, does not matter here.
    ///
    /// Each user comes once, in alphabetical order of the matching handle or part of the name, then in order of ids. A
    /// new name or handle is found at once. Users hidden by a block are left out.
    async fn search_users(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The beginning of a handle, or of any words of a name; 1 to 60 characters.")] text: String,
        #[graphql(desc = "The number of items to read, 1 to 100; 20 by default.")] first: Option<AnyInt>,
        #[graphql(desc = "Only users after the one with this cursor.")] after: Option<String>,
    ) -> Answer<FoundUserConnection> {
        answer(ctx, async {
            let (hydration, selection) = (hydration(ctx)?, user_parts_of_connection(&ctx.look_ahead()));
            let window = (first.map(|it| it.0), after.as_deref());
            FoundUserConnection::load(&hydration, &text, window, selection).await.map(Some)
        })
        .await
    }

    /// Suggests users to follow: first users followed by many of those whom the viewer followed most recently, then
    /// the most followed. Anonymous viewers get the most followed. At most 50, without paging: ask again after the
    /// viewer has followed some.
    ///
    /// Leaves out users whom the viewer follows, mutes, blocks or hides from, and users who hide from the viewer or
    /// block them.
    async fn suggested_users(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The maximum number of users, 1 to 50; 20 by default.")] first: Option<AnyInt>,
    ) -> Answer<Vec<User>> {
        answer(ctx, async {
            let (hydration, selection) = (hydration(ctx)?, user_parts(&ctx.look_ahead()));
            suggested(&hydration, first.map(|it| it.0), selection).await.map(Some)
        })
        .await
    }

    /// The user whom the product calls so: the subject in its issuer's tokens. Null if there is none.
    async fn user_by_external_id(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product's id of the user, compared byte by byte.")] external_id: String,
    ) -> Answer<User> {
        answer(ctx, async {
            let hydration = hydration(ctx)?;
            let id = if named::sees(ctx, &hydration, None) { hydration.called(&external_id).await? } else { None };
            let Some(id) = id else { return Ok(None) };
            hydration.prime_users(&[id], user_parts(&ctx.look_ahead())).await;
            user(&hydration, id).await
        })
        .await
    }

    /// The content that the product calls so. Null if there is none, if it was deleted, or is hidden by a block.
    async fn content_by_external_id(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product's id of the content, compared byte by byte.")] external_id: String,
    ) -> Answer<Content> {
        answer(ctx, async {
            let hydration = hydration(ctx)?;
            let Some(id) = named::called_content(ctx, &hydration, &external_id).await? else { return Ok(None) };
            prime(ctx, &hydration, &[Ok(NodeId::Content(id))]).await;
            content(&hydration, id).await
        })
        .await
    }

    /// The authenticated user. Null for anonymous viewers.
    async fn viewer(&self, ctx: &Context<'_>) -> Answer<User> {
        answer(ctx, async {
            let hydration = hydration(ctx)?;
            let Some(id) = hydration.viewer_id() else { return Ok(None) };
            hydration.prime_users(&[id], user_parts(&ctx.look_ahead())).await;
            user(&hydration, id).await
        })
        .await
    }

    /// The user with a handle. Null if there is none.
    async fn user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The handle, in upper or lower case, with or without a leading @.")] handle: String,
    ) -> Answer<User> {
        answer(ctx, async {
            let hydration = hydration(ctx)?;
            let Ok(handle) = Handle::try_new(&handle) else { return Ok(None) };
            let Some(profile) = hydration.services().ports.accounts.by_handle(&handle).await?.map(Arc::new) else {
                return Ok(None);
            };
            hydration.remember(&profile).await;
            hydration.prime_users(&[profile.id], user_parts(&ctx.look_ahead())).await;
            Ok(Some(User::new(profile, hydration)))
        })
        .await
    }

    /// A content. Null if there is none with this id, if it was deleted, or is hidden by a block.
    async fn content(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "A content's id; begins with C_ or ext:.")] id: ID,
    ) -> Answer<Content> {
        answer(ctx, async {
            let hydration = hydration(ctx)?;
            let id = named::content(ctx, &hydration, &id).await?;
            prime(ctx, &hydration, &[Ok(NodeId::Content(id))]).await;
            content(&hydration, id).await
        })
        .await
    }

    /// The object with this id, or the user, or else the content, with this product's id (`ext:42`). Null if there is
    /// none, if it was deleted, or if it is a session of somebody else.
    async fn node(&self, ctx: &Context<'_>, #[graphql(desc = "The id.")] id: ID) -> Answer<Node> {
        answer(ctx, async {
            let hydration = hydration(ctx)?;
            let id = named::object(ctx, &hydration, &id).await?;
            prime(ctx, &hydration, &[Ok(id)]).await;
            node(&hydration, id).await
        })
        .await
    }

    /// The objects with these ids, or products' ids, in their order; null in the place of an id without an object. At
    /// most 100.
    async fn nodes(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The ids, at most 100.")] ids: Vec<ID>,
    ) -> Result<Vec<Answer<Node>>, ApiError> {
        Box::pin(nodes(ctx, &ids)).await.map_err(Failure::into_api_error)
    }
}

async fn user(hydration: &Arc<Hydration>, id: UserId) -> Result<Option<User>, Failure> {
    Ok(hydration.profile(id).await?.map(|profile| User::new(profile, Arc::clone(hydration))))
}

async fn content(hydration: &Arc<Hydration>, id: ContentId) -> Result<Option<Content>, Failure> {
    Ok(hydration.content(id).await?.map(|content| Content::new(content, Arc::clone(hydration))))
}

/// One of the viewer's own sessions.
async fn session(hydration: &Hydration, id: SessionId) -> Result<Option<Session>, Failure> {
    let Some((sessions, viewer)) = hydration.sessions().await? else { return Ok(None) };
    let found = sessions.iter().find(|session| session.id == id);
    Ok(found.map(|session| Session::new(session.clone(), viewer.session)))
}

async fn node(hydration: &Arc<Hydration>, id: NodeId) -> Result<Option<Node>, Failure> {
    Ok(match id {
        NodeId::User(id) => user(hydration, id).await?.map(Node::User),
        NodeId::Content(id) => content(hydration, id).await?.map(Node::Content),
        NodeId::Session(id) => session(hydration, id).await?.map(Node::Session),
    })
}

/// An invalid id fails only its own place.
async fn nodes(ctx: &Context<'_>, ids: &[ID]) -> Result<Vec<Answer<Node>>, Failure> {
    if ids.len() > MAX_NODES {
        return Err(Failure::TooManyIds(ids.len()));
    }
    let hydration = hydration(ctx)?;
    let parsed = named::objects(ctx, &hydration, ids).await?;
    prime(ctx, &hydration, &parsed).await;
    let mut nodes = Vec::with_capacity(parsed.len());
    for id in parsed {
        nodes.push(answer(ctx, async { node(&hydration, id?).await }).await);
    }
    Ok(nodes)
}

/// Loads the selected parts of all objects: contents first, then their authors together with the users.
async fn prime(ctx: &Context<'_>, hydration: &Hydration, ids: &[Result<NodeId, InvalidId>]) {
    let (mut users, mut contents) = (Vec::new(), Vec::new());
    for id in ids {
        match id {
            Ok(NodeId::User(id)) => users.push(*id),
            Ok(NodeId::Content(id)) => contents.push(*id),
            Ok(NodeId::Session(_)) | Err(_) => {}
        }
    }
    let selected = ctx.look_ahead();
    let (of_users, of_contents) = (user_parts(&selected), ContentSelection::of(&selected));
    hydration.prime_contents(&contents, ContentSelection { author: None, ..of_contents }).await;
    if of_contents.author.is_some() {
        for id in contents {
            users.extend(hydration.content(id).await.ok().flatten().map(|content| content.author));
        }
    }
    hydration.prime_users(&users, of_users.and(of_contents.author.unwrap_or_default())).await;
}
