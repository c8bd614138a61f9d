//! GraphQL over HTTP, WebSocket and server-sent events, for async-graphql on axum.
#![doc = include_str!("../README.md")]

mod codes;
pub mod execution;
pub mod guard;
pub mod http;
pub mod measurements;
pub mod memory;
pub mod metered;
pub mod payer;
pub mod written;

pub use self::execution::objects;
