//! Commands.
pub mod seed;
