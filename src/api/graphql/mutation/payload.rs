//! How a mutation ends. The log of services has why it was refused, whatever the client has selected.

use async_graphql::Context;

use super::user_error::UserError;
use crate::api::graphql::{
    errors::Failure,
    scope::{self, Answer},
    service_calls::ServiceCall,
};

/// What a mutation answers.
pub trait Payload {
    /// Why it was refused; empty if it was not.
    fn user_errors(&self) -> &[UserError];
}

/// Ends the resolver of a mutation as [`scope::answer`] does.
pub fn answer<'a, T: Payload + Send + 'a>(
    ctx: &'a Context<'_>,
    work: impl Future<Output = Result<Option<T>, Failure>> + Send + 'a,
) -> impl Future<Output = Answer<T>> + Send + 'a {
    let ended = scope::answer(ctx, work);
    async move {
        let ended = ended.await;
        if let (Some(Ok(payload)), Some(call)) = (&ended, ctx.data_opt::<ServiceCall>())
            && let Some(error) = payload.user_errors().first()
        {
            call.note_refusal(error.code);
        }
        ended
    }
}
