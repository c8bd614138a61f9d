//! The page of a reader whose inbox lies outside SQL: the one statement of a page, with the ids that the outside store
//! gave in place of the inbox.

use sea_orm::Value;

use super::{
    super::{
        SqlStore,
        dialect::Dialect,
        fragment::Fragment,
        inboxes::state::OUTSIDE,
        rows::{Row, id_list},
    },
    Answer,
    candidates::{all_candidates, no_facts},
    pulled::pulled,
    shown::Timeline,
    side::Side,
    statement::{IN_FLIGHT, INBOX, UNCOVERED},
};
use crate::{
    domain::{
        ContentId, EdgeMode, Floor, PageRequest, Run, UserId,
        timeline::{
            candidates::{Candidates, Wanted},
            outside::{Basis, Bucket, Expected, Fence, Header, Slice},
        },
    },
    store::{
        StoreError,
        outside_states::{OutsideCandidates, OutsideSnapshot, SideRead},
    },
};

/// The tag of the fence's row, which exists if the reader is in the outside tier under the expected fence: the basis,
/// whether some author is uncovered, 0. No other row of a page has this tag.
const FENCE: i64 = 7;
/// The columns of a content that [`Timeline::facts`] takes.
const CONTENT: (&str, &str) = ("c.id", "c.author_id");

/// See [`crate::store::OutsidePages::page_with`].
pub(in super::super) async fn page_with(
    store: &SqlStore,
    reader: UserId,
    request: &PageRequest,
    (ahead, behind): (&SideRead, Option<&SideRead>),
) -> Result<OutsideSnapshot, StoreError> {
    let timeline = Timeline { dialect: store.dialect, reader };
    let fence = ahead.slice.header.fence;
    let sides = sides(request, ahead, behind);
    let statement = timeline.outside(fence, &sides);
    let rows = store.read(&statement.text, statement.values).await?;
    let (fences, rows): (Vec<Row>, Vec<Row>) = partition(rows)?;
    let expected = expected(&fences, fence)?;
    let is_uncovered = fences.first().map(|row| row.get::<i64>(2)).transpose()? != Some(0);
    let answer = Answer::of(&rows)?;
    let mut runs = sides.iter().map(|(side, read)| answer.side_runs(*side, read));
    let (ahead, behind) = (runs.next().unwrap_or_default(), runs.next().unwrap_or_default());
    Ok(OutsideSnapshot { expected, is_uncovered, ahead, behind })
}

/// See [`crate::store::OutsidePages::candidates_with`].
pub(in super::super) async fn candidates_with(
    store: &SqlStore,
    reader: UserId,
    request: &PageRequest,
    sides: (&SideRead, Option<&SideRead>),
    wanted: Wanted,
) -> Result<OutsideCandidates, StoreError> {
    let statement = candidates(store.dialect, reader, request, sides, wanted);
    let rows = store.read(&statement.text, statement.values).await?;
    let (fences, rows): (Vec<Row>, Vec<Row>) = partition(rows)?;
    let Header { fence, floor, .. } = sides.0.slice.header;
    let found = Candidates { floor: Floor::At(floor), ..all_candidates(&rows, wanted)? };
    Ok(OutsideCandidates { expected: expected(&fences, fence)?, found })
}

/// The statement of [`candidates_with`].
pub(in super::super) fn candidates(
    dialect: Dialect,
    reader: UserId,
    request: &PageRequest,
    (ahead, behind): (&SideRead, Option<&SideRead>),
    wanted: Wanted,
) -> Fragment {
    let timeline = Timeline { dialect, reader };
    let none = no_facts(wanted);
    let columns = format!("s.basis AS t, 0 AS c, 0 AS a, 0 AS o{none}");
    let mut inbox = vec![timeline.fenced(ahead.slice.header.fence, Fragment::new(columns, []))];
    let (columns, joins) = timeline.facts(CONTENT, wanted);
    inbox.extend(timeline.existing(
        Side::ahead(request),
        &ahead.slice,
        (columns, timeline.counters(wanted).then(joins)),
    ));
    let second = Side::behind(request).zip(behind);
    inbox.extend(second.and_then(|(side, read)| timeline.existing(side, &read.slice, (none, Fragment::default()))));
    timeline.with_inbox(request, inbox, wanted)
}

fn expected(fences: &[Row], fence: Fence) -> Result<Option<Expected>, StoreError> {
    let basis: Option<i64> = fences.first().map(|row| row.get(1)).transpose()?;
    Ok(basis.map(|basis| Expected { fence, basis: Basis(basis) }))
}

fn partition(rows: Vec<Row>) -> Result<(Vec<Row>, Vec<Row>), StoreError> {
    let (mut fences, mut others) = (Vec::new(), Vec::with_capacity(rows.len()));
    for row in rows {
        if row.get::<i64>(0)? == FENCE { fences.push(row) } else { others.push(row) }
    }
    Ok((fences, others))
}

