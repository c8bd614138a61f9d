//! Remembers for a while that more was in flight than pages look through.

use std::sync::atomic::{AtomicU32, Ordering};

/// Pages that look up contents in flight by followed author, before one looks through them again.
const PAGES_UNTIL_LOOK: u32 = 256;

/// Whether contents in flight are too many to look through. A wrong guess costs one statement and changes no page.
#[derive(Default)]
pub struct Crowd(AtomicU32);

impl Crowd {
    /// Whether they probably are, for one page.
    pub fn is_expected(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |pages| pages.checked_sub(1)).is_ok()
    }

    /// Notes that they were.
    pub fn note(&self) {
        self.0.store(PAGES_UNTIL_LOOK, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_is_expected_for_a_while() {
        let crowd = Crowd::default();
        assert!(!crowd.is_expected());
        crowd.note();
        assert_eq!((0..2 * PAGES_UNTIL_LOOK).filter(|_| crowd.is_expected()).count(), PAGES_UNTIL_LOOK as usize);
    }
}
