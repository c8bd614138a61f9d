//! Registering, signing in by password, and changing it.

use async_graphql::{Context, InputObject, Object, SimpleObject};

use super::{
    payload::answer,
    signed_in::{Tokens, tokens},
    user_error::{UserError, UserErrorCode},
};
use crate::{
    accounts::{NewUser, PasswordOutcome, RegisterOutcome, SignInOutcome, SignedIn},
    api::graphql::{
        scalars::Timestamp,
        scope::{Answer, caller, fresh_hydration, without_permit},
    },
};

/// The handle, name and password of a new user.
#[derive(InputObject)]
struct RegisterUserInput {
    /// The unique name: 2 to 30 of the characters a to z, 0 to 9 and _. Upper case is lowered.
    handle: String,
    /// The name to show: 1 to 60 characters, at least one of them visible. Line breaks, control characters, invisible
    /// characters and marks that change the writing direction are refused.
    name: String,
    /// At least 8 characters, at most 1024 bytes.
    password: String,
    /// A few words, at most 500 characters.
    bio: Option<String>,
    /// A link to a picture; starts with https:// or http://.
    avatar_url: Option<String>,
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// The new user, signed in; or why the registration was refused.
#[derive(SimpleObject)]
struct RegisterUserPayload {
    #[graphql(flatten)]
    tokens: Tokens,
    /// Why the mutation was refused: one error for each faulty field, or one that says that the handle is taken. Empty
    /// if it was not refused.
    user_errors: Vec<UserError>,
    /// The input's `clientMutationId`.
    client_mutation_id: Option<String>,
}

/// The credentials of a user.
#[derive(InputObject)]
struct SignInInput {
    /// The unique name.
    handle: String,
    /// The password.
    password: String,
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// The signed-in user; or why the sign-in was refused.
#[derive(SimpleObject)]
struct SignInPayload {
    #[graphql(flatten)]
    tokens: Tokens,
    /// After too many failures: when to try again. Null otherwise.
    retry_at: Option<Timestamp>,
    /// Why the mutation was refused; empty if it was not.
    user_errors: Vec<UserError>,
    /// The input's `clientMutationId`.
    client_mutation_id: Option<String>,
}

/// The viewer's current password and the new one.
#[derive(InputObject)]
struct ChangePasswordInput {
    /// The current password.
    old_password: String,
    /// At least 8 characters, at most 1024 bytes.
    new_password: String,
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// The result of changing the password.
#[derive(SimpleObject)]
struct ChangePasswordPayload {
    /// How many other sessions of the viewer have ended. Null if refused.
    ended_session_count: Option<i32>,
    /// After too many failures: when to try again. Null otherwise.
    retry_at: Option<Timestamp>,
    /// Why the mutation was refused; empty if it was not.
    user_errors: Vec<UserError>,
    /// The input's `clientMutationId`.
    client_mutation_id: Option<String>,
}

payloads!(RegisterUserPayload, SignInPayload, ChangePasswordPayload);

/// The part of the root about accounts.
#[derive(Default)]
pub struct AccountMutation;

#[Object]
impl AccountMutation {
    /// Creates an account and signs its user in.
    async fn register_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new user.")] input: RegisterUserInput,
    ) -> Answer<RegisterUserPayload> {
        answer(ctx, async {
            let RegisterUserInput { handle, name, password, bio, avatar_url, client_mutation_id } = input;
            let new = NewUser { handle, name, password, bio: bio.unwrap_or_default(), avatar_url };
            let (service, caller) = (fresh_hydration(ctx)?.services().accounts.clone(), caller(ctx));
            let outcome = without_permit(ctx, service.register(new, &caller)).await?;
            let (tokens, user_errors) = tokens(ctx, registered(outcome)).await?;
            Ok(Some(RegisterUserPayload { tokens, user_errors, client_mutation_id }))
        })
        .await
    }

