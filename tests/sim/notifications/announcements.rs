//! Models announcements: every listening node gets each one, or a gap in place of those that were lost.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use tidefeed::store::{Announcements, StoreError, announcements::Announcement};
use tokio::sync::broadcast::{Receiver, Sender};

use super::{Late, Way};
use crate::{fault_injector::FaultInjector, rules::Rule};

/// Announcements that the slowest listener may be behind.
const BUFFER: usize = 8;

/// See the module.
pub struct SimAnnouncements {
    injector: FaultInjector,
    listeners: Sender<Announcement>,
    late: Mutex<Late<Announcement>>,
    /// The rule that is broken in this run.
    broken: Option<Rule>,
}

impl SimAnnouncements {
    pub fn new(injector: FaultInjector, broken: Option<Rule>) -> Self {
        Self { injector, listeners: Sender::new(BUFFER), late: Mutex::default(), broken }
    }

    /// Those that were late and have come by now.
    pub fn come(&self) {
        let come = self.late.lock().unwrap_or_else(PoisonError::into_inner).come(self.injector.now());
        for announcement in come {
            self.send(announcement);
        }
    }

    fn send(&self, mut announcement: Announcement) {
        if let Announcement::Published { original, .. } = &mut announcement
            && self.broken == Some(Rule::RepostsAreAnnouncedAsPosts)
        {
            *original = None;
        }
        // An error means that nobody listens.
        let _ = self.listeners.send(announcement);
    }
}

#[async_trait]
impl Announcements for SimAnnouncements {
    async fn announce(&self, announcement: &Announcement) -> Result<(), StoreError> {
        self.injector.switch().await;
        if self.broken == Some(Rule::RelationsAreNotAnnounced)
            && matches!(announcement, Announcement::FollowsChanged { .. })
        {
            return Ok(());
        }
        match Way::of(&self.injector, self.injector.rates().announcement) {
            Way::Lost if self.broken == Some(Rule::LossIsNotAnnounced) => {}
            Way::Lost => self.send(Announcement::Gap),
            Way::Once => self.send(announcement.clone()),
            Way::Twice => (0..2).for_each(|_| self.send(announcement.clone())),
            Way::Late(at) => self.late.lock().unwrap_or_else(PoisonError::into_inner).add(at, announcement.clone()),
        }
        Ok(())
    }

    fn listen(&self) -> Receiver<Announcement> {
        self.listeners.subscribe()
    }
}