/// Each side reads as many rows from SQL as its window requested from the inbox.
fn sides<'a>(request: &PageRequest, ahead: &'a SideRead, behind: Option<&'a SideRead>) -> Vec<(Side, &'a SideRead)> {
    let first = (Side { limit: ahead.window.limit, ..Side::ahead(request) }, ahead);
    let second = Side::behind(request).zip(behind);
    std::iter::once(first).chain(second.map(|(side, read)| (Side { limit: read.window.limit, ..side }, read))).collect()
}

impl Timeline {
    fn outside(self, fence: Fence, sides: &[(Side, &SideRead)]) -> Fragment {
        let mut whole = self.fenced(fence, self.basis_and_uncovered());
        for (side, read) in sides {
            let side = side.shown_to(self);
            let uncovered = pulled(self.dialect, side, self.uncovered_authors(), "");
            let shown = self.shown_of(side, &read.slice);
            let sources = [(IN_FLIGHT, Some(self.in_flight(side))), (UNCOVERED, Some(uncovered)), (INBOX, shown)];
            for (tag, branch) in sources {
                let Some(branch) = branch else { continue };
                let open = format!(" UNION ALL SELECT {} AS tag, x.* FROM ", side.tag + tag);
                whole = whole.add(&open, []).then(branch.into_table("x"));
            }
        }
        whole
    }

    /// The columns of the fence's row.
    fn basis_and_uncovered(self) -> Fragment {
        let text = format!(
            "s.basis AS t, COALESCE((SELECT 1 FROM follows e{uncovered} WHERE e.follower_id = ? AND e.mode IN ({pull}, {fill}) LIMIT 1), 0) AS c, \
             0 AS a",
            uncovered = self.dialect.force_index("uncovered"),
            pull = EdgeMode::Pull.code(),
            fill = EdgeMode::Fill.code(),
        );
        Fragment::new(text, [self.reader.get()])
    }

    fn fenced(self, Fence { token, generation }: Fence, columns: Fragment) -> Fragment {
        let text = format!(
            " FROM inbox_states s JOIN inbox_buckets b ON b.bucket = ? WHERE s.user_id = ? AND s.tier = {OUTSIDE} \
             AND s.generation = ? AND s.basis IS NOT NULL AND b.epoch = ? AND b.node = ?"
        );
        let bucket = i64::from(Bucket::of(self.reader).number());
        let mut fragment = Fragment::new(format!("SELECT {FENCE} AS tag, "), [])
            .then(columns)
            .add(&text, [bucket, self.reader.get(), generation.0, token.epoch]);
        fragment.values.push(Value::from(token.node.to_string()));
        fragment
    }

    /// The counters of a content `c`, if facts are wanted.
    fn counters(self, wanted: Wanted) -> Fragment {
        let join = format!(" LEFT JOIN counters k{} ON k.content_id = c.id", self.by_key());
        if wanted.facts { Fragment::new(join, []) } else { Fragment::default() }
    }

    /// The existing contents of the slice, of all authors.
    fn existing(self, side: Side, slice: &Slice, (columns, joins): (String, Fragment)) -> Option<Fragment> {
        let ids = content_ids(slice);
        if ids.is_empty() {
            return None;
        }
        let (list, ids) = id_list(&ids);
        let text = format!(
            "SELECT {tag} AS tag, c.publish_time, c.id, c.author_id, c.repost_author_id{columns} FROM contents c{by_key}",
            tag = side.tag + INBOX,
            by_key = self.by_key(),
        );
        let condition = Fragment { text: format!(" WHERE c.id IN {list} AND "), values: ids.into_iter().collect() };
        Some(Fragment::new(text, []).then(joins).then(condition).then(side.of_contents("c")))
    }

    /// The contents of the slice that the timeline shows. Only SQL knows their authors.
    fn shown_of(self, side: Side, slice: &Slice) -> Option<Fragment> {
        let ids = content_ids(slice);
        if ids.is_empty() {
            return None;
        }
        let (list, ids) = id_list(&ids);
        let text = format!(
            "SELECT c.publish_time, c.id, c.author_id FROM contents c \
             {then} follows f{by_key} ON f.follower_id = ? AND f.author_id = c.author_id WHERE c.id IN {list} AND ",
            then = self.dialect.join_in_order(),
            by_key = self.by_key(),
        );
        let values = std::iter::once(Value::from(self.reader.get())).chain(ids).collect();
        Some(Fragment { text, values }.then(side.of_contents("c")).then(self.shown("c.author_id")))
    }
}

fn content_ids(slice: &Slice) -> Vec<ContentId> {
    slice.rows.iter().filter_map(|row| ContentId::try_new(row.content_number()).ok()).collect()
}

/// The branch of a page's statement that selects which of these contents the page shows.
pub(in super::super) fn shown_of(dialect: Dialect, reader: UserId, request: &PageRequest, slice: &Slice) -> Fragment {
    let timeline = Timeline { dialect, reader };
    timeline.shown_of(Side::ahead(request).shown_to(timeline), slice).unwrap_or_default()
}

impl Answer {
    fn side_runs(&self, side: Side, read: &SideRead) -> Vec<Run> {
        let limited = |source| Run::from_limited_query(side.direction, self.of_source(side, source), side.limit);
        vec![limited(IN_FLIGHT), read.slice.run(&read.window, self.of_source(side, INBOX)), limited(UNCOVERED)]
    }
}
