//! Following: the commands, the reconciler that makes inboxes follow suit, and what users keep out.

mod commands;
mod excluding;
mod reconciler;

pub use commands::{FollowOutcome, Following, UnfollowOutcome};
pub use excluding::{Excluding, ExclusionOutcome};
pub use reconciler::RelationReconciler;
