//! Caches rows that never change.

use std::sync::Arc;

use quick_cache::sync::Cache;

use crate::domain::ContentId;

/// Contents whose subjects are remembered, some dozens of bytes each.
const CONTENTS: usize = 131_072;

/// Subjects of contents: what each repeats, or else itself. Bounded; clones share it.
///
/// A content's row never changes but for its removal. An id is a time and 32 drawn bits, so that none comes back as
/// another content's, not even after SQL lost commits.
#[derive(Clone)]
pub(super) struct RememberedSubjects(Arc<Cache<ContentId, ContentId>>);

impl Default for RememberedSubjects {
    fn default() -> Self {
        Self(Arc::new(Cache::new(CONTENTS)))
    }
}

impl std::fmt::Debug for RememberedSubjects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RememberedSubjects").field(&self.0.len()).finish()
    }
}

impl RememberedSubjects {
    /// `None` if the content's row was not read yet, or is forgotten.
    pub(super) fn get(&self, content: ContentId) -> Option<ContentId> {
        self.0.get(&content)
    }

    /// Notes what a committed row of `content` says.
    pub(super) fn note(&self, content: ContentId, subject: ContentId) {
        self.0.insert(content, subject);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    #[test]
    fn as_many_subjects_are_remembered_as_there_is_room_for() {
        let subjects = RememberedSubjects::default();
        for id in 1..=2 * i64::try_from(CONTENTS).unwrap() {
            let id = ContentId::try_new(id).unwrap();
            subjects.note(id, id);
        }
        assert!((CONTENTS / 2..=CONTENTS).contains(&subjects.0.len()), "{subjects:?}");
    }
}
