//! Reads a page from a stretch of time: the contents of all followed authors, as one range of the outbox index for
//! each author. docs/protocol.md#stretch says why nothing else is needed.
//!
//! The authors are those that the node remembers, written into the statement: MySQL and MariaDB cannot bound an index
//! by a key of another table and a range after it, and would read whole outboxes. The statement also reads the version
//! of the authors, and rows of another version do not count.

use std::collections::HashMap;

use super::{
    super::{
        existing_accounts::author_remains,
        fragment::Fragment,
        keyset::Columns,
        rows::{DomainColumns as _, Row},
    },
    candidates::{FACTS, facts, no_facts},
    shown::Timeline,
    side::{PageShape, SideShape},
    slots::{End, Slot},
    statement::STATE,
};
use crate::{
    domain::{
        Direction, Entry, Floor, PageRequest, Run,
        timeline::{
            authors::TimelineAuthors,
            candidates::Wanted,
            plan::Snapshot,
            stretch::{Stretch, StretchSnapshot},
        },
    },
    store::StoreError,
};

/// Rows of the stretch.
const AHEAD: i64 = 1;
/// The first column of facts.
const OF_FACTS: usize = 5;
/// The entry at the bound.
const AT_BOUND: i64 = 2;

const CONTENT: Columns = Columns { time: "c.publish_time", id: "c.id" };

impl Timeline {
    /// Rows of a tag and four numbers: the reader's floor and versions, or an entry's as [`Row::entry`] takes them and
    /// a null. Facts follow, if they are wanted, with values in the first entries. There are at
    /// least one author and at most [`Dialect::max_ranges`](super::super::dialect::Dialect::max_ranges).
    pub(super) fn stretch(self, page: PageShape, with_facts: bool, authors: usize) -> Fragment<Slot> {
        let no_facts = no_facts(wanted(with_facts));
        let state = format!(
            "SELECT {STATE} AS tag, s.floor_time AS t, s.floor_content AS c, n.authors_version AS a, \
             n.reactions_version AS o{no_facts} FROM user_counts n LEFT JOIN inbox_states s ON s.user_id = n.user_id WHERE n.user_id = ? UNION ALL ",
        );
        let ahead = self.dialect.limited_branch(self.ahead(page, with_facts, authors));
        let mut whole = Fragment::with(state, [Slot::Reader]).then(ahead);
        if page.is_bounded {
            whole = whole.add(" UNION ALL ", []).then(self.entry_at_bound(page, &no_facts));
        }
        whole
    }

    fn ahead(self, page: PageShape, with_facts: bool, authors: usize) -> Fragment<Slot> {
        let side = SideShape::ahead(page).shown_to(self);
        let compare = match page.direction {
            Direction::Older => ">=",
            Direction::Newer => "<=",
        };
        let by_key = self.by_key();
        let (columns, joins) = if with_facts {
            let text = format!(
                " LEFT JOIN counters k{by_key} ON k.content_id = c.id AND c.publish_time {compare} ? \
                 LEFT JOIN users u{by_key} ON u.id = c.author_id AND c.publish_time {compare} ?"
            );
            (FACTS, Fragment::with(text, [Slot::FactsEndTime; 2]))
        } else {
            Default::default()
        };
        let text = format!(
            "SELECT {AHEAD} AS tag, c.publish_time, c.id, c.author_id, NULL{columns} FROM contents c{outbox}",
            outbox = self.dialect.in_order_of("outbox"),
        );
        Fragment::new(text, [])
            .then(joins)
            .add(" WHERE c.author_id IN ", [])
            .then(Slot::list(End::Ahead, authors))
            .add_with(&format!(" AND c.publish_time {compare} ? AND "), [Slot::EndTime])
            .then(side.of_contents("c"))
            .add(&author_remains("c.author_id"), [])
            .then(side.window(CONTENT))
            .add_with(" LIMIT ?", [side.limit])
    }

    /// The entry at the bound, if there is one. It is the nearest entry behind the page.
    fn entry_at_bound(self, page: PageShape, no_facts: &str) -> Fragment<Slot> {
        let side = SideShape::ahead(page).shown_to(self);
        let text = format!("SELECT {AT_BOUND} AS tag, c.publish_time, c.id, c.author_id, NULL{no_facts}");
        Fragment::new(text, []).then(self.at_bound(side))
    }
}

/// Decodes the rows of [`Timeline::stretch`]; `None` if the authors are of another version.
pub(super) fn snapshot(
    rows: &[Row],
    request: &PageRequest,
    stretch: Stretch,
    authors: &TimelineAuthors,
) -> Result<Option<StretchSnapshot>, StoreError> {
    let (mut floor, mut version, mut reactions_version) = (Floor::Off, None, 0);
    let mut all_facts = HashMap::new();
    let (mut ahead, mut at_bound): (Vec<Entry>, Vec<Entry>) = (Vec::with_capacity(rows.len()), Vec::new());
    for row in rows {
        match row.get(0)? {
            STATE => (floor, version, reactions_version) = (row.floor(1)?, Some(row.get::<i64>(3)?), row.get(4)?),
            AHEAD => {
                let entry = row.entry(1)?;
                if stretch.facts_end_ms.is_some() {
                    all_facts.extend(facts(row, OF_FACTS, false)?.map(|facts| (entry.content, facts)));
                }
                ahead.push(entry);
            }
            _ => at_bound.push(row.entry(1)?),
        }
    }
    if version != Some(authors.version()) {
        return Ok(None);
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
    let snapshot = Snapshot {
        floor,
        excludes: authors.excludes(),
        uncovered: Vec::new(),
        ahead: vec![ahead],
        behind: behind.into_iter().collect(),
    };
    Ok(Some(StretchSnapshot { snapshot, reactions_version, facts: all_facts }))
}

fn wanted(facts: bool) -> Wanted {
    Wanted { facts, reactions: false, ..Wanted::ENTRIES }
}
