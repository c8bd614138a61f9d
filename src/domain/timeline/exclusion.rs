//! Why an author's contents are not in a reader's timeline although the reader follows: mutes, hides, blocks.
//!
//! Nothing of it touches inboxes, floors or modes: reads leave the excluded out, so that whatever is lifted is undone
//! at once.

/// Why an author's contents are kept out of a reader's timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExclusionKind {
    /// The reader does not want to see the author's contents.
    Muted,
    /// The author does not want the reader to have theirs in the timeline. The author's page stays public.
    Hidden,
    /// The reader has blocked the author.
    BlockedByReader,
    /// The author has blocked the reader.
    BlockedByAuthor,
}

impl ExclusionKind {
    /// Every cause.
    pub const ALL: [Self; 4] = [Self::Muted, Self::Hidden, Self::BlockedByReader, Self::BlockedByAuthor];

    /// The number that the `exclusions` table keeps.
    pub const fn code(self) -> i32 {
        match self {
            Self::Muted => 1,
            Self::Hidden => 2,
            Self::BlockedByReader => 3,
            Self::BlockedByAuthor => 4,
        }
    }

    /// The cause of a stored number.
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.code() == code)
    }
}

/// What one user has decided about another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExclusionState {
    /// Has muted them.
    pub has_muted: bool,
    /// Has blocked them.
    pub has_blocked: bool,
    /// Hides from them.
    pub is_hiding: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_read_back_from_its_number() {
        for cause in ExclusionKind::ALL {
            assert_eq!(ExclusionKind::from_code(cause.code()), Some(cause));
        }
        assert_eq!(ExclusionKind::from_code(0), None);
    }
}
