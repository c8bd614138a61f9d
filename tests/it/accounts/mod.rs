//! Accounts as their users and their thieves meet them: over HTTP and WebSocket, on one node and on two.

mod authorisation;
mod client;
mod profile;
mod sessions;
mod sign_in;
