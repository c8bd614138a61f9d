//! Outboxes in SQL: a page of one author's entries, or of the replies to a content, and the newest entries of many authors.

use sea_orm::Value;

use super::{
    SqlStore,
    exclusions::not_blocked,
    keyset::Columns,
    rows::{Row, id_list, of_kinds},
};
use crate::{
    domain::{ContentId, Direction, Entry, PageRequest, Run, UserId},
    store::{
        StoreError,
        contents::{OutboxHead, OutboxPage},
    },
};

const POSITION: Columns = Columns { time: "publish_time", id: "id" };
/// Authors that one statement reads the newest entries of: a member of its union each, of which SQLite allows 500.
const AUTHORS_PER_STATEMENT: usize = 128;

/// A member of a union and its values.
type Part = (String, Vec<Value>);

/// What is listed by position, each by an index of its own.
#[derive(Clone, Copy, Debug)]
pub(super) enum Listed {
    /// An author's contents.
    By(UserId),
    /// The replies to a content.
    RepliesTo(ContentId),
}

impl Listed {
    /// The column that the index begins with, and its value.
    const fn key(self) -> (&'static str, i64) {
        match self {
            Self::By(author) => ("author_id", author.get()),
            Self::RepliesTo(content) => ("reply_to", content.get()),
        }
    }
}

impl SqlStore {
    /// See [`crate::store::Contents::outbox`] and [`crate::store::Contents::replies`].
    pub(super) async fn listed_page(
        &self,
        viewer: Option<UserId>,
        listed: Listed,
        request: &PageRequest,
    ) -> Result<OutboxPage, StoreError> {
        let (direction, back, need) = (request.direction, request.direction.reversed(), request.need());
        let window = |(position, mut bounds): Part| {
            let unblocked = not_blocked(viewer, "contents.author_id");
            bounds.extend(unblocked.values);
            (format!("{position}{}{}", of_kinds(request.kinds, "kind"), unblocked.text), bounds)
        };
        let (mut sql, mut values) = part(0, listed, window(POSITION.beyond(direction, request.bound)), direction, need);
        if request.bound.is_some() {
            let behind = part(1, listed, window(POSITION.from(back, request.bound)), back, 1);
            sql = format!("{sql} UNION ALL {}", behind.0);
            values.extend(behind.1);
        }
        let (mut ahead, mut behind) = (Vec::new(), Vec::new());
        for row in self.read(&sql, values).await? {
            let side = if row.get::<i64>(0)? == 0 { &mut ahead } else { &mut behind };
            side.push(row.entry(1)?);
        }
        Ok(OutboxPage {
            ahead: Run::from_limited_query(direction, ahead, need),
            behind: request.bound.map(|_| Run::from_limited_query(back, behind, 1)),
        })
    }

    /// See [`crate::store::Contents::outbox_heads`]: the stamp and the entries of an author come in one statement.
    pub(super) async fn heads_of_outboxes(
        &self,
        authors: &[UserId],
        limit: usize,
    ) -> Result<Vec<OutboxHead>, StoreError> {
        let mut heads = Vec::with_capacity(authors.len());
        for authors in authors.chunks(AUTHORS_PER_STATEMENT) {
            let (sql, values) = heads_statement(authors, limit);
            let rows = self.read(&sql, values).await?;
            for author in authors {
                heads.push(head(*author, &rows, limit)?);
            }
        }
        Ok(heads)
    }
}

/// `(side, publish_time, id, author_id)` of at most `limit` of the list's entries in a window.
fn part(side: u8, listed: Listed, window: Part, direction: Direction, limit: usize) -> Part {
    let (condition, bounds) = window;
    let (column, key) = listed.key();
    let sql = format!(
        "SELECT * FROM (SELECT {side} AS side, publish_time, id, author_id FROM contents \
         WHERE {column} = ? AND removed_at IS NULL{condition}{order} LIMIT ?) AS side_{side}",
        order = POSITION.order(direction)
    );
    let key = std::iter::once(Value::from(key));
    (sql, key.chain(bounds).chain([rows(limit)]).collect())
}

/// `(stamp, publish_time, id, author_id)`: each author's stamp with neither time nor id, and one entry more than `limit` without a stamp.
fn heads_statement(authors: &[UserId], limit: usize) -> Part {
    let (list, mut values) = id_list(authors);
    let mut sql = format!(
        "SELECT stamp, NULL AS publish_time, NULL AS id, author_id FROM outbox_heads WHERE author_id IN {list}"
    );
    for author in authors {
        sql.push_str(
            " UNION ALL SELECT * FROM (SELECT NULL AS stamp, publish_time, id, author_id FROM contents \
             WHERE author_id = ? AND removed_at IS NULL ORDER BY publish_time DESC, id DESC LIMIT ?) AS newest",
        );
        values.extend([author.get().into(), rows(limit.saturating_add(1))]);
    }
    (sql, values)
}

/// An author who has published nothing has stamp 0.
fn head(author: UserId, rows: &[Row], limit: usize) -> Result<OutboxHead, StoreError> {
    let mut head = OutboxHead { author, stamp: 0, entries: Vec::new(), whole: true };
    for row in rows {
        if row.user(3)? != author {
            continue;
        }
        match row.get::<Option<i64>>(0)? {
            Some(stamp) => head.stamp = stamp,
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
        domain::Position,
        store::sql::tests::{migrated, plan},
    };

    #[tokio::test]
    async fn outboxes_are_ranges_of_their_index_and_never_sorted() {
        let folder = tempfile::tempdir().unwrap();
        let store = migrated(&folder).await;
        let author = UserId::try_new(1).unwrap();
        let bound = Some(Position::bound(7, 8));
        for direction in [Direction::Older, Direction::Newer] {
            let page = part(0, Listed::By(author), POSITION.beyond(direction, bound), direction, 21);
            let outbox = plan(&store, page).await;
            assert!(outbox.contains("USING COVERING INDEX outbox (author_id=?"), "{outbox}");
            let content = Listed::RepliesTo(ContentId::try_new(1).unwrap());
            let page = part(0, content, POSITION.beyond(direction, bound), direction, 21);
            let replies = plan(&store, page).await;
            assert!(replies.contains("USING INDEX replies (reply_to=?"), "{replies}");
            assert!(!outbox.contains("TEMP B-TREE") && !replies.contains("TEMP B-TREE"), "{outbox} {replies}");
        }
        let plan = plan(&store, heads_statement(&[author, author], 5)).await;
        assert_eq!(plan.matches("USING COVERING INDEX outbox (author_id=?").count(), 2, "{plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{plan}");
    }
}
