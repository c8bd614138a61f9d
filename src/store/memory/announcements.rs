//! Announcements within one process: a bounded broadcast.

use async_trait::async_trait;
use tokio::sync::broadcast;

use crate::store::{Announcements, StoreError, announcements::Announcement};

/// Announcements to the listeners of this process. There is no connection to lose, so that nothing here tells a gap; a
/// listener that falls behind by more than the buffer learns it from its channel.
#[derive(Debug)]
pub struct MemoryAnnouncements {
    listeners: broadcast::Sender<Announcement>,
}

impl MemoryAnnouncements {
    /// `buffer`: announcements that the slowest listener may be behind; 0 counts as 1.
    pub fn new(buffer: usize) -> Self {
        Self { listeners: broadcast::Sender::new(buffer.max(1)) }
    }
}

#[async_trait]
impl Announcements for MemoryAnnouncements {
    async fn announce(&self, announcement: &Announcement) -> Result<(), StoreError> {
        if *announcement != Announcement::Gap {
            // An error means that nobody listens, which is nobody's loss.
            let _ = self.listeners.send(announcement.clone());
        }
        Ok(())
    }

    fn listen(&self) -> broadcast::Receiver<Announcement> {
        self.listeners.subscribe()
    }
}
