//! Announcements of which only the interest in them is looked at, for tests.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard},
};

use async_trait::async_trait;
use tokio::sync::{broadcast, watch};

use crate::{
    domain::Shown,
    store::{Announcements, StoreError, announcements::Announcement},
};

/// Counts what is wanted. All of it is settled at once, unless it is told otherwise.
pub struct Wanted {
    counts: Mutex<HashMap<Shown, i32>>,
    pub settled: watch::Sender<bool>,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { counts: Mutex::default(), settled: watch::Sender::new(true) }
    }
}

impl Wanted {
    /// How often each is wanted.
    pub fn counts(&self) -> MutexGuard<'_, HashMap<Shown, i32>> {
        self.counts.lock().unwrap()
    }
}

#[async_trait]
impl Announcements for Wanted {
    async fn announce(&self, _: &Announcement) -> Result<(), StoreError> {
        Err(StoreError::Refused("not announced here".into()))
    }

    fn listen(&self) -> broadcast::Receiver<Announcement> {
        broadcast::Sender::new(1).subscribe()
    }

    fn want(&self, shown: Shown) {
        *self.counts().entry(shown).or_default() += 1;
    }

    fn unwant(&self, shown: Shown) {
        *self.counts().entry(shown).or_default() -= 1;
    }

    async fn settled(&self) {
        self.settled.subscribe().wait_for(|settled| *settled).await.unwrap();
    }
}
