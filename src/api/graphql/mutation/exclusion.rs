//! Muting, hiding and blocking, and their undoing. All are idempotent.

use std::sync::Arc;

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use super::user_error::{UserError, UserErrorCode};
use crate::{
    api::graphql::{
        errors::Failure,
        ids,
        objects::User,
        scope::{Answer, answer, fresh_hydration},
        selection::UserSelection,
    },
    domain::UserId,
    follow::ExclusionOutcome,
};

/// An input and a payload of the form that all six have.
macro_rules! forms {
    ($($input:ident, $about_input:literal, $payload:ident, $about_payload:literal;)+) => {$(
        #[doc = $about_input]
        #[derive(InputObject)]
        struct $input {
            /// The user's id; begins with U_.
            user_id: ID,
            /// Comes back in the payload.
            client_mutation_id: Option<String>,
        }

        #[doc = $about_payload]
        #[derive(SimpleObject)]
        struct $payload {
            /// The user, as they are now. Null if refused.
            user: Option<User>,
            /// The viewer, with counts as they are now.
            viewer: Option<User>,
            /// Why it was refused; empty if it was not.
            user_errors: Vec<UserError>,
            /// As in the input.
            client_mutation_id: Option<String>,
        }

        impl $input {
            async fn apply(self, ctx: &Context<'_>, change: Change) -> Answer<$payload> {
                let Self { user_id, client_mutation_id } = self;
                answer(ctx, async {
                    let Standing { user, viewer, user_errors } = changed(ctx, &user_id, change).await?;
                    Ok(Some($payload { user, viewer, user_errors, client_mutation_id }))
                })
                .await
            }
        }
    )+};
}

forms! {
    MuteUserInput, "Whom to mute.", MuteUserPayload, "The muted user; or why nobody is muted.";
    UnmuteUserInput, "Whom to mute no more.", UnmuteUserPayload, "The user who is muted no more; or why nothing changed.";
    HideFromFollowerInput, "From whom to hide.", HideFromFollowerPayload, "The user from whom the viewer hides; or why not.";
    UnhideFromFollowerInput, "From whom to hide no more.", UnhideFromFollowerPayload,
        "The user from whom the viewer hides no more; or why nothing changed.";
    BlockUserInput, "Whom to block.", BlockUserPayload, "The blocked user; or why nobody is blocked.";
    UnblockUserInput, "Whom to block no more.", UnblockUserPayload,
        "The user who is blocked no more; or why nothing changed.";
}

/// The part of the root about mutes, hides and blocks.
#[derive(Default)]
pub struct ExclusionMutation;

#[Object]
impl ExclusionMutation {
    /// Mutes a user: nothing of theirs is in the viewer's timeline from the next read on, followed or not. They are
    /// not told.
    async fn mute_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Whom to mute.")] input: MuteUserInput,
    ) -> Answer<MuteUserPayload> {
        input.apply(ctx, Change::Mute).await
    }

    /// Mutes a user no more: if the viewer follows them, all of theirs is in the timeline again.
    async fn unmute_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Whom to mute no more.")] input: UnmuteUserInput,
    ) -> Answer<UnmuteUserPayload> {
        input.apply(ctx, Change::Unmute).await
    }

    /// Hides from a follower: nothing of the viewer's is in that user's timeline from the next read on, now or when
    /// they follow later. It is about timelines alone: the viewer's own page stays public. They are not told.
    async fn hide_from_follower(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "From whom to hide.")] input: HideFromFollowerInput,
    ) -> Answer<HideFromFollowerPayload> {
        input.apply(ctx, Change::Hide).await
    }

    /// Hides from a follower no more: if they follow the viewer, all of the viewer's is in their timeline again.
    async fn unhide_from_follower(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "From whom to hide no more.")] input: UnhideFromFollowerInput,
    ) -> Answer<UnhideFromFollowerPayload> {
        input.apply(ctx, Change::Unhide).await
    }

    /// Blocks a user: neither follows the other any more or can, and neither is shown what the other publishes, in a
    /// timeline or elsewhere.
    async fn block_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Whom to block.")] input: BlockUserInput,
    ) -> Answer<BlockUserPayload> {
        input.apply(ctx, Change::Block).await
    }

    /// Blocks a user no more. Whoever followed the other before has to follow anew; a block by that user stays.
    async fn unblock_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Whom to block no more.")] input: UnblockUserInput,
    ) -> Answer<UnblockUserPayload> {
        input.apply(ctx, Change::Unblock).await
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

/// Both users after the change; or why nothing was changed.
struct Standing {
    user: Option<User>,
    viewer: Option<User>,
    user_errors: Vec<UserError>,
}

async fn changed(ctx: &Context<'_>, user_id: &ID, change: Change) -> Result<Standing, Failure> {
    let hydration = fresh_hydration(ctx)?;
    let viewer = hydration.viewer()?.id;
    let other = ids::parse_user(user_id)?;
    let excluding = &hydration.services().excluding;
    let outcome = match change {
        Change::Mute => excluding.mute(viewer, other).await,
        Change::Unmute => excluding.unmute(viewer, other).await,
        Change::Hide => excluding.hide(viewer, other).await,
        Change::Unhide => excluding.unhide(viewer, other).await,
        Change::Block => excluding.block(viewer, other).await,
        Change::Unblock => excluding.unblock(viewer, other).await,
    }?;
    let selected = ctx.look_ahead();
    let selection = UserSelection::of(&selected.field("user")).and(UserSelection::of(&selected.field("viewer")));
    hydration.prime_users(&[viewer, other], selection).await;
    let shown = async |id: UserId| -> Result<Option<User>, Failure> {
        Ok(hydration.profile(id).await?.map(|profile| User::new(profile, Arc::clone(&hydration))))
    };
    let viewer = shown(viewer).await?;
    let user = if outcome == ExclusionOutcome::Done { shown(other).await? } else { None };
    let refused = refusal(outcome).or_else(|| user.is_none().then(no_such_user));
    Ok(Standing { user, viewer, user_errors: refused.into_iter().collect() })
}

fn refusal(outcome: ExclusionOutcome) -> Option<UserError> {
    match outcome {
        ExclusionOutcome::Done => None,
        ExclusionOutcome::UnknownUser => Some(no_such_user()),
        ExclusionOutcome::Oneself => {
            let message = "you cannot mute, hide from or block yourself";
            Some(UserError::about(&["userId"], UserErrorCode::NotAllowed, message))
        }
    }
}

fn no_such_user() -> UserError {
    UserError::about(&["userId"], UserErrorCode::NotFound, "there is no such user")
}
