//! Counts which groups of contents and users this node wants to hear of.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::channels::Group;
use crate::domain::Shown;

/// What is wanted. A group counts for each of its members that is wanted.
#[derive(Debug, Default)]
pub struct Interest {
    wanted: Mutex<Wanted>,
    grew: Notify,
}

/// What was wanted at one instant.
#[derive(Debug, Default)]
struct Wanted {
    counts: BTreeMap<Group, usize>,
    /// How often a group has become wanted.
    version: u64,
}

impl Interest {
    /// Counts one more.
    pub fn want(&self, shown: Shown) {
        let mut wanted = self.wanted();
        let count = wanted.counts.entry(Group::of(shown)).or_default();
        *count += 1;
        if *count == 1 {
            wanted.version += 1;
            self.grew.notify_one();
        }
    }

    /// Counts one less.
    pub fn unwant(&self, shown: Shown) {
        let mut wanted = self.wanted();
        let group = Group::of(shown);
        if let Some(count) = wanted.counts.get_mut(&group) {
            *count -= 1;
            if *count == 0 {
                wanted.counts.remove(&group);
            }
        }
    }

    /// The version of what is wanted now.
    pub fn version(&self) -> u64 {
        self.wanted().version
    }

    /// The groups that are wanted now, with their version.
    pub fn groups(&self) -> (u64, BTreeSet<Group>) {
        let wanted = self.wanted();
        (wanted.version, wanted.counts.keys().copied().collect())
    }

    /// Completes after a group has become wanted. For one task.
    pub async fn grew(&self) {
        self.grew.notified().await;
    }

    fn wanted(&self) -> MutexGuard<'_, Wanted> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
