//! Tests accounts as users and attackers use them: over HTTP and WebSocket, on one node and on two.

mod authorisation;
mod claims;
pub mod client;
mod export;
mod issuer;
mod key_endpoint;
mod profile;
mod services;
mod sessions;
mod sign_in;
mod standing;
mod upserts;
