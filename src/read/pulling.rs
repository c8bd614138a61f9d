//! Remembers readers whose latest page the inbox could not give. A wrong guess costs one statement and changes no
//! page.

use quick_cache::sync::Cache;

use crate::domain::UserId;

/// Readers remembered, some dozens of bytes each. An evicted one costs one statement.
const REMEMBERED: usize = 100_000;
/// Pages that are pulled at once before the inbox is tried again.
const PAGES_UNTIL_LOOK: u8 = 16;

/// Readers with uncovered edges, and how many of their next pages are pulled at once.
pub struct Pulling(Cache<UserId, u8>);

impl Default for Pulling {
    fn default() -> Self {
        Self(Cache::new(REMEMBERED))
    }
}

impl Pulling {
    /// Whether to pull `reader`'s next page without trying the inbox first. Counts the page.
    pub fn takes(&self, reader: UserId) -> bool {
        let left = self.0.get(&reader).unwrap_or(0);
        if left == 1 {
            self.0.remove(&reader);
        } else if left > 1 {
            self.0.insert(reader, left - 1);
        }
        left > 0
    }

    /// Notes that `reader` has uncovered edges for which there are no cached outboxes.
    pub fn note(&self, reader: UserId) {
        self.0.insert(reader, PAGES_UNTIL_LOOK);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    #[test]
    fn a_reader_who_pulls_is_looked_at_again_in_a_while() {
        let (pulling, reader) = (Pulling::default(), UserId::try_new(1).unwrap());
        assert!(!pulling.takes(reader), "nothing is known");
        pulling.note(reader);
        assert_eq!((0..20).filter(|_| pulling.takes(reader)).count(), usize::from(PAGES_UNTIL_LOOK));
        assert!(!pulling.takes(UserId::try_new(2).unwrap()), "each reader for themselves");
    }
}
