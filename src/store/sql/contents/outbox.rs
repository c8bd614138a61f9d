//! Outboxes in SQL: pages of an author's entries, of those with media, or of the replies to contents, and the newest
//! entries of many authors.

use sql_driver::{Dialect, Fragment, Value};

use super::super::{
    SqlStore,
    keyset::Columns,
    listing::{List, MEMBERS_PER_STATEMENT},
    rows::{DomainColumns as _, Row, id_list, of_kinds},
    visibility::not_blocked,
};
use crate::{
    domain::{ContentId, Entry, Kinds, PageRequest, Run, UserId},
    store::{
        StoreError,
        contents::{OutboxHead, OutboxPage},
    },
};

const POSITION: Columns = Columns { time: "publish_time", id: "id" };

/// The lists ordered by position. Each has its own index.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Listed {
    /// An author's contents.
    By(UserId),
    /// An author's contents with media.
    WithMediaBy(UserId),
    /// The replies to a content.
    RepliesTo(ContentId),
}

impl Listed {
    /// The column that the index begins with, and its value.
    const fn key(self) -> (&'static str, i64) {
        match self {
            Self::By(author) => ("author_id", author.get()),
            Self::WithMediaBy(author) => ("media_author_id", author.get()),
            Self::RepliesTo(content) => ("reply_to", content.get()),
        }
    }
}

/// What is listed, as `viewer` sees it.
pub(in super::super) fn entries(dialect: Dialect, viewer: Option<UserId>, listed: Listed, kinds: Kinds) -> List {
    let (column, key) = listed.key();
    let text = format!(
        "SELECT publish_time, id, author_id FROM contents WHERE {column} = ? AND removed_at IS NULL{}",
        of_kinds(kinds, "kind")
    );
    List {
        rows: Fragment::new(text, [key]).then(not_blocked(dialect, viewer, "contents.author_id")),
        columns: POSITION,
    }
}

impl SqlStore {
    /// See [`crate::store::Contents::outbox`] and [`crate::store::Contents::replies`].
    pub(super) async fn listed_pages(
        &self,
        viewer: Option<UserId>,
        listed: impl Iterator<Item = Listed>,
        request: &PageRequest,
    ) -> Result<Vec<OutboxPage>, StoreError> {
        let lists: Vec<List> = listed.map(|listed| entries(self.dialect, viewer, listed, request.kinds)).collect();
        let (direction, back, need) = (request.direction, request.direction.reversed(), request.need());
        let mut pages = Vec::with_capacity(lists.len());
        for sides in self.sides(&lists, request).await? {
            let read = |rows: &[Row]| rows.iter().map(|row| row.entry(1)).collect::<Result<Vec<_>, _>>();
            let (ahead, behind) = (read(&sides.ahead)?, read(&sides.behind)?);
            pages.push(OutboxPage {
                ahead: Run::from_limited_query(direction, ahead, need),
                behind: request.bound.map(|_| Run::from_limited_query(back, behind, 1)),
            });
        }
        Ok(pages)
    }

    /// See [`crate::store::Contents::outbox_heads`]: the version and the entries of an author come in one statement.
    pub(super) async fn heads_of_outboxes(
        &self,
        authors: &[UserId],
        limit: usize,
    ) -> Result<Vec<OutboxHead>, StoreError> {
        let mut heads = Vec::with_capacity(authors.len());
        for authors in authors.chunks(MEMBERS_PER_STATEMENT) {
            let Fragment { text, values } = heads_statement(authors, limit);
            let rows = self.read_anywhere(&text, values).await?;
            for author in authors {
                heads.push(head(*author, &rows, limit)?);
            }
        }
        Ok(heads)
    }
}

/// `(version, publish_time, id, author_id)`: each author's version with neither time nor id, and one entry more than
/// `limit` without a version.
fn heads_statement(authors: &[UserId], limit: usize) -> Fragment {
    let (list, mut values) = id_list(authors);
    let mut text = format!(
        "SELECT stamp, NULL AS publish_time, NULL AS id, author_id FROM outbox_heads WHERE author_id IN {list}"
    );
    for author in authors {
        text.push_str(
            " UNION ALL SELECT * FROM (SELECT NULL AS stamp, publish_time, id, author_id FROM contents \
             WHERE author_id = ? AND removed_at IS NULL ORDER BY publish_time DESC, id DESC LIMIT ?) AS newest",
        );
        values.extend([author.get().into(), rows(limit.saturating_add(1))]);
    }
    Fragment { text, values }
}

/// An author who has published nothing has version 0.
fn head(author: UserId, rows: &[Row], limit: usize) -> Result<OutboxHead, StoreError> {
    let mut head = OutboxHead { author, version: 0, entries: Vec::new(), whole: true };
    for row in rows {
        if row.user(3)? != author {
            continue;
        }
        match row.get::<Option<i64>>(0)? {
            Some(version) => head.version = version,
            None => head.entries.push(row.entry(1)?),
        }
    }
    head.entries.sort_by_key(|entry| std::cmp::Reverse(Entry::position(entry)));
    head.whole = head.entries.len() <= limit;
    head.entries.truncate(limit);
    Ok(head)
}

fn rows(limit: usize) -> Value {
    i64::try_from(limit).unwrap_or(i64::MAX).into()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;
    use crate::{
        domain::{Direction, PageSize, Position},
        store::sql::{
            listing::pages,
            tests::{migrated, plan},
        },
    };

    #[tokio::test]
    async fn outboxes_are_ranges_of_their_index_and_never_sorted() {
        let folder = tempfile::tempdir().unwrap();
        let store = migrated(&folder).await;
        let [author, other] = [1, 2].map(|id| UserId::try_new(id).unwrap());
        let contents = [1, 2, 3].map(|id| ContentId::try_new(id).unwrap());
        let newest = PageRequest::newest(PageSize::default());
        for direction in [Direction::Older, Direction::Newer] {
            let request = PageRequest { direction, bound: Some(Position::bound(7, 8)), ..newest };
            let outboxes =
                [author, other].map(|author| entries(Dialect::Sqlite, None, Listed::By(author), request.kinds));
            let outboxes = plan(&store, pages(&outboxes, &request)).await;
            assert_eq!(outboxes.matches("USING COVERING INDEX outbox (author_id=?").count(), 4, "{outboxes}");
            let media = [author, other]
                .map(|author| entries(Dialect::Sqlite, None, Listed::WithMediaBy(author), request.kinds));
            let media = plan(&store, pages(&media, &request)).await;
            assert_eq!(media.matches("USING INDEX media (media_author_id=?").count(), 4, "{media}");
            let replies =
                contents.map(|content| entries(Dialect::Sqlite, None, Listed::RepliesTo(content), request.kinds));
            let replies = plan(&store, pages(&replies, &request)).await;
            assert_eq!(replies.matches("USING INDEX replies (reply_to=?").count(), 8, "filled up to four: {replies}");
            let all = [outboxes, media, replies].concat();
            assert!(!all.contains("TEMP B-TREE"), "{all}");
        }
        let plan = plan(&store, heads_statement(&[author, author], 5)).await;
        assert_eq!(plan.matches("USING COVERING INDEX outbox (author_id=?").count(), 2, "{plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{plan}");
    }
}
