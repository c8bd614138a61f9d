//! Tracks whether an answer depends on its viewer. An answer that was built without reading the viewer is the same for
//! everybody.
//!
//! The viewer can only be read through this type; `feed_share` relies on that.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::accounts::Viewer;

/// The viewer of an operation. Clones share the count.
#[derive(Clone)]
pub struct ViewerDependence {
    viewer: Option<Viewer>,
    uses: Arc<AtomicU64>,
}

impl ViewerDependence {
    /// For `viewer`, without any use yet.
    pub fn of(viewer: Option<Viewer>) -> Self {
        Self { viewer, uses: Arc::default() }
    }

    /// For another viewer in the same operation.
    #[must_use]
    pub fn other(&self, viewer: Option<Viewer>) -> Self {
        Self { viewer, uses: Arc::clone(&self.uses) }
    }

    /// The viewer. From now on the answer depends on them.
    pub fn viewer(&self) -> Option<Viewer> {
        self.uses.fetch_add(1, Ordering::Relaxed);
        self.viewer
    }

    /// How often the operation has read the viewer.
    pub fn uses(&self) -> u64 {
        self.uses.load(Ordering::Relaxed)
    }
}
