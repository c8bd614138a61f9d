//! A link to a copy of the viewer's account.

use async_graphql::{Context, InputObject, Object, SimpleObject};

use super::{payload::answer, user_error::UserError};
use crate::{
    accounts::AccountError,
    api::graphql::{
        scalars::Timestamp,
        scope::{Answer, fresh_hydration},
    },
};

/// Where the links lead.
pub const EXPORT_PATH: &str = "/export";

/// Takes no options besides `clientMutationId`.
#[derive(InputObject, Default)]
struct ExportViewerInput {
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// A link to a copy of the viewer's account.
#[derive(SimpleObject)]
struct ExportViewerPayload {
    /// Where to `GET` the copy as one JSON file, without a token: a path on this server. Anyone with the link gets the
    /// file, so give it only to the viewer's browser.
    url: Option<String>,
    /// When the link expires. It also ends with the session of the request.
    expires_at: Option<Timestamp>,
    /// Why the mutation was refused; empty if it was not.
    user_errors: Vec<UserError>,
    /// The input's `clientMutationId`.
    client_mutation_id: Option<String>,
}

payloads!(ExportViewerPayload);

/// The part of the root about taking one's data along.
#[derive(Default)]
pub struct ExportMutation;

#[Object]
impl ExportMutation {
    /// Creates a link to a copy of the viewer's account: profile, sessions, contents, bookmarks, likes, followed
    /// users, followers, and muted, blocked and hidden users. The link is good for ten minutes.
    async fn export_viewer(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "May be omitted: it takes no options.")] input: Option<ExportViewerInput>,
    ) -> Answer<ExportViewerPayload> {
        answer(ctx, async {
            let hydration = fresh_hydration(ctx)?;
            let viewer = hydration.viewer()?;
            let link = hydration.services().exports.link(&viewer).map_err(AccountError::from)?;
            Ok(Some(ExportViewerPayload {
                url: Some(format!("{EXPORT_PATH}?token={}", link.text)),
                expires_at: Some(Timestamp(link.expires_at_ms)),
                user_errors: Vec::new(),
                client_mutation_id: input.unwrap_or_default().client_mutation_id,
            }))
        })
        .await
    }
}
