//! Reactions: likes and bookmarks.

/// A reaction. A user has each at most once for a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reaction {
    /// Public; the author sees it.
    Like,
    /// Private: only the user sees their bookmarks.
    Bookmark,
}

impl Reaction {
    /// The number in databases.
    pub const fn code(self) -> i32 {
        match self {
            Self::Like => 1,
            Self::Bookmark => 2,
        }
    }
}

/// The viewer's own reactions to a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ViewerReactions {
    /// They like it.
    pub liked: bool,
    /// They have bookmarked it.
    pub bookmarked: bool,
}

impl ViewerReactions {
    /// Adds one.
    pub const fn add(&mut self, reaction: Reaction) {
        match reaction {
            Reaction::Like => self.liked = true,
            Reaction::Bookmark => self.bookmarked = true,
        }
    }
}
