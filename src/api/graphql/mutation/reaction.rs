//! Likes and bookmarks. All of them are idempotent.

use std::sync::Arc;

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use super::{
    payload::answer,
    user_error::{UserError, UserErrorCode},
};
use crate::{
    api::graphql::{
        errors::Failure,
        named,
        objects::Content,
        scope::{Answer, fresh_hydration},
        selection::ContentSelection,
    },
    domain::Reaction,
    publish::ReactionOutcome,
};

/// An input and a payload of the form that all four have.
macro_rules! forms {
    ($input:ident, $about_input:literal, $payload:ident, $about_payload:literal) => {
        #[doc = $about_input]
        #[derive(InputObject)]
        struct $input {
            /// The content's id; begins with C_ or ext:.
            content_id: ID,
            /// Returned unchanged in the payload.
            client_mutation_id: Option<String>,
        }

        #[doc = $about_payload]
        #[derive(SimpleObject)]
        struct $payload {
            /// The content after the change. Null if refused, or if the content is hidden by a block.
            content: Option<Content>,
            /// Why the mutation was refused; empty if it was not.
            user_errors: Vec<UserError>,
            /// The input's `clientMutationId`.
            client_mutation_id: Option<String>,
        }

        payloads!($payload);
    };
}

forms!(LikeContentInput, "The content to like.", LikeContentPayload, "The liked content; or why not.");
forms!(UnlikeContentInput, "The content to unlike.", UnlikeContentPayload, "The unliked content; or why not.");
forms!(BookmarkContentInput, "The content to bookmark.", BookmarkContentPayload, "The bookmarked content; or why not.");
forms!(
    UnbookmarkContentInput,
    "The content whose bookmark to remove.",
    UnbookmarkContentPayload,
    "The content whose bookmark was removed; or why not."
);

/// The part of the root about reactions.
#[derive(Default)]
pub struct ReactionMutation;

#[Object]
impl ReactionMutation {
    /// Likes a content. Nothing changes if the viewer likes it already.
    async fn like_content(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The content to like.")] input: LikeContentInput,
    ) -> Answer<LikeContentPayload> {
        answer(ctx, async {
            let LikeContentInput { content_id, client_mutation_id } = input;
            let (content, user_errors) = change(ctx, &content_id, Reaction::Like, true).await?;
            Ok(Some(LikeContentPayload { content, user_errors, client_mutation_id }))
        })
        .await
    }

    /// Takes a like back. Nothing changes if the viewer does not like it.
    async fn unlike_content(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The content to unlike.")] input: UnlikeContentInput,
    ) -> Answer<UnlikeContentPayload> {
        answer(ctx, async {
            let UnlikeContentInput { content_id, client_mutation_id } = input;
            let (content, user_errors) = change(ctx, &content_id, Reaction::Like, false).await?;
            Ok(Some(UnlikeContentPayload { content, user_errors, client_mutation_id }))
        })
        .await
    }

    /// Bookmarks a content: it is in the viewer's `bookmarks`, which nobody else can see. Nothing changes if the viewer
    /// has bookmarked it already.
    async fn bookmark_content(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The content to bookmark.")] input: BookmarkContentInput,
    ) -> Answer<BookmarkContentPayload> {
        answer(ctx, async {
            let BookmarkContentInput { content_id, client_mutation_id } = input;
            let (content, user_errors) = change(ctx, &content_id, Reaction::Bookmark, true).await?;
            Ok(Some(BookmarkContentPayload { content, user_errors, client_mutation_id }))
        })
        .await
    }

    /// Removes a bookmark. Nothing changes if the viewer has not bookmarked the content.
    async fn unbookmark_content(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The content whose bookmark to remove.")] input: UnbookmarkContentInput,
    ) -> Answer<UnbookmarkContentPayload> {
        answer(ctx, async {
            let UnbookmarkContentInput { content_id, client_mutation_id } = input;
            let (content, user_errors) = change(ctx, &content_id, Reaction::Bookmark, false).await?;
            Ok(Some(UnbookmarkContentPayload { content, user_errors, client_mutation_id }))
        })
        .await
    }
}

/// Reacts or undoes a reaction, and reads the content afterwards. Undoing works behind a block, too, without showing
/// the content.
async fn change(
    ctx: &Context<'_>,
    content_id: &ID,
    reaction: Reaction,
    wanted: bool,
) -> Result<(Option<Content>, Vec<UserError>), Failure> {
    let hydration = fresh_hydration(ctx)?;
    let viewer = hydration.viewer()?.id;
    let id = named::content(ctx, &hydration, content_id).await?;
    let reacting = &hydration.use_cases().reacting;
    let outcome = if wanted {
        reacting.react(viewer, id, reaction).await?
    } else {
        reacting.take_back(viewer, id, reaction).await?
    };
    let content = match outcome {
        ReactionOutcome::Done(Some(content)) => Arc::new(content),
        ReactionOutcome::Done(None) => return Ok((None, Vec::new())),
        ReactionOutcome::UnknownContent => return Ok((None, vec![no_such_content()])),
    };
    hydration.remember_content(&content).await;
    let selection = ContentSelection { author: None, ..ContentSelection::of(&ctx.look_ahead().field("content")) };
    hydration.prime_contents(&[id], selection).await;
    Ok((Some(Content::new(content, hydration)), Vec::new()))
}

fn no_such_content() -> UserError {
    UserError::about(&["contentId"], UserErrorCode::NotFound, "there is no such content, or it was deleted")
}
