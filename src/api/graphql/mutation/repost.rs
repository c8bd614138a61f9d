//! Reposting, and taking it back. Both are idempotent.

use std::sync::Arc;

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use super::{
    content::{own_edge, published, split},
    payload::answer,
    user_error::UserError,
};
use crate::{
    api::graphql::{
        errors::Failure,
        hydration::Hydration,
        ids, named,
        objects::{Content, TimelineEdge},
        scope::{Answer, fresh_hydration},
    },
    domain::{self, ContentId, UserId, content::Draft},
};

/// The content to repost.
#[derive(InputObject)]
struct RepostContentInput {
    /// The content's id; begins with C_ or ext:. For a repost, its original is reposted.
    content_id: ID,
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// The repost; or why there is none.
#[derive(SimpleObject)]
struct RepostContentPayload {
    /// The repost, as it stands in the viewer's own timeline. Null if refused, or if that timeline excludes the
    /// original's author.
    timeline_edge: Option<TimelineEdge>,
    /// The original after the change. Null if refused.
    content: Option<Content>,
    /// Why the mutation was refused; empty if it was not.
    user_errors: Vec<UserError>,
    /// The input's `clientMutationId`.
    client_mutation_id: Option<String>,
}

/// The content whose repost to take back.
#[derive(InputObject)]
struct UnrepostContentInput {
    /// The id of the original or of any repost of it; begins with C_ or ext:.
    content_id: ID,
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// The repost that was taken back.
#[derive(SimpleObject)]
struct UnrepostContentPayload {
    /// The id of the repost that was taken back. Null if there was none.
    deleted_content_id: Option<ID>,
    /// The original after the change. Null if it was deleted or is hidden by a block.
    content: Option<Content>,
    /// Always empty: taking back a repost that does not exist succeeds.
    user_errors: Vec<UserError>,
    /// The input's `clientMutationId`.
    client_mutation_id: Option<String>,
}

payloads!(RepostContentPayload, UnrepostContentPayload);

/// The part of the root about reposts.
#[derive(Default)]
pub struct RepostMutation;

#[Object]
impl RepostMutation {
    /// Reposts a content: the next read of every follower shows it. A viewer can repost a content once; reposting it
    /// again returns the first repost.
    async fn repost_content(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The content to repost.")] input: RepostContentInput,
    ) -> Answer<RepostContentPayload> {
        answer(ctx, async {
            let hydration = fresh_hydration(ctx)?;
            let viewer = hydration.viewer()?;
            let RepostContentInput { content_id, client_mutation_id } = input;
            let draft = Draft::repost(named::content(ctx, &hydration, &content_id).await?);
            let outcome = hydration.use_cases().publisher.publish(viewer.id, draft).await?;
            let (repost, user_errors) = split(published(outcome, "contentId", false)?);
            let content = match repost.as_ref().map(domain::Content::subject) {
                Some(original) => shown(&hydration, original).await?,
                None => None,
            };
            let timeline_edge = match repost {
                Some(repost) if is_in_own_timeline(&hydration, viewer.id, repost.id).await? => {
                    Some(own_edge(repost, &hydration))
                }
                _ => None,
            };
            Ok(Some(RepostContentPayload { timeline_edge, content, user_errors, client_mutation_id }))
        })
        .await
    }

    /// Takes the viewer's repost of a content back: no read shows it any more. Nothing changes if there is none.
    async fn unrepost_content(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The content whose repost to take back.")] input: UnrepostContentInput,
    ) -> Answer<UnrepostContentPayload> {
        answer(ctx, async {
            let hydration = fresh_hydration(ctx)?;
            let viewer = hydration.viewer()?;
            let UnrepostContentInput { content_id, client_mutation_id } = input;
            let content = named::content(ctx, &hydration, &content_id).await?;
            let (original, repost) = hydration.use_cases().publisher.take_back(viewer.id, content).await?;
            let content = shown(&hydration, original).await?;
            let deleted_content_id = repost.map(ids::of_content);
            Ok(Some(UnrepostContentPayload {
                deleted_content_id,
                content,
                user_errors: Vec::new(),
                client_mutation_id,
            }))
        })
        .await
    }
}

/// A repost of a muted user's content is not.
async fn is_in_own_timeline(hydration: &Hydration, viewer: UserId, repost: ContentId) -> Result<bool, Failure> {
    Ok(!hydration.use_cases().reader.visible(viewer, &[repost]).await?.is_empty())
}

async fn shown(hydration: &Arc<Hydration>, id: ContentId) -> Result<Option<Content>, Failure> {
    Ok(hydration.content(id).await?.map(|content| Content::new(content, Arc::clone(hydration))))
}
