//! Announcements within one process: a bounded broadcast.

use async_trait::async_trait;
use tokio::sync::broadcast;

use crate::store::{Announcements, StoreError, announcements::Announcement, recent_changes::RecentChanges};

/// Announcements within this process. There is no connection to lose, so it never announces a gap. A listener that
/// falls behind by more than the buffer learns it from its channel.
#[derive(Debug)]
pub struct MemoryAnnouncements {
    listeners: broadcast::Sender<Announcement>,
    recent: RecentChanges,
}

impl MemoryAnnouncements {
    /// `buffer`: how far a slow listener may be behind; 0 counts as 1.
    pub fn new(buffer: usize) -> Self {
        Self { listeners: broadcast::Sender::new(buffer.max(1)), recent: RecentChanges::default() }
    }
}

#[async_trait]
impl Announcements for MemoryAnnouncements {
    async fn announce(&self, announcement: &Announcement) -> Result<(), StoreError> {
        if *announcement != Announcement::Gap && !self.recent.contains(announcement) {
            // An error only means that nobody listens.
            let _ = self.listeners.send(announcement.clone());
        }
        Ok(())
    }

    fn listen(&self) -> broadcast::Receiver<Announcement> {
        self.listeners.subscribe()
    }
}
