//! A reader's reactions as a node remembers them: all of one snapshot, with their version. A page may use them if its
//! own snapshot has the same version.

use crate::{Reaction, ViewerReactions, ids::ContentId};

/// Everything that one reader has reacted to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RememberedReactions {
    version: i64,
    /// Ascending by content, each once.
    reactions: Box<[(ContentId, ViewerReactions)]>,
}

impl RememberedReactions {
    /// All the reader's reactions in the snapshot of `version`, in any order.
    pub fn new(version: i64, mut all: Vec<(ContentId, Reaction)>) -> Self {
        all.sort_unstable_by_key(|(content, _)| *content);
        let mut reactions: Vec<(ContentId, ViewerReactions)> = Vec::with_capacity(all.len());
        for (content, reaction) in all {
            if reactions.last().is_none_or(|(last, _)| *last != content) {
                reactions.push((content, ViewerReactions::default()));
            }
            if let Some((_, of_content)) = reactions.last_mut() {
                of_content.add(reaction);
            }
        }
        Self { version, reactions: reactions.into() }
    }

    /// The version in the snapshot that they were read from.
    pub const fn version(&self) -> i64 {
        self.version
    }

    /// The reader's reactions to a content.
    pub fn to(&self, content: ContentId) -> ViewerReactions {
        let found = self.reactions.binary_search_by_key(&content, |(of, _)| *of);
        found.ok().and_then(|at| self.reactions.get(at)).map(|(_, reactions)| *reactions).unwrap_or_default()
    }

    /// Bytes in memory.
    pub const fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.reactions)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    #[test]
    fn both_reactions_to_a_content_are_found_and_none_to_others() {
        let content = |id| ContentId::try_new(id).unwrap();
        let all = vec![
            (content(7), Reaction::Bookmark),
            (content(3), Reaction::Like),
            (content(7), Reaction::Like),
            (content(5), Reaction::Bookmark),
        ];
        let remembered = RememberedReactions::new(9, all);
        let found = |id| (remembered.to(content(id)).liked, remembered.to(content(id)).bookmarked);
        assert_eq!([3, 5, 7, 4].map(found), [(true, false), (false, true), (true, true), (false, false)]);
        assert_eq!(remembered.version(), 9);
    }
}
