//! Deleting the viewer's account.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use super::{
    account::too_many_attempts,
    payload::answer,
    user_error::{UserError, UserErrorCode},
};
use crate::{
    accounts::DeleteOutcome,
    api::graphql::{
        errors::Failure,
        ids,
        scalars::Timestamp,
        scope::{Answer, caller, fresh_hydration, without_permit},
    },
};

/// The viewer's password, to confirm the deletion.
#[derive(InputObject)]
struct DeleteViewerInput {
    /// The password. Null only for viewers who have none, because an outside issuer signs them in.
    password: Option<String>,
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// The result of deleting the account.
#[derive(SimpleObject)]
struct DeleteViewerPayload {
    /// The id of the deleted user. Null if refused.
    deleted_user_id: Option<ID>,
    /// How many sessions have ended, this one included. Null if refused.
    ended_session_count: Option<i32>,
    /// After too many failures: when to try again. Null otherwise.
    retry_at: Option<Timestamp>,
    /// Why the mutation was refused; empty if it was not.
    user_errors: Vec<UserError>,
    /// The input's `clientMutationId`.
    client_mutation_id: Option<String>,
}

payloads!(DeleteViewerPayload);

/// The part of the root about the end of an account.
#[derive(Default)]
pub struct DeletionMutation;

#[Object]
impl DeletionMutation {
    /// Deletes the viewer's account for good. No later read shows the viewer or anything they published; all their
    /// sessions end, and live subscriptions report the removal. Nobody else can ever take the handle. Counts that
    /// included the viewer are updated within minutes.
    async fn delete_viewer(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The password, to confirm the deletion.")] input: DeleteViewerInput,
    ) -> Answer<DeleteViewerPayload> {
        answer(ctx, async {
            let DeleteViewerInput { password, client_mutation_id } = input;
            let hydration = fresh_hydration(ctx)?;
            let viewer = hydration.viewer()?;
            let (service, caller) = (&hydration.services().accounts, caller(ctx));
            let outcome = without_permit(ctx, service.delete(&viewer, password, &caller)).await?;
            let mut payload = DeleteViewerPayload {
                deleted_user_id: None,
                ended_session_count: None,
                retry_at: None,
                user_errors: Vec::new(),
                client_mutation_id,
            };
            match outcome {
                DeleteOutcome::Deleted(ended) => {
                    payload.deleted_user_id = Some(ids::of_user(viewer.id));
                    payload.ended_session_count = Some(i32::try_from(ended).unwrap_or(i32::MAX));
                }
                DeleteOutcome::WrongCredentials => payload.user_errors.push(wrong_password()),
                DeleteOutcome::NotBefore(at) => {
                    payload.retry_at = Some(Timestamp(at));
                    payload.user_errors.push(too_many_attempts());
                }
                DeleteOutcome::Unknown => return Err(Failure::SignInEnded),
            }
            Ok(Some(payload))
        })
        .await
    }
}

fn wrong_password() -> UserError {
    UserError::about(&["password"], UserErrorCode::WrongCredentials, "this is not your password")
}
