//! A stand-in for async-graphql in its derive macros that resolves objects by `container`. Name it in `#[graphql(crate
//! = "graphql_transport::objects")]` of objects that appear in long lists.

pub use async_graphql::*;

pub use self::resolution as resolver_utils;

/// As async-graphql's, but for `resolve_container`.
pub mod resolution {
    pub use async_graphql::resolver_utils::*;

    pub use crate::execution::container::resolve_container;
}
