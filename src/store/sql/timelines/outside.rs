//! The page of a reader whose inbox lies outside SQL: the one statement of a page, with the ids that the outside store
//! gave in place of the inbox.

use super::{
    super::{SqlStore, dialect::Dialect, fragment::Fragment, inboxes::state::OUTSIDE, rows::Row},
    Answer,
    candidates::{all_candidates, no_facts},
    pulled::pulled,
    shape::{Filled as _, Shape, listed},
    shown::Timeline,
    side::{PageShape, Side, SideShape},
    slots::{End, Filling, Slot},
    statement::{IN_FLIGHT, INBOX, UNCOVERED},
};
use crate::{
    domain::{
        ContentId, EdgeMode, Floor, PageRequest, Run, UserId,
        timeline::{
            candidates::{Candidates, Wanted},
            outside::{Basis, Expected, Fence, Header, Slice},
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
    let (contents, filling) = filled(reader, request, (ahead, behind));
    let (sql, values) = store.kept(Shape::Outside(PageShape::of(request), contents), &filling);
    let rows = store.read_text(sql, values).await?;
    let (fences, rows): (Vec<Row>, Vec<Row>) = partition(rows)?;
    let expected = expected(&fences, ahead.slice.header.fence)?;
    let is_uncovered = fences.first().map(|row| row.get::<i64>(2)).transpose()? != Some(0);
    let answer = Answer::of(&rows)?;
    let ahead = answer.side_runs(Side::ahead(request), ahead);
    let behind = Side::behind(request).zip(behind).map(|(side, read)| answer.side_runs(side, read)).unwrap_or_default();
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
    let (contents, filling) = filled(reader, request, sides);
    let (sql, values) = store.kept(Shape::OutsideCandidates(PageShape::of(request), contents, wanted), &filling);
    let rows = store.read_text(sql, values).await?;
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
    sides: (&SideRead, Option<&SideRead>),
    wanted: Wanted,
) -> Fragment {
    let (contents, filling) = filled(reader, request, sides);
    Shape::OutsideCandidates(PageShape::of(request), contents, wanted).filled(dialect, &filling)
}

/// The numbers of listed contents on both sides, and the values of the statement. Each side reads as many rows from SQL
/// as its window requested from the inbox.
fn filled(
    reader: UserId,
    request: &PageRequest,
    (ahead, behind): (&SideRead, Option<&SideRead>),
) -> ([usize; 2], Filling) {
    let mut filling = Filling::of(reader, request).fenced(ahead.slice.header.fence);
    let mut contents = [0, 0];
    for (end, read) in [(End::Ahead, Some(ahead)), (End::Behind, behind)] {
        let Some(read) = read else { continue };
        let ids = content_ids(&read.slice);
        contents[end as usize] = listed(ids.len());
        filling = filling.limited(end, read.window.limit).listing(end, &ids);
    }
    (contents, filling)
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

impl Timeline {
    /// The fence's row, and the sources of both sides.
    pub(super) fn outside(self, page: PageShape, contents: [usize; 2]) -> Fragment<Slot> {
        let mut whole = fenced(self.basis_and_uncovered());
        for side in [Some(SideShape::ahead(page)), SideShape::behind(page)].into_iter().flatten() {
            let side = side.limited().shown_to(self);
            let uncovered = pulled(self.dialect, side, self.uncovered_authors(), "");
            let shown = self.shown_of(side, contents[side.end as usize]);
            let sources = [(IN_FLIGHT, Some(self.in_flight(side))), (UNCOVERED, Some(uncovered)), (INBOX, shown)];
            for (tag, branch) in sources {
                let Some(branch) = branch else { continue };
                let open = format!(" UNION ALL SELECT {} AS tag, x.* FROM ", side.end.tag(tag));
                whole = whole.add(&open, []).then(branch.into_table("x"));
            }
        }
        whole
    }

    /// The fence's row, and the candidates of both sides.
    pub(super) fn outside_candidates(self, page: PageShape, contents: [usize; 2], wanted: Wanted) -> Fragment<Slot> {
        let none = no_facts(wanted);
        let columns = format!("s.basis AS t, 0 AS c, 0 AS a, 0 AS o{none}");
        let mut inbox = vec![fenced(Fragment::new(columns, []))];
        let (columns, joins) = self.facts(CONTENT, wanted);
        let facts = (columns, self.counters(wanted).then(joins));
        inbox.extend(self.existing(SideShape::ahead(page), contents[0], facts));
        let behind = SideShape::behind(page);
        inbox.extend(behind.and_then(|side| self.existing(side, contents[1], (none, Fragment::default()))));
        self.with_inbox(page, inbox, wanted)
    }

    /// The columns of the fence's row.
    fn basis_and_uncovered(self) -> Fragment<Slot> {
        let text = format!(
            "s.basis AS t, COALESCE((SELECT 1 FROM follows e{uncovered} WHERE e.follower_id = ? AND e.mode IN ({pull}, {fill}) LIMIT 1), 0) AS c, \
             0 AS a",
            uncovered = self.dialect.force_index("uncovered"),
            pull = EdgeMode::Pull.code(),
            fill = EdgeMode::Fill.code(),
        );
        Fragment::with(text, [Slot::Reader])
    }

    /// The counters of a content `c`, if facts are wanted.
    fn counters(self, wanted: Wanted) -> Fragment<Slot> {
        let join = format!(" LEFT JOIN counters k{} ON k.content_id = c.id", self.by_key());
        if wanted.facts { Fragment::new(join, []) } else { Fragment::default() }
    }

    /// The existing contents among those of the slice, of all authors; `None` for an empty slice.
    fn existing(
        self,
        side: SideShape,
        contents: usize,
        (columns, joins): (String, Fragment<Slot>),
    ) -> Option<Fragment<Slot>> {
        if contents == 0 {
            return None;
        }
        let text = format!(
            "SELECT {tag} AS tag, c.publish_time, c.id, c.author_id, c.repost_author_id{columns} FROM contents c{by_key}",
            tag = side.end.tag(INBOX),
            by_key = self.by_key(),
        );
        let listed =
            Fragment::new(text, []).then(joins).add(" WHERE c.id IN ", []).then(Slot::list(side.end, contents));
        Some(listed.add(" AND ", []).then(side.of_contents("c")))
    }

    /// The contents of the slice that the timeline shows; `None` for an empty slice. Only SQL knows their authors.
    fn shown_of(self, side: SideShape, contents: usize) -> Option<Fragment<Slot>> {
        if contents == 0 {
            return None;
        }
        let text = format!(
            "SELECT c.publish_time, c.id, c.author_id FROM contents c \
             {then} follows f{by_key} ON f.follower_id = ? AND f.author_id = c.author_id WHERE c.id IN ",
            then = self.dialect.join_in_order(),
            by_key = self.by_key(),
        );
        let listed = Fragment::with(text, [Slot::Reader]).then(Slot::list(side.end, contents)).add(" AND ", []);
        Some(listed.then(side.of_contents("c")).then(self.shown("c.author_id")))
    }
}

/// The fence's row: these columns of the reader's state and bucket, if both have the fence.
fn fenced(columns: Fragment<Slot>) -> Fragment<Slot> {
    let text = format!(
        " FROM inbox_states s JOIN inbox_buckets b ON b.bucket = ? WHERE s.user_id = ? AND s.tier = {OUTSIDE} \
         AND s.generation = ? AND s.basis IS NOT NULL AND b.epoch = ? AND b.node = ?"
    );
    Fragment::new(format!("SELECT {FENCE} AS tag, "), [])
        .then(columns)
        .add_with(&text, [Slot::Bucket, Slot::Reader, Slot::Generation, Slot::Epoch, Slot::Node])
}

fn content_ids(slice: &Slice) -> Vec<ContentId> {
    slice.rows.iter().filter_map(|row| ContentId::try_new(row.content_number()).ok()).collect()
}

/// The branch of a page's statement that selects which of these contents the page shows.
pub(in super::super) fn shown_of(dialect: Dialect, reader: UserId, request: &PageRequest, slice: &Slice) -> Fragment {
    let timeline = Timeline { dialect };
    let ids = content_ids(slice);
    let shown = timeline.shown_of(SideShape::ahead(PageShape::of(request)).shown_to(timeline), listed(ids.len()));
    shown.unwrap_or_default().filled(&Filling::of(reader, request).listing(End::Ahead, &ids))
}

impl Answer {
    fn side_runs(&self, side: Side, read: &SideRead) -> Vec<Run> {
        let limited = |source| Run::from_limited_query(side.direction, self.of_source(side, source), read.window.limit);
        vec![limited(IN_FLIGHT), read.slice.run(&read.window, self.of_source(side, INBOX)), limited(UNCOVERED)]
    }
}
