//! Whose eyes an answer is for, and whether anybody asked: what was made without a look at the viewer is the same for all.
//!
//! Apart, so that nobody can read the viewer past the count. `feed_share` depends on that.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::accounts::Viewer;

/// The viewer of an operation; clones count together.
#[derive(Clone)]
pub struct Eyes {
    viewer: Option<Viewer>,
    looks: Arc<AtomicU64>,
}

impl Eyes {
    /// Nobody has looked yet.
    pub fn of(viewer: Option<Viewer>) -> Self {
        Self { viewer, looks: Arc::default() }
    }

    /// Others' eyes in the same operation.
    #[must_use]
    pub fn other(&self, viewer: Option<Viewer>) -> Self {
        Self { viewer, looks: Arc::clone(&self.looks) }
    }

    /// Who looks; from now on what is made counts as theirs.
    pub fn viewer(&self) -> Option<Viewer> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        self.viewer
    }

    /// How often the operation asked so far.
    pub fn looks(&self) -> u64 {
        self.looks.load(Ordering::Relaxed)
    }
}
