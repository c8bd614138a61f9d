//! What clients show, and what nodes announce changes of.

use serde::{Deserialize, Serialize};

use crate::{ContentId, UserId};

/// A content or a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Shown {
    /// A content: its text, its counts, its replies and who likes it.
    Content(ContentId),
    /// A user: their counts, their contents and their lists of people.
    User(UserId),
}

impl Shown {
    /// The number of its id.
    pub const fn number(self) -> i64 {
        match self {
            Self::Content(content) => content.get(),
            Self::User(user) => user.get(),
        }
    }
}

impl From<ContentId> for Shown {
    fn from(content: ContentId) -> Self {
        Self::Content(content)
    }
}

impl From<UserId> for Shown {
    fn from(user: UserId) -> Self {
        Self::User(user)
    }
}
