//! Models of the queue, the outbox cache and announcements, which may lose anything at any time. Each can be
//! unreachable, be emptied or be restored to an old state; a write can be lost, repeated or late.

mod announcements;
mod cache;
mod interest;
mod queue;

pub use announcements::SimAnnouncements;
pub use cache::SimCache;
pub use queue::SimQueue;

use crate::fault_injector::FaultInjector;

/// How late what is late comes at most, in ms.
pub const LATEST: i64 = 400;

/// What becomes of something that is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Lost,
    Once,
    Twice,
    /// At this time.
    Late(i64),
}

impl Way {
    fn of(injector: &FaultInjector, [lost, twice, late]: [u32; 3]) -> Self {
        if injector.injects(lost) {
            Self::Lost
        } else if injector.injects(twice) {
            Self::Twice
        } else if injector.injects(late) {
            let wait = injector.within(1, LATEST);
            Self::Late(injector.now() + wait)
        } else {
            Self::Once
        }
    }
}

/// Things on their way, each with the time at which it comes.
#[derive(Debug)]
struct Late<T>(Vec<(i64, T)>);

impl<T> Default for Late<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Late<T> {
    fn add(&mut self, at: i64, what: T) {
        self.0.push((at, what));
    }

    /// What has come by now.
    fn come(&mut self, now: i64) -> Vec<T> {
        if self.0.iter().all(|(at, _)| *at > now) {
            return Vec::new();
        }
        let (come, later) = std::mem::take(&mut self.0).into_iter().partition(|(at, _)| *at <= now);
        self.0 = later;
        let come: Vec<(i64, T)> = come;
        come.into_iter().map(|(_, what)| what).collect()
    }
}
