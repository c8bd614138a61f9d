//! Replies and reposts in SQL: resolves the content that a new one refers to, counts it, and finds who replied or
//! reposted.

use sql_driver::{Dialect, Fragment};

use super::{
    super::{
        SqlStore,
        rows::{DomainColumns as _, MAX_LIST, Row, id_list},
        spread_counts::Change,
        visibility::not_blocked,
    },
    rows::{COLUMNS, TABLES, content},
};
use crate::{
    domain::{Content, ContentId, Reference, UserId},
    store::{StoreError, contents::NewContent},
};

/// What a new content refers to.
#[derive(Debug)]
pub(super) enum Referred {
    /// Nothing.
    Nothing,
    /// A content of this author, and whether its counters are spread.
    To(UserId, bool),
    /// A content that the author has reposted before.
    Reposted(Content),
    /// A content that the author cannot refer to.
    Missing,
}

/// Statements that look up the reference, at most two. The author's outbox is locked, so nobody else makes or removes a
/// repost of theirs.
pub(super) fn look_up(dialect: Dialect, new: &NewContent) -> Vec<Fragment> {
    let Some(other) = new.draft.reference.content().map(ContentId::get) else { return Vec::new() };
    let Fragment { text, values } = not_blocked(dialect, Some(new.author), "c.author_id");
    let text = format!(
        "SELECT c.author_id, k.spread FROM contents c LEFT JOIN counters k ON k.content_id = c.id \
         WHERE c.id = ? AND c.removed_at IS NULL AND c.repost_of IS NULL{text}"
    );
    let original = Fragment::with(text, std::iter::once(other.into()).chain(values));
    let reposted = new.draft.reference.repost_of().map(|_| {
        let sql = format!(
            "SELECT {COLUMNS} FROM {TABLES} WHERE c.repost_of = ? AND c.author_id = ? AND c.removed_at IS NULL"
        );
        Fragment::new(sql, [other, new.author.get()])
    });
    std::iter::once(original).chain(reposted).collect()
}

/// What the rows of [`look_up`] say.
pub(super) fn found(new: &NewContent, original: Option<&Row>, repost: Option<&Row>) -> Result<Referred, StoreError> {
    match (new.draft.reference, original, repost) {
        (Reference::Nothing, ..) => Ok(Referred::Nothing),
        (_, None, _) => Ok(Referred::Missing),
        (_, Some(_), Some(repost)) => Ok(Referred::Reposted(content(repost)?)),
        (_, Some(row), None) => Ok(Referred::To(row.user(0)?, row.get::<Option<i64>>(1)? == Some(1))),
    }
}

/// How the count of replies or reposts of the content referred to changes, by an author; `None`: nothing is.
pub(super) fn change(reference: Reference, by: UserId, more: i64) -> Option<Change> {
    let (column, other) = match reference {
        Reference::Nothing => return None,
        Reference::ReplyTo(other) => ("replies", other),
        Reference::RepostOf(other) => ("reposts", other),
    };
    Some(Change { column, id: other.get(), more, by })
}

impl SqlStore {
    /// See [`crate::store::Contents::subjects`].
    pub(super) async fn subjects_of(&self, ids: &[ContentId]) -> Result<Vec<(ContentId, ContentId)>, StoreError> {
        let mut subjects = Vec::with_capacity(ids.len());
        for ids in ids.chunks(MAX_LIST) {
            let (list, values) = id_list(ids);
            let sql = format!("SELECT id, COALESCE(repost_of, id) FROM contents WHERE id IN {list}");
            for row in self.read_anywhere(&sql, values).await? {
                subjects.push((row.content(0)?, row.content(1)?));
            }
        }
        Ok(subjects)
    }

    /// See [`crate::store::Contents::reposted_among`].
    pub(super) async fn reposts_of(
        &self,
        author: UserId,
        originals: &[ContentId],
    ) -> Result<Vec<(ContentId, ContentId)>, StoreError> {
        let mut reposts = Vec::new();
        for originals in originals.chunks(MAX_LIST) {
            let (list, values) = id_list(originals);
            let sql = format!(
                "SELECT repost_of, id FROM contents{} WHERE repost_of IN {list} AND author_id = ? AND removed_at IS NULL",
                self.dialect.force_index("reposts")
            );
            for row in self.read_anywhere(&sql, values.into_iter().chain([author.get().into()])).await? {
                reposts.push((row.content(0)?, row.content(1)?));
            }
        }
        Ok(reposts)
    }
}
