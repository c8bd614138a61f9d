//! Exclusions: mutes, hides and blocks keep an author's contents out of a timeline even if the reader follows.
//!
//! They never touch inboxes, floors or modes. Reads leave excluded authors out, so lifting an exclusion takes effect
//! at once.

/// Why a timeline leaves out an author's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExclusionKind {
    /// The reader has muted the author.
    Muted,
    /// The author hides from the reader's timeline. The author's page stays public.
    Hidden,
    /// The reader has blocked the author.
    BlockedByReader,
    /// The author has blocked the reader.
    BlockedByAuthor,
}

impl ExclusionKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Muted, Self::Hidden, Self::BlockedByReader, Self::BlockedByAuthor];

    /// The number in the table `exclusions`.
    pub const fn code(self) -> i32 {
        match self {
            Self::Muted => 1,
            Self::Hidden => 2,
            Self::BlockedByReader => 3,
            Self::BlockedByAuthor => 4,
        }
    }

    /// The kind with a stored number.
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.code() == code)
    }
}

/// One user's decisions about another.
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
