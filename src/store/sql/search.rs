//! Searches in SQL: a block of the rarest source is read as a range, newest first, and each of its contents is looked
//! up by key in the other terms.
//!
//! The block is cut before anything is joined, so that the other terms do not change what a statement costs.

use async_trait::async_trait;

use super::{
    SqlStore,
    dialect::Dialect,
    fragment::Fragment,
    keyset::Columns,
    visibility::{not_blocked, not_excluded},
};
use crate::{
    domain::{
        Direction, Entry, Position, UserId,
        limits::SEARCH_BLOCK,
        search::{Candidate, Candidates, Look, Source, Span},
    },
    store::{SearchTerms, StoreError, search_terms::Indexed},
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
        for row in self.read(&text, values).await? {
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
        for row in self.read(&text, values).await? {
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

    async fn index_next(&self) -> Result<Indexed, StoreError> {
        self.index_step().await
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

/// The statement of [`SearchTerms::candidates`]: candidates, and the block's last row if it is full.
pub(super) fn candidates(dialect: Dialect, viewer: Option<UserId>, look: &Look, span: Span, limit: usize) -> Fragment {
    let then = dialect.join_in_order();
    let block = newest(look.along, span).add(&format!(" LIMIT {SEARCH_BLOCK}"), []).into_table("t");
    let mut met = Fragment::new("SELECT t.publish_time, t.content_id FROM ", []).then(block);
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
        Some(author) => met.add(" AND d.author_id = ?", [author.get()]).then(not_blocked(viewer, "d.author_id")),
        None => met.then(not_excluded(viewer, "d.author_id")),
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
