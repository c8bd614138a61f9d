//! Models announcements: every listening node gets each one that it wants to hear of, or a gap in place of those that
//! were lost.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_trait::async_trait;
use tidefeed::{
    domain::Shown,
    store::{Announcements, StoreError, announcements::Announcement},
};
use tokio::sync::{
    Notify,
    broadcast::{Receiver, Sender},
};

use super::{Late, Way, interest::Interest};
use crate::{fault_injector::FaultInjector, rules::Rule};

/// Announcements that the slowest listener may be behind.
const BUFFER: usize = 8;

/// Of all nodes.
pub struct SimAnnouncements {
    injector: FaultInjector,
    nodes: Mutex<Vec<Weak<NodeAnnouncements>>>,
    late: Mutex<Late<Announcement>>,
    /// The rule that is broken in this run.
    broken: Option<Rule>,
}

/// Of one node.
pub struct NodeAnnouncements {
    all: Arc<SimAnnouncements>,
    listeners: Sender<Announcement>,
    /// `None` where nodes hear everything.
    interest: Option<Mutex<Interest>>,
    subscribed: Notify,
}

impl SimAnnouncements {
    pub fn new(injector: FaultInjector, broken: Option<Rule>) -> Self {
        Self { injector, nodes: Mutex::default(), late: Mutex::default(), broken }
    }

    pub fn of_a_node(self: &Arc<Self>) -> Arc<NodeAnnouncements> {
        let interest = Interest::new(self.injector.clone(), self.broken);
        let node = Arc::new(NodeAnnouncements {
            all: Arc::clone(self),
            listeners: Sender::new(BUFFER),
            interest: interest.map(Mutex::new),
            subscribed: Notify::new(),
        });
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&node));
        node
    }

    /// A node's subscription may break.
    pub fn break_some(&self) {
        self.living().iter().for_each(|node| node.breaks());
    }

    /// Those that were late and have come by now, and what has become of subscriptions.
    pub fn come(&self) {
        let come = self.late.lock().unwrap_or_else(PoisonError::into_inner).come(self.injector.now());
        for announcement in come {
            self.send(announcement);
        }
        self.living().iter().for_each(|node| node.come());
    }

    fn living(&self) -> Vec<Arc<NodeAnnouncements>> {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.retain(|node| node.strong_count() > 0);
        nodes.iter().filter_map(Weak::upgrade).collect()
    }

    fn send(&self, mut announcement: Announcement) {
        if let Announcement::Published { original, .. } = &mut announcement
            && self.broken == Some(Rule::RepostsAreAnnouncedAsPosts)
        {
            *original = None;
        }
        for node in self.living() {
            if node.interest().is_none_or(|interest| interest.hears(&announcement)) {
                // An error means that nobody listens.
                let _ = node.listeners.send(announcement.clone());
            }
        }
    }
}

impl NodeAnnouncements {
    fn interest(&self) -> Option<MutexGuard<'_, Interest>> {
        self.interest.as_ref().map(|interest| interest.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn come(&self) {
        let come = self.interest().is_some_and(|mut interest| interest.come());
        let renewed = self.interest().is_some_and(|mut interest| interest.is_renewed());
        if come || renewed {
            self.subscribed.notify_waiters();
        }
        if renewed {
            let _ = self.listeners.send(Announcement::Gap);
        }
    }

    fn breaks(&self) {
        if self.interest().is_some_and(|mut interest| interest.breaks()) {
            self.all.injector.note(|| "a subscription breaks".to_owned());
            self.subscribed.notify_waiters();
        }
    }
}

#[async_trait]
impl Announcements for NodeAnnouncements {
    async fn announce(&self, announcement: &Announcement) -> Result<(), StoreError> {
        // No device shows anything beside its timeline.
        if matches!(announcement, Announcement::Changed { .. }) {
            return Ok(());
        }
        let SimAnnouncements { injector, late, broken, .. } = &*self.all;
        injector.switch().await;
        if *broken == Some(Rule::RelationsAreNotAnnounced)
            && matches!(announcement, Announcement::FollowsChanged { .. })
        {
            return Ok(());
        }
        match Way::of(injector, injector.rates().announcement) {
            Way::Lost if *broken == Some(Rule::LossIsNotAnnounced) => {}
            Way::Lost => self.all.send(Announcement::Gap),
            Way::Once => self.all.send(announcement.clone()),
            Way::Twice => (0..2).for_each(|_| self.all.send(announcement.clone())),
            Way::Late(at) => late.lock().unwrap_or_else(PoisonError::into_inner).add(at, announcement.clone()),
        }
        Ok(())
    }

    fn listen(&self) -> Receiver<Announcement> {
        self.listeners.subscribe()
    }

    fn want(&self, shown: Shown) {
        if let Some(mut interest) = self.interest() {
            interest.want(shown);
        }
    }

    fn unwant(&self, shown: Shown) {
        if let Some(mut interest) = self.interest() {
            interest.unwant(shown);
        }
    }

    async fn settled(&self) {
        let Some(asked) = self.interest().map(|interest| interest.on_their_way()) else { return };
        if self.all.broken == Some(Rule::InterestAfterRead) {
            return;
        }
        loop {
            let subscribed = self.subscribed.notified();
            if self.interest().is_none_or(|interest| interest.is_settled(&asked)) {
                return;
            }
            subscribed.await;
        }
    }
}
