//! The kinds of contents, and sets of kinds that filter a page.

use serde::{Deserialize, Serialize};

/// The kind of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContentKind {
    /// Text, with or without media.
    Post,
    /// The same, as a reply to another content.
    Reply,
    /// A repost of another content.
    Repost,
}

impl ContentKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Post, Self::Reply, Self::Repost];

    /// The number in the table `contents`.
    pub const fn code(self) -> i32 {
        match self {
            Self::Post => 1,
            Self::Reply => 2,
            Self::Repost => 3,
        }
    }

    /// The kind of a stored number.
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    const fn bit(self) -> u8 {
        1 << self.code()
    }
}

/// A non-empty set of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kinds(u8);

/// Refuses an empty set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("name at least one kind, or omit the list")]
pub struct NoKinds;

impl Kinds {
    /// All kinds, including future ones.
    pub const ALL: Self = Self(u8::MAX);

    /// A set of these kinds; order and repetitions do not matter.
    pub fn try_new(kinds: impl IntoIterator<Item = ContentKind>) -> Result<Self, NoKinds> {
        let chosen = kinds.into_iter().fold(0, |chosen, kind| chosen | kind.bit());
        if chosen == 0 { Err(NoKinds) } else { Ok(Self(chosen)) }
    }

    /// Whether the set has all kinds.
    pub const fn is_all(self) -> bool {
        self.0 == u8::MAX
    }

    /// Whether `kind` is among them.
    pub const fn contains(self, kind: ContentKind) -> bool {
        self.0 & kind.bit() != 0
    }

    /// The existing kinds in the set.
    pub fn iter(self) -> impl Iterator<Item = ContentKind> {
        ContentKind::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }
}

impl Default for Kinds {
    fn default() -> Self {
        Self::ALL
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    #[test]
    fn a_choice_holds_what_was_chosen_and_nothing_else() {
        let chosen = Kinds::try_new([ContentKind::Repost, ContentKind::Post, ContentKind::Post]).unwrap();
        assert_eq!(chosen.iter().collect::<Vec<_>>(), [ContentKind::Post, ContentKind::Repost]);
        assert!(!chosen.contains(ContentKind::Reply) && !chosen.is_all());
        assert_eq!(Kinds::ALL.iter().count(), 3);
        assert_eq!(Kinds::try_new([]), Err(NoKinds));
    }

    #[test]
    fn a_kind_is_read_back_from_its_number() {
        for kind in ContentKind::ALL {
            assert_eq!(ContentKind::from_code(kind.code()), Some(kind));
        }
        assert_eq!(ContentKind::from_code(0), None);
    }
}