    /// Exchanges a handle and its password for tokens. Failures make the next attempts wait, longer each time.
    async fn sign_in(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The credentials.")] input: SignInInput,
    ) -> Answer<SignInPayload> {
        answer(ctx, async {
            let SignInInput { handle, password, client_mutation_id } = input;
            let service = fresh_hydration(ctx)?.services().accounts.clone();
            let outcome = without_permit(ctx, service.sign_in(&handle, password, &caller(ctx))).await?;
            let retry_at = if let SignInOutcome::NotBefore(at) = outcome { Some(Timestamp(at)) } else { None };
            let (tokens, user_errors) = tokens(ctx, signed_in(outcome).map_err(|refusal| vec![refusal])).await?;
            Ok(Some(SignInPayload { tokens, retry_at, user_errors, client_mutation_id }))
        })
        .await
    }

    /// Changes the viewer's password and ends their other sessions.
    async fn change_password(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The current password and the new one.")] input: ChangePasswordInput,
    ) -> Answer<ChangePasswordPayload> {
        answer(ctx, async {
            let ChangePasswordInput { old_password, new_password, client_mutation_id } = input;
            let hydration = fresh_hydration(ctx)?;
            let (viewer, service) = (hydration.viewer()?, &hydration.services().accounts);
            let caller = caller(ctx);
            let changing = service.change_password(&viewer, (old_password, new_password), &caller);
            let outcome = without_permit(ctx, changing).await?;
            let retry_at = if let PasswordOutcome::NotBefore(at) = outcome { Some(Timestamp(at)) } else { None };
            let (ended_session_count, refusal) = match outcome {
                PasswordOutcome::Changed(ended) => (Some(i32::try_from(ended).unwrap_or(i32::MAX)), None),
                PasswordOutcome::Invalid(fault) => (None, Some(UserError::about_profile("newPassword", fault))),
                PasswordOutcome::WrongCredentials => (None, Some(wrong_old_password())),
                PasswordOutcome::NotBefore(_) => (None, Some(too_many_attempts())),
            };
            let user_errors = refusal.into_iter().collect();
            Ok(Some(ChangePasswordPayload { ended_session_count, retry_at, user_errors, client_mutation_id }))
        })
        .await
    }
}

fn registered(outcome: RegisterOutcome) -> Result<SignedIn, Vec<UserError>> {
    Err(match outcome {
        RegisterOutcome::Registered(signed_in) => return Ok(signed_in),
        RegisterOutcome::Invalid(faults) => faults.into_iter().map(UserError::from).collect(),
        RegisterOutcome::HandleTaken => {
            vec![UserError::about(&["handle"], UserErrorCode::Taken, "this handle is taken: choose another")]
        }
        RegisterOutcome::Closed => {
            vec![UserError::general(
                UserErrorCode::NotAllowed,
                "registration is closed: ask the operator of this service",
            )]
        }
    })
}

fn signed_in(outcome: SignInOutcome) -> Result<SignedIn, UserError> {
    Err(match outcome {
        SignInOutcome::SignedIn(signed_in) => return Ok(signed_in),
        SignInOutcome::WrongCredentials => {
            UserError::general(UserErrorCode::WrongCredentials, "there is no user with this handle and password")
        }
        SignInOutcome::NotBefore(_) => too_many_attempts(),
        SignInOutcome::Deactivated => UserError::general(UserErrorCode::NotAllowed, "this account is deactivated"),
        SignInOutcome::Closed => UserError::general(
            UserErrorCode::NotAllowed,
            "this service has no passwords: sign in where its tokens are issued",
        ),
    })
}

fn wrong_old_password() -> UserError {
    UserError::about(&["oldPassword"], UserErrorCode::WrongCredentials, "this is not the current password")
}

pub fn too_many_attempts() -> UserError {
    UserError::general(
        UserErrorCode::TooManyAttempts,
        "too many attempts have failed: try again at the time of retryAt",
    )
}
