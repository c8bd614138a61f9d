//! Publishing and deleting.

use std::sync::Arc;

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};
use content_schemas::ContentSchemas;

use super::{
    payload::answer,
    user_error::{UserError, UserErrorCode},
};
use crate::{
    accounts::Viewer,
    api::graphql::{
        errors::Failure,
        hydration::Hydration,
        ids, named,
        objects::{self, MediaKind, TimelineEdge},
        scalars::{AnyInt, Json},
        scope::{Answer, fresh_hydration, hydration_for},
        service_calls::{may_act, service_alone},
    },
    domain::{
        Content, ContentObject, Media, UserId,
        content::Draft,
        object::{DEFAULT_TYPE, ObjectInput},
    },
    publish::{PublishOutcome, RemoveOutcome},
};

/// A link to a picture or a video that is stored elsewhere.
#[derive(InputObject)]
struct MediaInput {
    /// The type of the medium.
    kind: MediaKind,
    /// The URL; starts with https:// or http://, at most 2048 characters.
    url: String,
    /// In pixels, 1 to 100000.
    width: Option<AnyInt>,
    /// In pixels, 1 to 100000.
    height: Option<AnyInt>,
    /// The alternative text, at most 1000 characters.
    alt: Option<String>,
}

/// The content to publish.
#[derive(InputObject)]
pub(super) struct PublishContentInput {
    /// At most 5000 characters. May be empty if there are media.
    text: String,
    /// At most 9.
    media: Option<Vec<MediaInput>>,
    /// For services alone: whose content it is; begins with U_ or ext:. By default the user as whom the service acts.
    /// Needs the scope `act_as`.
    pub(super) author_id: Option<ID>,
    /// The content to reply to; if that is a repost, the reply goes to its original. Begins with C_ or ext:.
    reply_to: Option<ID>,
    /// For services alone: the product's own id of the content, 1 to 255 bytes. It is given once and for all, also if
    /// the content is deleted. Publishing the same again with it publishes nothing new and returns the content;
    /// anything else is a CONFLICT.
    pub(super) external_id: Option<String>,
    /// For services alone: where the product shows the content; starts with https:// or http://, at most 2048
    /// characters.
    url: Option<String>,
    /// For services alone, unless it is `post`: what the content is to the product, such as `run`. 1 to 64 of the
    /// characters a to z, 0 to 9, `.`, `_` and `-`.
    #[graphql(name = "type", default_with = "Some(DEFAULT_TYPE.to_owned())")]
    content_type: Option<String>,
    /// For services alone: what else the product says of the content. An object of at most 8192 bytes without white
    /// space, nested at most 16 deep. Must fit the JSON Schema that the operator may have given to the type; without
    /// attributes `{}` must.
    attributes: Option<Json>,
    /// 1 to 64 characters, different for each content. A repeated request with the same key publishes nothing new and
    /// returns the first content. Use it to repeat a request whose answer was lost.
    idempotency_key: Option<String>,
    /// Returned unchanged in the payload.
    pub(super) client_mutation_id: Option<String>,
}

/// The published content; or why nothing was published.
#[derive(SimpleObject)]
struct PublishContentPayload {
    /// The new entry, as it stands in the author's own timeline. Null if refused.
    timeline_edge: Option<TimelineEdge>,
    /// Why the mutation was refused; empty if it was not.
    user_errors: Vec<UserError>,
    /// The input's `clientMutationId`.
    client_mutation_id: Option<String>,
}

