//! The API: the schema with its resolvers, and the web pages. `graphql-transport` carries it over HTTP.
//!
//! It knows use cases and ports, and no adapter.

pub mod export;
pub mod graphql;
pub mod pages;
pub mod pictures;
