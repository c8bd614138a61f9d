//! async-graphql for its derive macros, with another way to resolve an object: name it in
//! `#[graphql(crate = "graphql_transport::objects")]` of objects that are often many in an answer.

pub use async_graphql::*;

pub use self::resolution as resolver_utils;

/// As async-graphql's, but for `resolve_container`.
pub mod resolution {
    pub use async_graphql::resolver_utils::*;

    pub use crate::execution::container::resolve_container;
}
