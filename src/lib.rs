//! Tidefeed: a timeline feed service whose pages are exactly the merge of what the followed authors published.
//!
//! ARCHITECTURE.md leads through the house.

pub mod app;
pub mod clock;
pub mod domain;
pub mod draw;
pub mod follow;
pub mod live;
pub mod publish;
pub mod read;
pub mod store;
pub mod upkeep;
