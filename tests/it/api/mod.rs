//! Tests the API as clients use it: the schema alone, and over HTTP and WebSocket.

mod accounts;
mod batches;
mod bulk;
mod graphql_api;
mod imports;
mod live;
mod objects;
mod product_world;
mod public_pages;
mod remembered;
mod remembered_json;
mod schemas;
pub mod server;
