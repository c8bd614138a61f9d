//! Tidefeed: a timeline feed service whose pages are exactly the merge of what the followed authors published.
//!
//! Start with ARCHITECTURE.md.

pub mod accounts;
pub mod ambient;
pub mod api;
pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
pub mod follow;
pub mod import;
pub mod lifecycle;
pub mod live;
pub mod publish;
pub mod read;
pub mod rng;
pub mod store;
pub mod telemetry;
pub mod tier;
pub mod upkeep;
pub mod use_cases;

pub use domain;
