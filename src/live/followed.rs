//! Whom a reader follows, as one read of the store told it.

use std::sync::Arc;

use crate::domain::UserId;

/// Authors in ascending order, eight bytes each; clones share them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Followed(Arc<[UserId]>);

impl Followed {
    /// Each of `authors` once, in whatever order they come.
    pub fn of(mut authors: Vec<UserId>) -> Self {
        authors.sort_unstable();
        authors.dedup();
        Self(authors.into())
    }

    /// Whether the author is among them.
    pub fn contains(&self, author: UserId) -> bool {
        self.0.binary_search(&author).is_ok()
    }

    /// All of them, ascending.
    pub fn iter(&self) -> impl Iterator<Item = UserId> {
        self.0.iter().copied()
    }

    /// Those who are not among `others`, ascending.
    pub fn without(&self, others: &Self) -> impl Iterator<Item = UserId> {
        self.iter().filter(|author| !others.contains(*author))
    }

    /// Whether both are one piece of memory.
    pub fn is_one_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// How many have them.
    #[cfg(test)]
    pub fn holders(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// Whether there is nobody.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<UserId> for Followed {
    fn from_iter<I: IntoIterator<Item = UserId>>(authors: I) -> Self {
        Self::of(authors.into_iter().collect())
    }
}
