//! Following: the commands, and the reconciler that makes inboxes follow suit.

mod commands;
mod reconciler;

pub use commands::{FollowOutcome, Following, UnfollowOutcome};
pub use reconciler::RelationReconciler;
