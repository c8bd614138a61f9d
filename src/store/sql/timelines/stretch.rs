//! Reads a page from a stretch of time: the contents of all followed authors, as one range of the outbox index for
//! each author. docs/protocol.md#stretch says why nothing else is needed.

use super::{
    super::{fragment::Fragment, keyset::Columns, rows::Row},
    shown::Timeline,
    side::Side,
    statement::STATE,
};
use crate::{
    domain::{
        Direction, Entry, Floor, PageRequest, Run,
        timeline::{plan::Snapshot, stretch::Stretch},
    },
    store::StoreError,
};

/// Rows of the stretch.
const AHEAD: i64 = 1;
/// The entry at the bound.
const AT_BOUND: i64 = 2;

const CONTENT: Columns = Columns { time: "c.publish_time", id: "c.id" };

impl Timeline {
    /// Rows of a tag and three numbers: the reader's state as in [`Timeline::statement`], or an entry's as
    /// [`Row::entry`] takes them. It reads one row beyond `most_rows`, which shows that the stretch holds too many.
    pub(super) fn stretch(self, request: &PageRequest, stretch: Stretch) -> Fragment {
        let mut whole =
            self.state().add(" UNION ALL ", []).then(self.dialect.limited_branch(self.ahead(request, stretch)));
        if request.bound.is_some() {
            whole = whole.add(" UNION ALL ", []).then(self.at_bound(request));
        }
        whole
    }

    fn ahead(self, request: &PageRequest, stretch: Stretch) -> Fragment {
        let side = Side::ahead(request).shown_to(self);
        let compare = match request.direction {
            Direction::Older => ">=",
            Direction::Newer => "<=",
        };
        let text = format!(
            "SELECT {AHEAD} AS tag, c.publish_time, c.id, c.author_id FROM follows f{by_key} \
             {then} contents c{outbox} ON c.author_id = f.author_id AND c.publish_time {compare} ? WHERE f.follower_id = ? AND ",
            by_key = self.by_key(),
            then = self.dialect.join_in_order(),
            outbox = self.dialect.in_order_of("outbox"),
        );
        let limit = i64::try_from(stretch.most_rows).unwrap_or(i64::MAX).saturating_add(1);
        Fragment::new(text, [stretch.end_ms, self.reader.get()])
            .then(side.of_contents("c"))
            .then(self.shown("f.author_id"))
            .then(side.window(CONTENT))
            .add(" LIMIT ?", [limit])
    }

    /// The entry at the bound, if there is one. It is the nearest entry behind the page.
    fn at_bound(self, request: &PageRequest) -> Fragment {
        let bound = request.bound.unwrap_or(request.direction.start());
        let side = Side::ahead(request).shown_to(self);
        let text = format!(
            "SELECT {AT_BOUND} AS tag, c.publish_time, c.id, c.author_id FROM contents c{by_key} \
             {then} follows f{by_key} ON f.follower_id = ? AND f.author_id = c.author_id \
             WHERE c.id = ? AND c.publish_time = ? AND ",
            by_key = self.by_key(),
            then = self.dialect.join_in_order(),
        );
        Fragment::new(text, [self.reader.get(), bound.content_number(), bound.publish_time()])
            .then(side.of_contents("c"))
            .then(self.shown("f.author_id"))
    }
}

/// Decodes the rows of [`Timeline::stretch`].
pub(super) fn snapshot(rows: &[Row], request: &PageRequest, stretch: Stretch) -> Result<Snapshot, StoreError> {
    let (mut floor, mut excludes) = (Floor::Off, false);
    let (mut ahead, mut at_bound): (Vec<Entry>, Vec<Entry>) = (Vec::with_capacity(rows.len()), Vec::new());
    for row in rows {
        match row.get(0)? {
            STATE => (floor, excludes) = (row.floor(1)?, row.get::<i64>(3)? != 0),
            AHEAD => ahead.push(row.entry(1)?),
            _ => at_bound.push(row.entry(1)?),
        }
    }
    let PageRequest { direction, bound, .. } = *request;
    let ahead = if ahead.len() > stretch.most_rows {
        Run::unknown(direction, bound)
    } else {
        Run::from_stretch(direction, ahead, stretch.end_ms)
    };
    let back = direction.reversed();
    let behind = bound.map(|_| {
        if at_bound.is_empty() { Run::unknown(back, bound) } else { Run::from_limited_query(back, at_bound, 1) }
    });
    Ok(Snapshot { floor, excludes, uncovered: Vec::new(), ahead: vec![ahead], behind: behind.into_iter().collect() })
}
