//! Reads a page by the definition of a timeline: the contents of all followed authors, from their outboxes.
//! docs/protocol.md#stretch says why nothing else is needed.
//!
//! In a stretch, the outboxes are one range of their index for each author. The authors are those that the node
//! remembers, written into the statement: MySQL and MariaDB cannot bound an index by a key of another table and a range
//! after it, and would read whole outboxes. The statement also reads the version of the authors, and rows of another
//! version do not count. Whole, the statement looks up the authors and whom the reader excludes.

use super::{
    super::{
        existing_accounts::author_remains,
        fragment::Fragment,
        keyset::Columns,
        rows::{DomainColumns as _, Row},
    },
    bindings::List,
    candidates::{STATE, facts, facts_columns, no_facts},
    shown::Timeline,
    side::{PageShape, Side},
};
use crate::{
    domain::{
        ContentId, Entry, Floor, IdMap, PageRequest, Run,
        timeline::{
            authors::TimelineAuthors,
            candidates::{CardFacts, Wanted},
            merge::Snapshot,
            stretch::{OutboxesSnapshot, Stretch},
        },
    },
    store::StoreError,
};

/// Rows of the stretch.
const AHEAD: i64 = 1;
/// The first column of facts.
const OF_FACTS: usize = 5;
/// The nearest entry at the bound or behind it.
const BEHIND: i64 = 2;

const CONTENT: Columns = Columns { time: "c.publish_time", id: "c.id" };

impl Timeline<'_> {
    /// Rows of a tag and four numbers: the reader's floor and versions, or an entry's as [`Row::entry`] takes them and
    /// a null. Facts follow, if they are wanted, with values in entries ahead of the bound; in a stretch, only in
    /// the first of them. The statement of a stretch lists authors, at least one and at most
    /// [`Dialect::max_ranges`](super::super::dialect::Dialect::max_ranges).
    pub(super) fn definition(self, page: PageShape, with_facts: bool) -> Fragment {
        let wanted = wanted(with_facts);
        let is_whole = self.bindings.is_empty(List::Authors);
        let ahead = if is_whole { self.all_ahead(page, with_facts) } else { self.ahead_in_a_stretch(page, with_facts) };
        let mut branches = vec![self.dialect.limited_branch(ahead)];
        if let Some(side) = Side::behind(page, self.bindings) {
            branches.push(self.entry_at_bound(side, &no_facts(wanted)));
            if is_whole {
                branches.push(self.others_behind(side, &no_facts(wanted)));
            }
        }
        branches
            .into_iter()
            .fold(self.state_and_versions(wanted), |whole, branch| whole.add(" UNION ALL ", []).then(branch))
    }

    fn all_ahead(self, page: PageShape, with_facts: bool) -> Fragment {
        let by_key = self.by_key();
        let (columns, joins) = if with_facts {
            let joins = format!(
                " LEFT JOIN counters k{by_key} ON k.content_id = x.id LEFT JOIN users u{by_key} ON u.id = x.author_id"
            );
            (facts_columns(), joins)
        } else {
            Default::default()
        };
        let side = Side::ahead(page, self.bindings).shown_to(self);
        let authors = self.followed_authors().then(self.shown_of_many("e.author_id"));
        let text = format!(
            "SELECT{by_index} {AHEAD} AS tag, x.publish_time, x.id, x.author_id, NULL AS o{columns} FROM ",
            by_index = self.dialect.joined_by_index("k, u"),
        );
        Fragment::new(text, []).then(side.pulled(self.dialect, authors).into_table("x")).add(&joins, [])
    }

    /// The nearest entry behind the bound. The outboxes are read on that side only if the entry at the bound has left
    /// the timeline.
    fn others_behind(self, side: Side<'_>, no_facts: &str) -> Fragment {
        let side = side.shown_to(self);
        let at_bound = Fragment::new("SELECT c.publish_time, c.id, c.author_id", []).then(self.at_bound(side));
        let authors = self
            .followed_authors()
            .then(self.shown_of_many("e.author_id"))
            .add(" AND (SELECT b.id FROM ", [])
            .then(at_bound.into_table("b"))
            .add(") IS NULL", []);
        let text = format!("SELECT {BEHIND} AS tag, x.publish_time, x.id, x.author_id, NULL AS o{no_facts} FROM ");
        Fragment::new(text, []).then(side.pulled(self.dialect, authors).into_table("x"))
    }

    fn ahead_in_a_stretch(self, page: PageShape, with_facts: bool) -> Fragment {
        let side = Side::ahead(page, self.bindings).shown_to(self);
        let compare = side.up_to();
        let by_key = self.by_key();
        let (columns, joins) = if with_facts {
            let text = format!(
                " LEFT JOIN counters k{by_key} ON k.content_id = c.id AND c.publish_time {compare} ? \
                 LEFT JOIN users u{by_key} ON u.id = c.author_id AND c.publish_time {compare} ?"
            );
            (facts_columns(), Fragment::with(text, vec![self.bindings.facts_end_ms(); 2]))
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
            .then(self.bindings.list(List::Authors))
            .add(&format!(" AND c.publish_time {compare} ? AND "), [self.bindings.end_ms()])
            .then(side.of_contents("c"))
            .add(&author_remains(self.dialect, "c.author_id"), [])
            .then(side.window(CONTENT))
            .add(" LIMIT ?", [side.limit])
    }

    /// The entry at the bound, if there is one. It is the nearest entry behind the page.
    fn entry_at_bound(self, side: Side<'_>, no_facts: &str) -> Fragment {
        let text = format!("SELECT {BEHIND} AS tag, c.publish_time, c.id, c.author_id, NULL AS o{no_facts}");
        Fragment::new(text, []).then(self.at_bound(side.shown_to(self)))
    }

    /// `FROM` and `WHERE` of the entry at the bound, if there is one: the content `c`.
    fn at_bound(self, side: Side<'_>) -> Fragment {
        let text = format!(
            " FROM contents c{by_key} {then} follows f{by_key} ON f.follower_id = ? AND f.author_id = c.author_id \
             WHERE c.id = ? AND c.publish_time = ? AND ",
            by_key = self.by_key(),
            then = self.dialect.join_in_order(),
        );
        let [time, content] = self.bindings.bound();
        Fragment::with(text, [self.bindings.reader(), content, time])
            .then(side.of_contents("c"))
            .then(self.shown("f.author_id"))
    }
}

