//! New entries on their way to subscribers, and a place beside them where whoever shows them keeps what it has loaded
//! and made, once for all subscribers.

use std::{
    any::Any,
    sync::{Arc, OnceLock},
};

use crate::domain::Entry;

/// Entries that travel together: those of one announcement, to all subscribers; or those of one catch-up, to its own.
#[derive(Debug)]
pub struct Batch {
    entries: Vec<Entry>,
    shown: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl Batch {
    /// Nothing of `entries` has been shown to anybody.
    pub fn of(entries: Vec<Entry>) -> Arc<Self> {
        Arc::new(Self { entries, shown: OnceLock::new() })
    }

    /// All of them; they can be loaded together.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What the first caller has made, for every caller; `None` if that was of another type.
    pub fn shared<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<Arc<T>> {
        let shared = self.shown.get_or_init(|| Arc::new(make()));
        Arc::clone(shared).downcast().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_first_has_made_serves_everybody() {
        let batch = Batch::of(Vec::new());
        assert_eq!(batch.shared(|| 1_u8).as_deref(), Some(&1));
        assert_eq!(batch.shared(|| 2_u8).as_deref(), Some(&1));
        assert_eq!(batch.shared(|| 3_u16), None);
    }
}
