//! Remembers which changes were announced just now, so that a popular content costs one announcement a second.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::announcements::{Announcement, CHANGED_MS};
use crate::domain::Shown;

/// Contents and users that are remembered; beyond, each change is announced.
const REMEMBERED: usize = 4_096;

/// The changes that this node has announced in the last [`CHANGED_MS`].
#[derive(Debug, Default)]
pub struct RecentChanges(Mutex<HashMap<Shown, Instant>>);

impl RecentChanges {
    /// Whether it is a change that was announced lately. If not, it counts as announced from now on.
    pub fn contains(&self, announcement: &Announcement) -> bool {
        let Announcement::Changed { shown } = announcement else { return false };
        let now = Instant::now();
        let is_over = |at: &Instant| now.duration_since(*at) >= Duration::from_millis(CHANGED_MS);
        let mut lately = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lately.get(shown).is_some_and(|at| !is_over(at)) {
            return true;
        }
        if lately.len() >= REMEMBERED {
            lately.retain(|_, at| !is_over(at));
        }
        if lately.len() < REMEMBERED {
            lately.insert(*shown, now);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use tokio::time::advance;

    use super::*;
    use crate::domain::ContentId;

    #[tokio::test(start_paused = true)]
    async fn a_content_is_announced_once_a_second() {
        let recent = RecentChanges::default();
        let liked = |id| recent.contains(&Announcement::Changed { shown: ContentId::try_new(id).unwrap().into() });
        assert_eq!([liked(1), liked(1), liked(2)], [false, true, false]);
        advance(Duration::from_millis(CHANGED_MS)).await;
        assert!(!liked(1) && liked(1));
        (0..5_000).for_each(|id| assert!(!liked(10 + id), "none is lost where too many are liked"));
        assert!(recent.0.lock().unwrap().len() <= REMEMBERED);
    }
}
