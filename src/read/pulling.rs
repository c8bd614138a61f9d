//! Remembers readers whose inbox alone could not give their latest page. A wrong guess costs a statement and changes
//! no page.

use quick_cache::sync::Cache;

use crate::domain::UserId;

/// Readers remembered, some dozens of bytes each; forgetting one costs a statement.
const REMEMBERED: usize = 100_000;
/// After so many pages it is looked again whether the reader still has to pull.
const PAGES_UNTIL_LOOK: u8 = 16;

/// Readers who follow somebody whose contents no inbox has, and how many more pages are pulled without another look.
pub struct Pulling(Cache<UserId, u8>);

impl Default for Pulling {
    fn default() -> Self {
        Self(Cache::new(REMEMBERED))
    }
}

impl Pulling {
    /// Whether `reader`'s next page is better pulled at once than tried from the inbox first.
    pub fn takes(&self, reader: UserId) -> bool {
        let left = self.0.get(&reader).unwrap_or(0);
        if left == 1 {
            self.0.remove(&reader);
        } else if left > 1 {
            self.0.insert(reader, left - 1);
        }
        left > 0
    }

    /// Remembers that `reader` has uncovered edges, and that there are no cached outboxes for them.
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