/// The content to delete.
#[derive(InputObject)]
struct DeleteContentInput {
    /// One of the viewer's own contents; begins with C_ or ext:.
    content_id: ID,
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// The deleted content's id; or why nothing was deleted.
#[derive(SimpleObject)]
struct DeleteContentPayload {
    /// The id of the deleted content. Null if refused.
    deleted_content_id: Option<ID>,
    /// Why the mutation was refused; empty if it was not.
    user_errors: Vec<UserError>,
    /// The input's `clientMutationId`.
    client_mutation_id: Option<String>,
}

payloads!(PublishContentPayload, DeleteContentPayload);

/// The part of the root about contents.
#[derive(Default)]
pub struct ContentMutation;

#[Object]
impl ContentMutation {
    /// Publishes a content: the next read of every follower shows it.
    async fn publish_content(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The content to publish.")] input: PublishContentInput,
    ) -> Answer<PublishContentPayload> {
        answer(ctx, async {
            let hydration = fresh_hydration(ctx)?;
            if input.author_id.is_none() {
                hydration.viewer()?;
            }
            if let Some(field) = input.for_services() {
                service_alone(ctx, field)?;
            }
            let (client_mutation_id, author_id) = (input.client_mutation_id.clone(), input.author_id.clone());
            let author = match &author_id {
                Some(id) => author(ctx, named::user(ctx, &hydration, id).await?).await?,
                None => Ok(hydration.viewer()?),
            };
            let (timeline_edge, user_errors) = split(match author {
                Ok(author) => publish(ctx, author.id, input).await?.map(|content| (author, content)),
                Err(fault) => Err(fault),
            });
            let timeline_edge = match timeline_edge {
                Some((author, content)) if author_id.is_some() => {
                    Some(own_edge(content, &hydration_for(ctx, Some(author))?))
                }
                Some((_, content)) => Some(own_edge(content, &hydration)),
                None => None,
            };
            Ok(Some(PublishContentPayload { timeline_edge, user_errors, client_mutation_id }))
        })
        .await
    }

    /// Deletes one of the viewer's own contents: no read shows it any more.
    async fn delete_content(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The content to delete.")] input: DeleteContentInput,
    ) -> Answer<DeleteContentPayload> {
        answer(ctx, async {
            let hydration = fresh_hydration(ctx)?;
            let viewer = hydration.viewer()?;
            let DeleteContentInput { content_id, client_mutation_id } = input;
            let content = named::content(ctx, &hydration, &content_id).await?;
            let mut outcome = hydration.use_cases().publisher.remove(viewer.id, content).await?;
            // A content behind a block is answered like a missing one.
            if outcome == RemoveOutcome::NotTheAuthor && hydration.content(content).await?.is_none() {
                outcome = RemoveOutcome::Unknown;
            }
            let (deleted_content_id, user_errors) = split(removed(outcome).map(|()| ids::of_content(content)));
            Ok(Some(DeleteContentPayload { deleted_content_id, user_errors, client_mutation_id }))
        })
        .await
    }
}

/// The author whom a service names.
pub(super) async fn author(ctx: &Context<'_>, user: UserId) -> Result<Result<Viewer, UserError>, Failure> {
    let viewer = may_act(ctx, "input.authorId")?.acting_as(user).await?;
    Ok(viewer.ok_or_else(no_author))
}

/// The author that a service names does not exist, or not any more.
pub(super) fn no_author() -> UserError {
    UserError::about(&["authorId"], UserErrorCode::NotFound, "there is no such user, or the user is deactivated")
}

/// Publishes what `input` says, as the author.
pub(super) async fn publish(
    ctx: &Context<'_>,
    author: UserId,
    input: PublishContentInput,
) -> Result<Result<Content, UserError>, Failure> {
    // What was published a moment ago is found.
    let hydration = fresh_hydration(ctx)?;
    let reply_to = match &input.reply_to {
        Some(id) => Some(named::content(ctx, &hydration, id).await?),
        None => None,
    };
    let has_external_id = input.external_id.is_some();
    let draft = match input.draft(&hydration.services().content_schemas) {
        Ok(draft) => draft,
        Err(fault) => return Ok(Err(fault)),
    };
    let draft = if let Some(content) = reply_to { draft.replying_to(content) } else { draft };
    let outcome = hydration.use_cases().publisher.publish(author, draft).await?;
    published(outcome, "replyTo", has_external_id)
}

/// The edge of a content that the viewer has published.
pub(super) fn own_edge(content: Content, hydration: &Arc<Hydration>) -> TimelineEdge {
    let entry = content.entry();
    TimelineEdge::new(&entry, Some(objects::Content::new(Arc::new(content), Arc::clone(hydration))))
}

impl PublishContentInput {
    /// The first field that only services may give, in the words of the request.
    fn for_services(&self) -> Option<&'static str> {
        let given = [
            ("input.authorId", self.author_id.is_some()),
            ("input.externalId", self.external_id.is_some()),
            ("input.url", self.url.is_some()),
            ("input.type", self.content_type.as_ref().is_some_and(|it| it != DEFAULT_TYPE)),
            ("input.attributes", self.attributes.is_some()),
        ];
        given.into_iter().find_map(|(field, is_given)| is_given.then_some(field))
    }

