//! What resolvers can call: use cases, and ports that they only read.
//!
//! Only use cases write. `tests/tidy.rs` lists the port methods that resolvers may call.

use std::{borrow::Cow, sync::Arc};

use content_schemas::ContentSchemas;
use tokio_util::task::TaskTracker;

use super::{feed_share::FeedShare, remembered_json::RememberedJson};
use crate::{
    accounts::{AccountsService, ExternalUsers, SessionsService, Tokens, export::Exports},
    clock::SharedClock,
    store::Ports,
    use_cases,
};

/// The use cases of a node, whose live feeds share what GraphQL shows of an event.
pub type UseCases = use_cases::UseCases<FeedShare>;

/// Stands in links for the address of this service, which is another one tomorrow. No host has this name (RFC 2606).
pub const OWN: &str = "https://service.invalid";

/// The services behind the schema. The fields are public, because the composition root and tests fill them.
pub struct Services {
    /// The use cases of the node.
    pub use_cases: Arc<UseCases>,
    /// What is read without a use case.
    pub ports: Ports,
    /// Registers users and signs them in.
    pub accounts: Arc<AccountsService>,
    /// Users by the product's own ids.
    pub external_users: Arc<ExternalUsers>,
    /// Whether everybody sees external ids, or only services and the owners do.
    pub shows_external_ids: bool,
    /// What the attributes of contents must be.
    pub content_schemas: Arc<ContentSchemas>,
    /// Signs tokens for services.
    pub tokens: Arc<Tokens>,
    /// Refreshes and ends sessions.
    pub sessions: Arc<SessionsService>,
    /// Issues links to exports.
    pub exports: Arc<Exports>,
    /// Where clients reach the service, without a slash at its end.
    pub base_url: String,
    /// Contents of pages as JSON.
    pub json: RememberedJson,
    /// Tells whether a token has expired since it was checked.
    pub clock: SharedClock,
    /// Runs loaders' batches that belong to no operation. Each ends with its statement.
    pub tasks: TaskTracker,
}

impl Services {
    /// See [`complete_url`].
    pub fn complete<'a>(&self, url: &'a str) -> Cow<'a, str> {
        complete_url(url, &self.base_url)
    }
}

/// `url` as clients open it: one below [`OWN`] is this service's, which is at `base_url`.
pub fn complete_url<'a>(url: &'a str, base_url: &str) -> Cow<'a, str> {
    url.strip_prefix(OWN).map_or(url.into(), |path| format!("{base_url}{path}").into())
}
