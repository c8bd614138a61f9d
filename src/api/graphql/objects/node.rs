//! The interface of every object with an id.

use async_graphql::{ID, Interface};
use graphql_transport::metered::Metered;

use super::{Content, Session, User};

/// An object that can be fetched by its id.
#[derive(Interface)]
#[graphql(field(name = "id", ty = "Metered<ID>", desc = "Opaque, permanent, and unique among all types."))]
pub enum Node {
    /// Somebody.
    User(User),
    /// Something published.
    Content(Content),
    /// A sign-in of the viewer's.
    Session(Session),
}
