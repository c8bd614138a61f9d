//! Reactions: likes and bookmarks.

/// A reaction; each at most once for a user and a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reaction {
    /// Tells the author.
    Like,
    /// Kept in the user's own list, which nobody else sees.
    Bookmark,
}

impl Reaction {
    /// The number that databases keep.
    pub const fn code(self) -> i32 {
        match self {
            Self::Like => 1,
            Self::Bookmark => 2,
        }
    }
}

/// Which reactions to a content are the viewer's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ViewerReactions {
    /// They like it.
    pub liked: bool,
    /// They have bookmarked it.
    pub bookmarked: bool,
}
