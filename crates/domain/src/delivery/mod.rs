//! Decides which edges are pushed, and how a delivery is cut into subtasks and resumed.

pub mod edge;
mod policy;
pub mod rate;
pub mod subtask;

pub use self::policy::{AuthorFacts, DeliveryPolicy, EdgeRule, ReaderFacts};
