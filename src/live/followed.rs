//! The authors whom a reader follows, as one read of the store returned them.

use std::sync::Arc;

use crate::domain::UserId;

/// Author ids in ascending order, eight bytes each. Clones share the memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Followed(Arc<[UserId]>);

impl Followed {
    /// Sorts `authors` and drops duplicates.
    pub fn of(mut authors: Vec<UserId>) -> Self {
        authors.sort_unstable();
        authors.dedup();
        Self(authors.into())
    }

    /// Whether the reader follows `author`.
    pub fn contains(&self, author: UserId) -> bool {
        self.0.binary_search(&author).is_ok()
    }

    /// All authors, ascending.
    pub fn iter(&self) -> impl Iterator<Item = UserId> {
        self.0.iter().copied()
    }

    /// The authors who are not in `others`, ascending.
    pub fn without(&self, others: &Self) -> impl Iterator<Item = UserId> {
        self.iter().filter(|author| !others.contains(*author))
    }

    /// Whether both share the same memory.
    pub fn is_one_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// How many clones share the memory.
    #[cfg(test)]
    pub fn holders(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// Whether the reader follows nobody.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<UserId> for Followed {
    fn from_iter<I: IntoIterator<Item = UserId>>(authors: I) -> Self {
        Self::of(authors.into_iter().collect())
    }
}