/// Decodes the rows of a stretch; `None` if the authors are of another version.
pub(super) fn in_a_stretch(
    rows: &[Row],
    request: &PageRequest,
    stretch: Stretch,
    authors: &TimelineAuthors,
) -> Result<Option<OutboxesSnapshot>, StoreError> {
    let read = DefinitionRows::of(rows, stretch.facts_end_ms.is_some())?;
    if read.version != Some(authors.version()) {
        return Ok(None);
    }
    let PageRequest { direction, bound, .. } = *request;
    let ahead = if read.ahead.len() > stretch.most_rows {
        Run::unknown(direction, bound)
    } else {
        Run::from_stretch(direction, read.ahead.clone(), stretch.end_ms)
    };
    let back = direction.reversed();
    let behind = match read.behind.as_slice() {
        [] => Run::unknown(back, bound),
        at_bound => Run::from_limited_query(back, at_bound.to_vec(), 1),
    };
    Ok(Some(read.snapshot(request, ahead, behind)))
}

/// How many entries the rows have ahead of the bound and behind it.
pub(super) fn found(rows: &[Row]) -> Result<[usize; 2], StoreError> {
    let mut found = [0; 2];
    for row in rows {
        match row.get(0)? {
            AHEAD => found[0] += 1,
            BEHIND => found[1] += 1,
            _ => {}
        }
    }
    Ok(found)
}

/// Decodes the rows of whole outboxes.
pub(super) fn whole(rows: &[Row], request: &PageRequest, with_facts: bool) -> Result<OutboxesSnapshot, StoreError> {
    let read = DefinitionRows::of(rows, with_facts)?;
    let direction = request.direction;
    let ahead = Run::from_limited_query(direction, read.ahead.clone(), request.need());
    let behind = Run::from_limited_query(direction.reversed(), read.behind.clone(), 1);
    Ok(read.snapshot(request, ahead, behind))
}

/// The decoded rows.
struct DefinitionRows {
    floor: Floor,
    version: Option<i64>,
    reactions_version: i64,
    facts: IdMap<ContentId, CardFacts>,
    ahead: Vec<Entry>,
    behind: Vec<Entry>,
}

impl DefinitionRows {
    fn of(rows: &[Row], with_facts: bool) -> Result<Self, StoreError> {
        let ahead = Vec::with_capacity(rows.len());
        let mut read = Self {
            floor: Floor::Off,
            version: None,
            reactions_version: 0,
            facts: IdMap::default(),
            ahead,
            behind: Vec::new(),
        };
        for row in rows {
            match row.get(0)? {
                STATE => {
                    read.floor = row.floor(1)?;
                    (read.version, read.reactions_version) = (Some(row.get(3)?), row.get(4)?);
                }
                AHEAD => {
                    let entry = row.entry(1)?;
                    if with_facts {
                        read.facts.extend(facts(row, OF_FACTS, false)?.map(|facts| (entry.content, facts)));
                    }
                    read.ahead.push(entry);
                }
                _ => read.behind.push(row.entry(1)?),
            }
        }
        Ok(read)
    }

    fn snapshot(self, request: &PageRequest, ahead: Run, behind: Run) -> OutboxesSnapshot {
        let behind = request.bound.map(|_| behind).into_iter().collect();
        let snapshot = Snapshot { floor: self.floor, ahead: vec![ahead], behind };
        OutboxesSnapshot { snapshot, reactions_version: self.reactions_version, facts: self.facts }
    }
}

fn wanted(facts: bool) -> Wanted {
    Wanted { facts, reactions: false, ..Wanted::ENTRIES }
}
