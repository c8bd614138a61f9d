//! The API: the schema with its resolvers, and the web pages. `graphql-transport` carries it over HTTP.
//!
//! It uses ports and use cases, never adapters.

pub mod bulk;
pub mod export;
pub mod graphql;
pub mod imports;
mod order;
pub mod pages;
pub mod public_pages;
pub mod service_lines;
mod streamed;
