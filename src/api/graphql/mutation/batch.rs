//! Publishing many contents at once, for services.

use std::{collections::HashMap, sync::Arc};

use async_graphql::{Context, InputObject, Object, SimpleObject};
use futures_util::future::join_all;

use super::{
    content::{PublishContentInput, author, no_author, own_edge, publish},
    payload::answer,
    user_error::{UserError, UserErrorCode},
};
use crate::{
    accounts::Viewer,
    api::{
        graphql::{
            errors::Failure,
            hydration::Hydration,
            ids, named,
            objects::TimelineEdge,
            scope::{Answer, fresh_hydration, hydration_for},
            service_calls::{may_act, service_alone},
        },
        order::wait_beyond,
    },
    domain::{Content, UserId, limits::MAX_BATCH},
};

/// The contents to publish.
#[derive(InputObject)]
struct PublishContentsInput {
    /// 1 to 100, in the order in which they are published, each by itself: a refused one keeps no other from being
    /// published.
    contents: Vec<PublishContentInput>,
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// The result for one of the contents.
#[derive(SimpleObject)]
struct PublishContentsResult {
    /// Which of the input's contents, from 0.
    index: i32,
    /// The new entry, as it stands in the author's own timeline. Null if refused.
    timeline_edge: Option<TimelineEdge>,
    /// Why it was refused; empty if it was not.
    user_errors: Vec<UserError>,
    /// The content's `clientMutationId`.
    client_mutation_id: Option<String>,
}

/// The results in the order of the input.
#[derive(SimpleObject)]
struct PublishContentsPayload {
    /// One result for each content.
    results: Vec<PublishContentsResult>,
    /// Why the mutation was refused as a whole; empty if it was not.
    user_errors: Vec<UserError>,
    /// The input's `clientMutationId`.
    client_mutation_id: Option<String>,
}

payloads!(PublishContentsPayload);

/// The part of the root about many contents.
#[derive(Default)]
pub struct BatchMutation;

#[Object]
impl BatchMutation {
    /// For services: publishes contents one after the other, each as `publishContent` does. One may reply to an earlier
    /// one by its `ext:` id. With external ids, or idempotency keys, doing it again publishes nothing twice, so repeat
    /// it whole after any failure.
    async fn publish_contents(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The contents.")] input: PublishContentsInput,
    ) -> Answer<PublishContentsPayload> {
        answer(ctx, async {
            let call = service_alone(ctx, "publishContents")?;
            let PublishContentsInput { contents, client_mutation_id } = input;
            if let Some(refusal) = refusal(contents.len()) {
                let user_errors = vec![refusal];
                return Ok(Some(PublishContentsPayload { results: Vec::new(), user_errors, client_mutation_id }));
            }
            let authors = authors(ctx, &contents).await?;
            let clock = fresh_hydration(ctx)?.services().clock.clone();
            let (mut done, mut newest) = (Vec::with_capacity(contents.len()), i64::MIN);
            for (content, author) in contents.into_iter().zip(authors) {
                wait_beyond(newest, &clock).await;
                let (client_mutation_id, id) = (content.client_mutation_id.clone(), content.external_id.clone());
                let as_user = author.as_ref().ok().map(|author| author.id);
                let published = published(ctx, author, content).await?;
                let id = id.unwrap_or_else(|| id_of(&published));
                let refusal = published.as_ref().err().map(|fault| fault.code);
                call.note_part("publishContents", as_user, id, refusal);
                newest = published.as_ref().map_or(newest, |(_, content)| newest.max(content.publish_time));
                done.push(Done { published, client_mutation_id });
            }
            let results = results(ctx, done)?;
            Ok(Some(PublishContentsPayload { results, user_errors: Vec::new(), client_mutation_id }))
        })
        .await
    }
}

fn refusal(count: usize) -> Option<UserError> {
    let (code, message) = match count {
        0 => (UserErrorCode::Invalid, "there is no content: send one at least".to_owned()),
        1..=MAX_BATCH => return None,
        _ => (UserErrorCode::TooLong, format!("{count} contents are too many: send at most {MAX_BATCH} at a time")),
    };
    Some(UserError::about(&["contents"], code, &message))
}

/// Whose the contents are. Fails as a whole if the service may not publish one of them: then nothing is published.
async fn authors(
    ctx: &Context<'_>,
    contents: &[PublishContentInput],
) -> Result<Vec<Result<Viewer, UserError>>, Failure> {
    let hydration = fresh_hydration(ctx)?;
    if contents.iter().any(|it| it.author_id.is_none()) {
        hydration.viewer()?;
    }
    if contents.iter().any(|it| it.author_id.is_some()) {
        may_act(ctx, "input.authorId")?;
    }
    let named = join_all(contents.iter().map(async |content| match &content.author_id {
        Some(id) => named::user(ctx, &hydration, id).await.map(Some),
        None => Ok(None),
    }));
    let mut authors = Vec::with_capacity(contents.len());
    for named in named.await {
        authors.push(match named {
            Ok(Some(user)) => author(ctx, user).await?,
            Ok(None) => Ok(hydration.viewer()?),
            Err(failure) => Err(of_this_content("authorId", failure)?),
        });
    }
    Ok(authors)
}

/// Ids that have not the form of one are faults of their content alone.
fn of_this_content(field: &str, failure: Failure) -> Result<UserError, Failure> {
    match failure {
        Failure::Id(invalid) => Ok(UserError::about(&[field], UserErrorCode::Invalid, &invalid.to_string())),
        failure => Err(failure),
    }
}

async fn published(
    ctx: &Context<'_>,
    author: Result<Viewer, UserError>,
    content: PublishContentInput,
) -> Result<Result<(Viewer, Content), UserError>, Failure> {
    let author = match author {
        Ok(author) => author,
        Err(fault) => return Ok(Err(fault)),
    };
    match publish(ctx, author.id, content).await {
        Ok(published) => Ok(published.map(|content| (author, content))),
        // The account was deleted a moment ago.
        Err(Failure::SignInEnded) => Ok(Err(no_author())),
        Err(failure) => of_this_content("replyTo", failure).map(Err),
    }
}

/// The id of what was published; empty if nothing was.
fn id_of(published: &Result<(Viewer, Content), UserError>) -> String {
    published.as_ref().map(|(_, content)| ids::of_content(content.id).0).unwrap_or_default()
}

/// What became of one of the contents.
struct Done {
    published: Result<(Viewer, Content), UserError>,
    client_mutation_id: Option<String>,
}

fn results(ctx: &Context<'_>, done: Vec<Done>) -> Result<Vec<PublishContentsResult>, Failure> {
    let mut hydrations: HashMap<UserId, Arc<Hydration>> = HashMap::new();
    let mut results = Vec::with_capacity(done.len());
    for (index, Done { published, client_mutation_id }) in done.into_iter().enumerate() {
        let (timeline_edge, user_errors) = match published {
            Ok((author, content)) => {
                let hydration = match hydrations.get(&author.id) {
                    Some(known) => Arc::clone(known),
                    None => hydration_for(ctx, Some(author))?,
                };
                hydrations.insert(author.id, Arc::clone(&hydration));
                (Some(own_edge(content, &hydration)), Vec::new())
            }
            Err(fault) => (None, vec![fault.within(&["contents", &index.to_string()])]),
        };
        let index = i32::try_from(index).unwrap_or(i32::MAX);
        results.push(PublishContentsResult { index, timeline_edge, user_errors, client_mutation_id });
    }
    Ok(results)
}
