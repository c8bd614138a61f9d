//! Following: follow and unfollow, the reconciler that updates inboxes, and mutes, hides and blocks.

mod commands;
mod excluding;
mod reconciler;

pub use commands::{FollowOutcome, Following, UnfollowOutcome};
pub use excluding::{Excluding, ExclusionOutcome};
pub use reconciler::RelationReconciler;
