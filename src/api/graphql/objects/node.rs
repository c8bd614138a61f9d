//! Anything that has an id.

use async_graphql::{ID, Interface};
use graphql_transport::metered::Metered;

use super::{Content, User};

/// Anything that can be had again by its id alone.
#[derive(Interface)]
#[graphql(field(name = "id", ty = "Metered<ID>", desc = "Opaque, unique among all types, and the same for ever."))]
pub enum Node {
    /// Somebody.
    User(User),
    /// Something published.
    Content(Content),
}
