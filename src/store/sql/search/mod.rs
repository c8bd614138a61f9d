//! Searches in SQL: a block of the rarest source is read as a range, newest first, and each of its contents is looked
//! up by key in the other terms.
//!
//! The block is cut before anything is joined, so that the other terms do not change what a statement costs.

mod rebuild;
pub(super) mod task_terms;
pub(super) mod tasks;
pub(super) mod terms;

use async_trait::async_trait;
use sql_driver::{Dialect, Fragment};

use super::{
    SqlStore,
    keyset::Columns,
    rows::{DomainColumns as _, MAX_LIST, id_list},
    visibility::{not_blocked, not_excluded},
};
use crate::{
    domain::{
        ContentId, Direction, Entry, Position, UserId,
        limits::{MAX_UNINDEXED_READ, SEARCH_BLOCK},
        search::{Candidate, Candidates, Look, Source, Span},
    },
    store::{
        SearchTerms, StoreError,
        search_terms::{Indexed, Unindexed},
    },
};

const CANDIDATE: i64 = 0;

#[async_trait]
impl SearchTerms for SqlStore {
    async fn count(&self, sources: &[Source], span: Span) -> Result<Vec<usize>, StoreError> {
        let mut counts = vec![0; sources.len()];
        if sources.is_empty() {
            return Ok(counts);
        }
        let Fragment { text, values } = count(sources, span);
        for row in self.read_anywhere(&text, values).await? {
            let index = usize::try_from(row.count(0)?).unwrap_or(usize::MAX);
            if let Some(count) = counts.get_mut(index) {
                *count = usize::try_from(row.count(1)?).unwrap_or(usize::MAX);
            }
        }
        Ok(counts)
    }

    async fn candidates(
        &self,
        viewer: Option<UserId>,
        look: &Look,
        span: Span,
        limit: usize,
    ) -> Result<Candidates, StoreError> {
        let Fragment { text, values } = candidates(self.dialect, viewer, look, span, limit);
        let (mut rows, mut cut) = (Vec::new(), None);
        for row in self.read_anywhere(&text, values).await? {
            if row.get::<i64>(0)? == CANDIDATE {
                let entry = Entry { publish_time: row.get(1)?, content: row.content(2)?, author: row.user(3)? };
                rows.push(Candidate { entry, text: row.get(4)? });
            } else {
                cut = Some(Position::bound(row.get(1)?, row.get(2)?));
            }
        }
        // A union has no guaranteed order.
        rows.sort_by_key(|row| std::cmp::Reverse(row.entry.position()));
        let last = rows.last().filter(|_| rows.len() >= limit).map(|row| row.entry.position());
        Ok(Candidates { rows, reached: last.or(cut) })
    }

    async fn unindexed(
        &self,
        viewer: Option<UserId>,
        author: Option<UserId>,
        span: Span,
    ) -> Result<Unindexed, StoreError> {
        let Fragment { text, values } = unindexed(self.dialect, viewer, author, span);
        let rows = self.read(&text, values).await?;
        let entries = rows.iter().map(|row| row.entry(0)).collect::<Result<Vec<Entry>, StoreError>>()?;
        let last = entries.last().filter(|_| entries.len() >= MAX_UNINDEXED_READ);
        Ok(Unindexed { reached: last.map(Entry::position), entries })
    }

    async fn texts(&self, contents: &[ContentId]) -> Result<Vec<(ContentId, String)>, StoreError> {
        let mut texts = Vec::with_capacity(contents.len());
        for ids in contents.chunks(MAX_LIST) {
            let (list, values) = id_list(ids);
            for row in self.read_anywhere(&format!("SELECT id, text FROM contents WHERE id IN {list}"), values).await? {
                texts.push((row.content(0)?, row.get(1)?));
            }
        }
        Ok(texts)
    }

    async fn is_current(&self) -> Result<bool, StoreError> {
        self.terms_are_current().await
    }

    async fn index_next(&self) -> Result<Indexed, StoreError> {
        let (waiting, had_tasks) = self.work_on_search_tasks().await?;
        if waiting > 0 {
            return Ok(Indexed { waiting, ..Indexed::default() });
        }
        let older = self.index_older().await?;
        Ok(Indexed { is_done: older.is_done && !had_tasks, ..older })
    }
}

