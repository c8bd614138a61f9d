//! Runs operations that the guard has prepared, without a copy of their documents.
//!
//! async-graphql takes a document by value at each request, checks it and drops it. [`Direct`] builds the environment
//! that resolvers read and starts where async-graphql's executor starts to resolve.

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
