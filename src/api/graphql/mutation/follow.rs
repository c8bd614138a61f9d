//! Following and unfollowing. Both are idempotent.

use std::sync::Arc;

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use super::{
    payload::answer,
    user_error::{UserError, UserErrorCode},
};
use crate::{
    api::graphql::{
        errors::Failure,
        hydration::Hydration,
        named,
        objects::User,
        scope::{Answer, fresh_hydration},
        selection::user_parts,
    },
    domain::{UserId, limits::MAX_FOLLOWS},
    follow::{FollowOutcome, UnfollowOutcome},
};

/// The user to follow.
#[derive(InputObject)]
struct FollowUserInput {
    /// The user's id; begins with U_ or ext:.
    user_id: ID,
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// The followed user; or why the viewer does not follow them.
#[derive(SimpleObject)]
struct FollowUserPayload {
    /// The followed user after the change. Null if refused.
    user: Option<User>,
    /// The viewer after the change.
    viewer: Option<User>,
    /// Why the mutation was refused; empty if it was not.
    user_errors: Vec<UserError>,
    /// The input's `clientMutationId`.
    client_mutation_id: Option<String>,
}

/// The user to unfollow.
#[derive(InputObject)]
struct UnfollowUserInput {
    /// The user's id; begins with U_ or ext:.
    user_id: ID,
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// The unfollowed user; or why nothing changed.
#[derive(SimpleObject)]
struct UnfollowUserPayload {
    /// The user after the change. Null if refused.
    user: Option<User>,
    /// The viewer after the change.
    viewer: Option<User>,
    /// Why the mutation was refused; empty if it was not.
    user_errors: Vec<UserError>,
    /// The input's `clientMutationId`.
    client_mutation_id: Option<String>,
}

payloads!(FollowUserPayload, UnfollowUserPayload);

/// The part of the root about follows.
#[derive(Default)]
pub struct FollowMutation;

#[Object]
impl FollowMutation {
    /// Follows a user: their contents, old ones too, are in the viewer's timeline from the next read on. Nothing
    /// changes if the viewer follows them already, or is that user.
    async fn follow_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The user to follow.")] input: FollowUserInput,
    ) -> Answer<FollowUserPayload> {
        answer(ctx, async {
            let hydration = fresh_hydration(ctx)?;
            let reader = hydration.viewer()?.id;
            let author = named::user(ctx, &hydration, &input.user_id).await?;
            let outcome = hydration.use_cases().following.follow(reader, author).await?;
            let (user, viewer, user_errors) =
                ended(ctx, &hydration, reader, followed(outcome).map(|()| author)).await?;
            Ok(Some(FollowUserPayload { user, viewer, user_errors, client_mutation_id: input.client_mutation_id }))
        })
        .await
    }

    /// Unfollows a user: none of their contents are in the viewer's timeline from the next read on. Nothing changes if
    /// the viewer does not follow them.
    async fn unfollow_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The user to unfollow.")] input: UnfollowUserInput,
    ) -> Answer<UnfollowUserPayload> {
        answer(ctx, async {
            let hydration = fresh_hydration(ctx)?;
            let reader = hydration.viewer()?.id;
            let author = named::user(ctx, &hydration, &input.user_id).await?;
            let outcome = hydration.use_cases().following.unfollow(reader, author).await?;
            let (user, viewer, user_errors) =
                ended(ctx, &hydration, reader, unfollowed(outcome).map(|()| author)).await?;
            Ok(Some(UnfollowUserPayload { user, viewer, user_errors, client_mutation_id: input.client_mutation_id }))
        })
        .await
    }
}

fn followed(outcome: FollowOutcome) -> Result<(), UserError> {
    match outcome {
        FollowOutcome::Following => Ok(()),
        FollowOutcome::UnknownAuthor => Err(no_such_user()),
        FollowOutcome::TooMany => Err(UserError::general(
            UserErrorCode::NotAllowed,
            &format!("you can follow at most {MAX_FOLLOWS} users: unfollow some first"),
        )),
        FollowOutcome::Blocked => Err(UserError::about(
            &["userId"],
            UserErrorCode::NotAllowed,
            "one of you has blocked the other: neither can follow the other",
        )),
    }
}

fn unfollowed(outcome: UnfollowOutcome) -> Result<(), UserError> {
    match outcome {
        UnfollowOutcome::NotFollowing => Ok(()),
        UnfollowOutcome::Oneself => Err(UserError::about(
            &["userId"],
            UserErrorCode::NotAllowed,
            "you cannot unfollow yourself: your own contents stay in your timeline",
        )),
    }
}

fn no_such_user() -> UserError {
    UserError::about(&["userId"], UserErrorCode::NotFound, "there is no such user")
}

type Ended = (Option<User>, Option<User>, Vec<UserError>);

/// What both payloads have in common, read after the change.
async fn ended(
    ctx: &Context<'_>,
    hydration: &Arc<Hydration>,
    reader: UserId,
    result: Result<UserId, UserError>,
) -> Result<Ended, Failure> {
    let selected = ctx.look_ahead();
    let selection = user_parts(&selected.field("user")).and(user_parts(&selected.field("viewer")));
    let ids: Vec<UserId> = result.iter().copied().chain([reader]).collect();
    hydration.prime_users(&ids, selection).await;
    let viewer = shown(hydration, reader).await?;
    match result {
        Ok(author) => match shown(hydration, author).await? {
            Some(user) => Ok((Some(user), viewer, Vec::new())),
            None => Ok((None, viewer, vec![no_such_user()])),
        },
        Err(refusal) => Ok((None, viewer, vec![refusal])),
    }
}

async fn shown(hydration: &Arc<Hydration>, id: UserId) -> Result<Option<User>, Failure> {
    Ok(hydration.profile(id).await?.map(|profile| User::new(profile, Arc::clone(hydration))))
}
