//! Muting, hiding and blocking, and their undoing. All are idempotent.

use std::sync::Arc;

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use super::user_error::{UserError, UserErrorCode};
use crate::{
    api::graphql::{
        errors::Failure,
        hydration::Hydration,
        ids,
        objects::User,
        scope::{Answer, answer, fresh_hydration},
        wants::UserWants,
    },
    domain::UserId,
    follow::BoundaryOutcome,
};

/// Whom it is about.
#[derive(InputObject)]
struct BoundaryInput {
    /// The user's id; begins with U_.
    user_id: ID,
    /// Comes back in the payload.
    client_mutation_id: Option<String>,
}

/// How things stand with the user now; or why nothing was changed.
#[derive(SimpleObject)]
struct BoundaryPayload {
    /// The user, as they are now. Null if refused.
    user: Option<User>,
    /// Who has decided, with counts as they are now.
    viewer: Option<User>,
    /// Why it was refused; empty if it was not.
    user_errors: Vec<UserError>,
    /// As in the input.
    client_mutation_id: Option<String>,
}

/// The part of the root about mutes, hides and blocks.
#[derive(Default)]
pub struct BoundaryMutation;

#[Object]
impl BoundaryMutation {
    /// Mutes a user: nothing of theirs is in the viewer's timeline from the next read on, followed or not. They are not told.
    async fn mute_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Whom to mute.")] input: BoundaryInput,
    ) -> Answer<BoundaryPayload> {
        changed(ctx, input, Change::Mute).await
    }

    /// Mutes a user no more: if the viewer follows them, all of theirs is in the timeline again.
    async fn unmute_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Whom to mute no more.")] input: BoundaryInput,
    ) -> Answer<BoundaryPayload> {
        changed(ctx, input, Change::Unmute).await
    }

    /// Hides from a follower: nothing of the viewer's is in that user's timeline from the next read on, now or when they follow later. It is about
    /// timelines alone: the viewer's own page stays public. They are not told.
    async fn hide_from_follower(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "From whom to hide.")] input: BoundaryInput,
    ) -> Answer<BoundaryPayload> {
        changed(ctx, input, Change::Hide).await
    }

    /// Hides from a follower no more: if they follow the viewer, all of the viewer's is in their timeline again.
    async fn unhide_from_follower(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "From whom to hide no more.")] input: BoundaryInput,
    ) -> Answer<BoundaryPayload> {
        changed(ctx, input, Change::Unhide).await
    }

    /// Blocks a user: neither follows the other any more or can, and neither is shown what the other publishes, in a timeline or elsewhere.
    async fn block_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Whom to block.")] input: BoundaryInput,
    ) -> Answer<BoundaryPayload> {
        changed(ctx, input, Change::Block).await
    }

    /// Blocks a user no more. Whoever followed the other before has to follow anew; a block by that user stays.
    async fn unblock_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Whom to block no more.")] input: BoundaryInput,
    ) -> Answer<BoundaryPayload> {
        changed(ctx, input, Change::Unblock).await
    }
}

#[derive(Clone, Copy)]
enum Change {
    Mute,
    Unmute,
    Hide,
    Unhide,
    Block,
    Unblock,
}

async fn changed(ctx: &Context<'_>, input: BoundaryInput, change: Change) -> Answer<BoundaryPayload> {
    answer(ctx, async {
        let hydration = fresh_hydration(ctx)?;
        let viewer = hydration.viewer()?.id;
        let other = ids::parse_user(&input.user_id)?;
        let boundaries = &hydration.services().boundaries;
        let outcome = match change {
            Change::Mute => boundaries.mute(viewer, other).await,
            Change::Unmute => boundaries.unmute(viewer, other).await,
            Change::Hide => boundaries.hide(viewer, other).await,
            Change::Unhide => boundaries.unhide(viewer, other).await,
            Change::Block => boundaries.block(viewer, other).await,
            Change::Unblock => boundaries.unblock(viewer, other).await,
        };
        Ok(Some(payload(ctx, &hydration, (viewer, other), outcome?, input.client_mutation_id).await?))
    })
    .await
}

/// Read after the change.
async fn payload(
    ctx: &Context<'_>,
    hydration: &Arc<Hydration>,
    (viewer, other): (UserId, UserId),
    outcome: BoundaryOutcome,
    client_mutation_id: Option<String>,
) -> Result<BoundaryPayload, Failure> {
    let selected = ctx.look_ahead();
    let wants = UserWants::of(&selected.field("user")).and(UserWants::of(&selected.field("viewer")));
    hydration.prime_users(&[viewer, other], wants).await;
    let shown = async |id: UserId| -> Result<Option<User>, Failure> {
        Ok(hydration.profile(id).await?.map(|profile| User::new(profile, Arc::clone(hydration))))
    };
    let viewer = shown(viewer).await?;
    let user = if outcome == BoundaryOutcome::Done { shown(other).await? } else { None };
    let refused = refusal(outcome).or_else(|| user.is_none().then(no_such_user));
    Ok(BoundaryPayload { user, viewer, user_errors: refused.into_iter().collect(), client_mutation_id })
}

fn refusal(outcome: BoundaryOutcome) -> Option<UserError> {
    match outcome {
        BoundaryOutcome::Done => None,
        BoundaryOutcome::UnknownUser => Some(no_such_user()),
        BoundaryOutcome::Oneself => {
            let message = "nobody keeps themselves out of their own timeline";
            Some(UserError::about(&["userId"], UserErrorCode::NotAllowed, message))
        }
    }
}

fn no_such_user() -> UserError {
    UserError::about(&["userId"], UserErrorCode::NotFound, "there is no such user")
}
