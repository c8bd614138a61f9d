//! The way in: everything between a socket and a use case.
//!
//! Apart, because nothing below may know how a request came. It refuses to know stores and their adapters.

pub mod auth;
pub mod gate;
pub mod graphql;
pub mod http;
pub mod memory;
pub mod payer;
