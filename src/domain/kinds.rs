//! Kinds of contents, and sets of kinds that a page is limited to.

use serde::{Deserialize, Serialize};

/// What a content is to its readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContentKind {
    /// Text, with or without media.
    Post,
    /// The same, in answer to another content.
    Reply,
    /// Another content, shown again.
    Repost,
}

impl ContentKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Post, Self::Reply, Self::Repost];

    /// The number that the `contents` table keeps.
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

/// A choice of kinds; never none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kinds(u8);

/// A choice of nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("name at least one kind, or omit the list")]
pub struct NoKinds;

impl Kinds {
    /// All of them, those included that are yet to come.
    pub const ALL: Self = Self(u8::MAX);

    /// These; in any order, repeated or not.
    pub fn try_new(kinds: impl IntoIterator<Item = ContentKind>) -> Result<Self, NoKinds> {
        let chosen = kinds.into_iter().fold(0, |chosen, kind| chosen | kind.bit());
        if chosen == 0 { Err(NoKinds) } else { Ok(Self(chosen)) }
    }

    /// Whether nothing is left out.
    pub const fn is_all(self) -> bool {
        self.0 == u8::MAX
    }

    /// Whether `kind` is among them.
    pub const fn contains(self, kind: ContentKind) -> bool {
        self.0 & kind.bit() != 0
    }

    /// Those that there are.
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
