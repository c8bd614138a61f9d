//! The bounded buffer of one subscriber's signals. A full one loses signals, and its subscriber learns of the loss.
//!
//! A channel of tokio would take 800 bytes of every idle subscriber.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::{fresh::Batch, subscriber_state::RereadCause};
use crate::domain::{Entry, Position, timeline::folding::Showing};

/// A signal to a subscriber.
#[derive(Debug, Clone)]
pub enum Signal<S> {
    /// A followed author has published a content that the reader sees. The batch holds this one entry.
    Added(Showing, Arc<Batch<S>>),
    /// A followed author has removed a content.
    Removed(Entry),
    /// The reader has read up to this position, perhaps on another device.
    ReadUpTo(Position),
    /// The subscriber must read its follows again, and perhaps its timeline.
    Reread(RereadCause),
}

/// The signals that wait for one subscriber.
pub struct Mailbox<S> {
    waiting: Mutex<Waiting<S>>,
    most: usize,
    arrived: Notify,
}

struct Waiting<S> {
    signals: VecDeque<Signal<S>>,
    has_missed: bool,
}

impl<S> Mailbox<S> {
    /// At most `most` signals wait in it.
    pub fn new(most: usize) -> Self {
        let waiting = Waiting { signals: VecDeque::new(), has_missed: false };
        Self { waiting: Mutex::new(waiting), most, arrived: Notify::new() }
    }

    /// Puts in a signal. `false`: it was lost, because there was no room.
    pub fn put(&self, signal: Signal<S>) -> bool {
        let mut waiting = self.waiting();
        let has_room = waiting.signals.len() < self.most;
        if has_room {
            waiting.signals.push_back(signal);
        } else {
            waiting.has_missed = true;
        }
        drop(waiting);
        self.arrived.notify_one();
        has_room
    }

    /// Marks something as lost. Repeated calls count once until the subscriber notices.
    pub fn miss(&self) {
        self.waiting().has_missed = true;
        self.arrived.notify_one();
    }

    /// The next signal. If some were lost, one [`RereadCause::Missed`] replaces everything that waits. For one reader.
    pub async fn next(&self) -> Signal<S> {
        loop {
            if let Some(signal) = self.take() {
                return signal;
            }
            self.arrived.notified().await;
        }
    }

    fn take(&self) -> Option<Signal<S>> {
        let mut waiting = self.waiting();
        let signal = if std::mem::take(&mut waiting.has_missed) {
            waiting.signals.clear();
            Some(Signal::Reread(RereadCause::Missed))
        } else {
            waiting.signals.pop_front()
        };
        if waiting.signals.is_empty() {
            // An idle subscriber keeps no room for signals.
            waiting.signals = VecDeque::new();
        }
        signal
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting<S>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
