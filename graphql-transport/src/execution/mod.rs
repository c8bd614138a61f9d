//! Runs operations that the guard has prepared, without a copy of their documents.
//!
//! async-graphql takes a document by value at each request, checks it and throws it away. [`Direct`] gives its
//! resolvers what they look at, and begins where its own executor begins to resolve.

mod container;
mod direct;
mod events;
pub mod objects;
mod prepared_executor;
#[cfg(test)]
mod tests;

pub use self::{
    direct::{Direct, Root},
    prepared_executor::PreparedExecutor,
};
