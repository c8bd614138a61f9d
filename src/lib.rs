//! Tidefeed: a timeline feed service whose pages are exactly the merge of what the followed authors published.
//!
//! ARCHITECTURE.md leads through the house.

pub mod api;
pub mod clock;
pub mod domain;
pub mod draw;
pub mod store;
