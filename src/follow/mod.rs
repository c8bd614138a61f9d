//! Following: the commands, the reconciler that makes inboxes follow suit, and what users keep out.

mod boundaries;
mod commands;
mod reconciler;

pub use boundaries::{Boundaries, BoundaryOutcome};
pub use commands::{FollowOutcome, Following, UnfollowOutcome};
pub use reconciler::RelationReconciler;
