//! The API: the schema with its resolvers, and the web pages. `graphql-transport` carries it over HTTP.
//!
//! It uses ports and use cases, never adapters.

pub mod export;
pub mod graphql;
pub mod pages;
pub mod public_pages;
