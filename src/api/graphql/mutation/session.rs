//! Refreshing tokens and ending sessions.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use super::{
    payload::answer,
    signed_in::{Tokens, tokens},
    user_error::{UserError, UserErrorCode},
};
use crate::{
    accounts::RefreshOutcome,
    api::graphql::{
        ids,
        scope::{Answer, fresh_hydration},
    },
};

/// A refresh token to exchange for new tokens.
#[derive(InputObject)]
struct RefreshTokenInput {
    /// The newest refresh token of the session.
    refresh_token: String,
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// New tokens of the same session; or why there are none.
#[derive(SimpleObject)]
struct RefreshTokenPayload {
    #[graphql(flatten)]
    tokens: Tokens,
    /// Why the mutation was refused; empty if it was not.
    user_errors: Vec<UserError>,
    /// The input's `clientMutationId`.
    client_mutation_id: Option<String>,
}

/// Takes no options besides `clientMutationId`.
#[derive(InputObject, Default)]
struct SignOutInput {
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// Takes no options besides `clientMutationId`.
#[derive(InputObject, Default)]
struct SignOutEverywhereInput {
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// The session to end.
#[derive(InputObject)]
struct EndSessionInput {
    /// A session of the viewer's; begins with S_.
    session_id: ID,
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// Payloads of the form that all three have.
macro_rules! ended {
    ($($payload:ident, $about:literal;)+) => {$(
        #[doc = $about]
        #[derive(SimpleObject)]
        struct $payload {
            /// How many sessions have ended.
            ended_session_count: i32,
            /// Why the mutation was refused; empty if it was not.
            user_errors: Vec<UserError>,
            /// The input's `clientMutationId`.
            client_mutation_id: Option<String>,
        }

        payloads!($payload);

        impl $payload {
            fn of(ended: usize, client_mutation_id: Option<String>) -> Self {
                let ended_session_count = i32::try_from(ended).unwrap_or(i32::MAX);
                Self { ended_session_count, user_errors: Vec::new(), client_mutation_id }
            }
        }
    )+};
}

ended! {
    SignOutPayload, "Whether the request's session has ended.";
    SignOutEverywherePayload, "How many of the viewer's sessions have ended.";
    EndSessionPayload, "Whether the session has ended; or why not.";
}

payloads!(RefreshTokenPayload);

/// The part of the root about sessions.
#[derive(Default)]
pub struct SessionMutation;

#[Object]
impl SessionMutation {
    /// Exchanges a refresh token for new tokens. Each can be used once: a second use ends its session, unless it comes
    /// within seconds of the first and gets the same refresh token again. Needs no access token.
    async fn refresh_token(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The refresh token.")] input: RefreshTokenInput,
    ) -> Answer<RefreshTokenPayload> {
        answer(ctx, async {
            let RefreshTokenInput { refresh_token, client_mutation_id } = input;
            let refreshed = match fresh_hydration(ctx)?.services().sessions.refresh(&refresh_token).await? {
                RefreshOutcome::Refreshed(signed_in) => Ok(signed_in),
                RefreshOutcome::Ended => Err(UserError::about(
                    &["refreshToken"],
                    UserErrorCode::SessionEnded,
                    "this session has ended: sign in again",
                )),
            };
            let (tokens, user_errors) = tokens(ctx, refreshed.map_err(|refusal| vec![refusal])).await?;
            Ok(Some(RefreshTokenPayload { tokens, user_errors, client_mutation_id }))
        })
        .await
    }

    /// Ends the session of the request's token. Does nothing if the token has no session.
    async fn sign_out(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "May be omitted: it takes no options.")] input: Option<SignOutInput>,
    ) -> Answer<SignOutPayload> {
        answer(ctx, async {
            let hydration = fresh_hydration(ctx)?;
            let viewer = hydration.viewer()?;
            let ended = match viewer.session {
                Some(session) => hydration.services().sessions.end(viewer.id, session).await?,
                None => false,
            };
            Ok(Some(SignOutPayload::of(usize::from(ended), input.unwrap_or_default().client_mutation_id)))
        })
        .await
    }

    /// Ends all of the viewer's sessions, this one included.
    async fn sign_out_everywhere(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "May be omitted: it takes no options.")] input: Option<SignOutEverywhereInput>,
    ) -> Answer<SignOutEverywherePayload> {
        answer(ctx, async {
            let hydration = fresh_hydration(ctx)?;
            let viewer = hydration.viewer()?;
            let ended = hydration.services().sessions.end_all(viewer.id, None).await?;
            Ok(Some(SignOutEverywherePayload::of(ended, input.unwrap_or_default().client_mutation_id)))
        })
        .await
    }

    /// Ends one of the viewer's sessions.
    async fn end_session(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The session to end.")] input: EndSessionInput,
    ) -> Answer<EndSessionPayload> {
        answer(ctx, async {
            let hydration = fresh_hydration(ctx)?;
            let viewer = hydration.viewer()?;
            let id = ids::parse_session(&input.session_id)?;
            let ended = hydration.services().sessions.end(viewer.id, id).await?;
            let mut payload = EndSessionPayload::of(usize::from(ended), input.client_mutation_id);
            if !ended {
                let message = "you have no such session, or it has ended";
                payload.user_errors.push(UserError::about(&["sessionId"], UserErrorCode::NotFound, message));
            }
            Ok(Some(payload))
        })
        .await
    }
}
