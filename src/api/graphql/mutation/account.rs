//! Registering and signing in.

use std::sync::Arc;

use async_graphql::{Context, InputObject, Object, SimpleObject};

use super::user_error::{UserError, UserErrorCode};
use crate::api::{
    auth::{NewUser, RegisterOutcome, SignInOutcome, SignedIn},
    graphql::{
        errors::Failure,
        objects::User,
        scalars::Timestamp,
        scope::{Answer, answer, fresh_hydration, hydration_for},
        wants::UserWants,
    },
};

/// What it takes to register.
#[derive(InputObject)]
struct RegisterUserInput {
    /// The unique name: 2 to 30 of the characters a to z, 0 to 9 and _. Upper case is lowered.
    handle: String,
    /// The name to show, 1 to 60 characters.
    name: String,
    /// At least 8 characters, at most 1024 bytes.
    password: String,
    /// A few words, at most 500 characters.
    bio: Option<String>,
    /// A link to a picture; starts with https:// or http://.
    avatar_url: Option<String>,
    /// Comes back in the payload.
    client_mutation_id: Option<String>,
}

/// A new user, signed in; or why there is none.
#[derive(SimpleObject)]
struct RegisterUserPayload {
    /// The new user. Null if refused.
    user: Option<User>,
    /// To be sent as bearer token. Null if refused.
    token: Option<String>,
    /// When to sign in again. Null if refused.
    expires_at: Option<Timestamp>,
    /// Why it was refused; empty if it was not.
    user_errors: Vec<UserError>,
    /// As in the input.
    client_mutation_id: Option<String>,
}

/// What it takes to sign in.
#[derive(InputObject)]
struct SignInInput {
    /// The unique name.
    handle: String,
    /// The password.
    password: String,
    /// Comes back in the payload.
    client_mutation_id: Option<String>,
}

/// A user, signed in; or why not.
#[derive(SimpleObject)]
struct SignInPayload {
    /// Who has signed in. Null if refused.
    user: Option<User>,
    /// To be sent as bearer token. Null if refused.
    token: Option<String>,
    /// When to sign in again. Null if refused.
    expires_at: Option<Timestamp>,
    /// Why it was refused; empty if it was not.
    user_errors: Vec<UserError>,
    /// As in the input.
    client_mutation_id: Option<String>,
}

/// The part of the root about accounts.
#[derive(Default)]
pub struct AccountMutation;

#[Object]
impl AccountMutation {
    /// Makes an account and signs its user in.
    async fn register_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Who registers.")] input: RegisterUserInput,
    ) -> Answer<RegisterUserPayload> {
        answer(ctx, async {
            let RegisterUserInput { handle, name, password, bio, avatar_url, client_mutation_id } = input;
            let new = NewUser { handle, name, password, bio: bio.unwrap_or_default(), avatar_url };
            let outcome = fresh_hydration(ctx)?.services().sign_in.register(new).await?;
            let (user, token, expires_at, user_errors) = ended(ctx, registered(outcome)).await?;
            Ok(Some(RegisterUserPayload { user, token, expires_at, user_errors, client_mutation_id }))
        })
        .await
    }

    /// Exchanges a handle and its password for a token.
    async fn sign_in(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Who signs in.")] input: SignInInput,
    ) -> Answer<SignInPayload> {
        answer(ctx, async {
            let SignInInput { handle, password, client_mutation_id } = input;
            let outcome = fresh_hydration(ctx)?.services().sign_in.sign_in(&handle, password).await?;
            let (user, token, expires_at, user_errors) = ended(ctx, signed_in(outcome)).await?;
            Ok(Some(SignInPayload { user, token, expires_at, user_errors, client_mutation_id }))
        })
        .await
    }
}

fn registered(outcome: RegisterOutcome) -> Result<SignedIn, UserError> {
    Err(match outcome {
        RegisterOutcome::Registered(signed_in) => return Ok(signed_in),
        RegisterOutcome::Invalid(fault) => fault.into(),
        RegisterOutcome::HandleTaken => {
            UserError::about(&["handle"], UserErrorCode::Taken, "this handle is taken: choose another")
        }
        RegisterOutcome::Closed => {
            UserError::general(UserErrorCode::NotAllowed, "registration is closed: ask whoever runs this service")
        }
    })
}

fn signed_in(outcome: SignInOutcome) -> Result<SignedIn, UserError> {
    match outcome {
        SignInOutcome::SignedIn(signed_in) => Ok(signed_in),
        SignInOutcome::WrongCredentials => {
            Err(UserError::general(UserErrorCode::WrongCredentials, "there is no user with this handle and password"))
        }
    }
}

type Ended = (Option<User>, Option<String>, Option<Timestamp>, Vec<UserError>);

/// What both payloads have in common; the user is seen with their own eyes already.
async fn ended(ctx: &Context<'_>, result: Result<SignedIn, UserError>) -> Result<Ended, Failure> {
    let SignedIn { viewer, token } = match result {
        Ok(signed_in) => signed_in,
        Err(refusal) => return Ok((None, None, None, vec![refusal])),
    };
    let hydration = hydration_for(ctx, Some(viewer))?;
    hydration.prime_users(&[viewer.id], UserWants::of(&ctx.look_ahead().field("user"))).await;
    let profile = hydration.profile(viewer.id).await?;
    let user = profile.map(|profile| User::new(profile, Arc::clone(&hydration)));
    Ok((user, Some(token.text), Some(Timestamp(token.expires_at_ms)), Vec::new()))
}