    /// What it publishes, apart from what it replies to.
    fn draft(self, schemas: &ContentSchemas) -> Result<Draft, UserError> {
        let object = ContentObject::try_new(&ObjectInput {
            external_id: self.external_id.as_deref(),
            content_type: self.content_type.as_deref(),
            url: self.url.as_deref(),
            attributes: self.attributes.as_ref().map(|json| &json.0),
        })?;
        let plain = ContentObject::default();
        let checked = object.as_ref().unwrap_or(&plain);
        schemas.check(&checked.content_type, checked.attributes.as_ref())?;
        let media = self.media.into_iter().flatten().map(Media::from).collect();
        Ok(Draft::try_new(&self.text, media, self.idempotency_key)?.as_object(object))
    }
}

/// `reference` is the input field that names the content referred to.
pub(super) fn published(
    outcome: PublishOutcome,
    reference: &str,
    has_external_id: bool,
) -> Result<Result<Content, UserError>, Failure> {
    match outcome {
        PublishOutcome::Published(content) | PublishOutcome::Repeated(Some(content)) => Ok(Ok(content)),
        PublishOutcome::Repeated(None) if has_external_id => Ok(Err(UserError::about(
            &["externalId"],
            UserErrorCode::Conflict,
            "what was published with this external id, or with the idempotency key, has been deleted, and does not \
             come back: use another id to publish again",
        ))),
        PublishOutcome::Repeated(None) => Ok(Err(UserError::about(
            &["idempotencyKey"],
            UserErrorCode::Conflict,
            "what was published with this idempotency key has been deleted: use another key to publish again",
        ))),
        PublishOutcome::Conflict => Ok(Err(UserError::about(
            &["externalId"],
            UserErrorCode::Conflict,
            "something else was published with this external id, or with the idempotency key",
        ))),
        PublishOutcome::UnknownReference => Ok(Err(no_such_content(reference))),
        PublishOutcome::UnknownAuthor => Err(Failure::SignInEnded),
    }
}

fn removed(outcome: RemoveOutcome) -> Result<(), UserError> {
    match outcome {
        RemoveOutcome::Removed => Ok(()),
        RemoveOutcome::Unknown => Err(no_such_content("contentId")),
        RemoveOutcome::NotTheAuthor => {
            Err(UserError::about(&["contentId"], UserErrorCode::NotAllowed, "only its author can delete a content"))
        }
    }
}

/// The same error for missing contents and for those behind a block.
fn no_such_content(field: &str) -> UserError {
    UserError::about(&[field], UserErrorCode::NotFound, "there is no such content, or it was deleted")
}

pub(super) fn split<T>(result: Result<T, UserError>) -> (Option<T>, Vec<UserError>) {
    match result {
        Ok(value) => (Some(value), Vec::new()),
        Err(refusal) => (None, vec![refusal]),
    }
}

impl From<MediaInput> for Media {
    fn from(input: MediaInput) -> Self {
        let MediaInput { kind, url, width, height, alt } = input;
        let (width, height) = (width.map(AnyInt::saturating), height.map(AnyInt::saturating));
        Self { kind: kind.into(), url, width, height, alt: alt.unwrap_or_default() }
    }
}
