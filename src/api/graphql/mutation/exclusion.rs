//! Muting, hiding and blocking, and their undoing. All are idempotent.

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
        objects::User,
        scope::{Answer, fresh_hydration},
        selection::user_parts,
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
            /// The user's id; begins with U_ or ext:.
            user_id: ID,
            /// Returned unchanged in the payload.
            client_mutation_id: Option<String>,
        }

        #[doc = $about_payload]
        #[derive(SimpleObject)]
        struct $payload {
            /// The user after the change. Null if refused.
            user: Option<User>,
            /// The viewer after the change.
            viewer: Option<User>,
            /// Why the mutation was refused; empty if it was not.
            user_errors: Vec<UserError>,
            /// The input's `clientMutationId`.
            client_mutation_id: Option<String>,
        }

        payloads!($payload);

        impl $input {
            async fn apply(self, ctx: &Context<'_>, change: Change) -> Answer<$payload> {
                let Self { user_id, client_mutation_id } = self;
                answer(ctx, async {
                    let ExclusionPayload { user, viewer, user_errors } = changed(ctx, &user_id, change).await?;
                    Ok(Some($payload { user, viewer, user_errors, client_mutation_id }))
                })
                .await
            }
        }
    )+};
}

forms! {
    MuteUserInput, "The user to mute.", MuteUserPayload, "The muted user; or why the mute was refused.";
    UnmuteUserInput, "The user to unmute.", UnmuteUserPayload, "The unmuted user; or why nothing changed.";
    HideFromFollowerInput, "The follower to hide from.", HideFromFollowerPayload, "The user from whom the viewer hides; or why not.";
    UnhideFromFollowerInput, "The follower to stop hiding from.", UnhideFromFollowerPayload,
        "The user from whom the viewer no longer hides; or why nothing changed.";
    BlockUserInput, "The user to block.", BlockUserPayload, "The blocked user; or why the block was refused.";
    UnblockUserInput, "The user to unblock.", UnblockUserPayload,
        "The unblocked user; or why nothing changed.";
}

/// The part of the root about mutes, hides and blocks.
#[derive(Default)]
pub struct ExclusionMutation;

#[Object]
impl ExclusionMutation {
    /// Mutes a user: from the next read on, the viewer's timeline shows none of their contents, followed or not. The
    /// user is not notified.
    async fn mute_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The user to mute.")] input: MuteUserInput,
    ) -> Answer<MuteUserPayload> {
        input.apply(ctx, Change::Mute).await
    }

    /// Unmutes a user: if the viewer follows them, all of their contents are in the timeline again.
    async fn unmute_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The user to unmute.")] input: UnmuteUserInput,
    ) -> Answer<UnmuteUserPayload> {
        input.apply(ctx, Change::Unmute).await
    }

    /// Hides the viewer's contents from a user's timeline from the next read on, whether they follow now or later.
    /// Only timelines change: the viewer's own page stays public. The user is not
    /// notified.
    async fn hide_from_follower(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The follower to hide from.")] input: HideFromFollowerInput,
    ) -> Answer<HideFromFollowerPayload> {
        input.apply(ctx, Change::Hide).await
    }

    /// Stops hiding from a user: if they follow the viewer, all of the viewer's contents are in their timeline again.
    async fn unhide_from_follower(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The follower to stop hiding from.")] input: UnhideFromFollowerInput,
    ) -> Answer<UnhideFromFollowerPayload> {
        input.apply(ctx, Change::Unhide).await
    }

    /// Blocks a user: ends both follows, prevents new ones, and hides each user's contents from the other, in
    /// timelines and elsewhere.
    async fn block_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The user to block.")] input: BlockUserInput,
    ) -> Answer<BlockUserPayload> {
        input.apply(ctx, Change::Block).await
    }

    /// Unblocks a user. Ended follows are not restored; a block by the other user stays.
    async fn unblock_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The user to unblock.")] input: UnblockUserInput,
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
struct ExclusionPayload {
    user: Option<User>,
    viewer: Option<User>,
    user_errors: Vec<UserError>,
}

async fn changed(ctx: &Context<'_>, user_id: &ID, change: Change) -> Result<ExclusionPayload, Failure> {
    let hydration = fresh_hydration(ctx)?;
    let viewer = hydration.viewer()?.id;
    let other = named::user(ctx, &hydration, user_id).await?;
    let excluding = &hydration.use_cases().excluding;
    let outcome = match change {
        Change::Mute => excluding.mute(viewer, other).await,
        Change::Unmute => excluding.unmute(viewer, other).await,
        Change::Hide => excluding.hide(viewer, other).await,
        Change::Unhide => excluding.unhide(viewer, other).await,
        Change::Block => excluding.block(viewer, other).await,
        Change::Unblock => excluding.unblock(viewer, other).await,
    }?;
    let selected = ctx.look_ahead();
    let selection = user_parts(&selected.field("user")).and(user_parts(&selected.field("viewer")));
    hydration.prime_users(&[viewer, other], selection).await;
    let shown = async |id: UserId| -> Result<Option<User>, Failure> {
        Ok(hydration.profile(id).await?.map(|profile| User::new(profile, Arc::clone(&hydration))))
    };
    let viewer = shown(viewer).await?;
    let user = if outcome == ExclusionOutcome::Done { shown(other).await? } else { None };
    let refused = refusal(outcome).or_else(|| user.is_none().then(no_such_user));
    Ok(ExclusionPayload { user, viewer, user_errors: refused.into_iter().collect() })
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