/// `SELECT time, id FROM .. WHERE ..` of the source in the span, newest first: a range of the key or of the outbox's
/// index.
fn newest(source: Source, span: Span) -> Fragment {
    let (columns, rows) = match source {
        Source::Term(term) => {
            let text = "SELECT publish_time, content_id FROM search_terms WHERE term = ?";
            (Columns { time: "publish_time", id: "content_id" }, Fragment::new(text, [term.into()]))
        }
        Source::Author(author) => {
            let text = "SELECT publish_time, id AS content_id FROM contents WHERE author_id = ?";
            (Columns { time: "publish_time", id: "id" }, Fragment::new(text, [author.get()]))
        }
    };
    let rows = match span.from {
        Some(from) => rows.add(" AND publish_time >= ?", [from]),
        None => rows,
    };
    let order = columns.order(Direction::Older);
    rows.then(Fragment::keyset(columns.beyond(Direction::Older, span.below))).add(&order, [])
}

/// The place of each source, and how many contents it has.
pub(super) fn count(sources: &[Source], span: Span) -> Fragment {
    let mut all = Fragment::default();
    for (index, source) in sources.iter().enumerate() {
        let union = if index == 0 { "" } else { " UNION ALL " };
        let block = newest(*source, span).add(&format!(" LIMIT {SEARCH_BLOCK}"), []).into_table("x");
        all = all.add(&format!("{union}SELECT {index} AS place, COUNT(*) AS found FROM "), []).then(block);
    }
    all
}

/// The statement of [`SearchTerms::unindexed`].
fn unindexed(dialect: Dialect, viewer: Option<UserId>, author: Option<UserId>, span: Span) -> Fragment {
    let columns = Columns { time: "t.publish_time", id: "t.content_id" };
    let text = format!(
        "SELECT t.publish_time, t.content_id, d.author_id FROM search_tasks t {} contents d ON d.id = t.content_id \
         WHERE t.is_removal = 0 AND d.removed_at IS NULL",
        dialect.join_in_order()
    );
    let rows = Fragment::new(text, []);
    let rows = match span.from {
        Some(from) => rows.add(" AND t.publish_time >= ?", [from]),
        None => rows,
    };
    let rows = rows.then(Fragment::keyset(columns.beyond(Direction::Older, span.below)));
    let rows = match author {
        Some(author) => {
            rows.add(" AND d.author_id = ?", [author.get()]).then(not_blocked(dialect, viewer, "d.author_id"))
        }
        None => rows.then(not_excluded(dialect, viewer, "d.author_id")),
    };
    rows.add(&format!("{} LIMIT {MAX_UNINDEXED_READ}", columns.order(Direction::Older)), [])
}

/// The statement of [`SearchTerms::candidates`]: candidates, and the block's last row if it is full.
pub(super) fn candidates(dialect: Dialect, viewer: Option<UserId>, look: &Look, span: Span, limit: usize) -> Fragment {
    let then = dialect.join_in_order();
    let block = newest(look.along, span).add(&format!(" LIMIT {SEARCH_BLOCK}"), []).into_table("t");
    let probed: Vec<String> = (0..look.having.len()).map(|index| format!("p{index}")).collect();
    let by_index = if probed.is_empty() { String::new() } else { dialect.joined_by_index(&probed.join(", ")) };
    let mut met = Fragment::new(format!("SELECT{by_index} t.publish_time, t.content_id FROM "), []).then(block);
    for (index, term) in look.having.iter().enumerate() {
        let probe = format!(
            " {then} search_terms p{index} ON p{index}.term = ? AND p{index}.publish_time = t.publish_time \
             AND p{index}.content_id = t.content_id"
        );
        met = met.add(&probe, [(*term).into()]);
    }
    let there = format!(" {then} contents d ON d.id = t.content_id WHERE d.removed_at IS NULL AND d.repost_of IS NULL");
    met = met.add(&there, []);
    met = match look.author {
        Some(author) => {
            met.add(" AND d.author_id = ?", [author.get()]).then(not_blocked(dialect, viewer, "d.author_id"))
        }
        None => met.then(not_excluded(dialect, viewer, "d.author_id")),
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let met = met.add(" ORDER BY t.publish_time DESC, t.content_id DESC LIMIT ?", [limit]).into_table("m");
    let end = newest(look.along, span).add(&format!(" LIMIT 1 OFFSET {}", SEARCH_BLOCK - 1), []).into_table("z");
    Fragment::new(format!("SELECT {CANDIDATE} AS side, m.publish_time, m.content_id, c.author_id, c.text FROM "), [])
        .then(met)
        .add(
            &format!(" {then} contents c ON c.id = m.content_id UNION ALL SELECT 1 AS side, z.*, NULL, NULL FROM "),
            [],
        )
        .then(end)
}
