//! The page of a reader whose inbox lies outside SQL: the one statement of a page, with the ids that the outside store
//! gave in place of the inbox.

use super::{
    super::{SqlStore, dialect::Dialect, fragment::Fragment, inboxes::state::OUTSIDE, rows::Row},
    bindings::{Bindings, End},
    candidates::{INBOX, all_candidates, no_facts},
    shown::Timeline,
    side::{PageShape, Side},
};
use crate::{
    domain::{
        ContentId, Floor, PageRequest, UserId,
        timeline::{
            candidates::{Ask, Candidates, Wanted},
            outside::{Basis, Expected, Fence, Header, Slice},
        },
    },
    store::{
        StoreError,
        outside_states::{OutsideCandidates, SideRead},
    },
};

/// The tag of the fence's row, which exists if the reader is in the outside tier under the expected fence: the basis,
/// whether some author is uncovered, 0. No other row of a page has this tag.
const FENCE: i64 = 7;
/// The columns of a content that [`Timeline::facts`] takes.
const CONTENT: (&str, &str) = ("c.id", "c.author_id");

/// See [`crate::store::Timelines::candidates_with`].
pub(super) async fn candidates_with(
    store: &SqlStore,
    reader: UserId,
    request: &PageRequest,
    sides: (&SideRead, Option<&SideRead>),
    ask: &Ask<'_>,
) -> Result<OutsideCandidates, StoreError> {
    let statement = candidates(store.dialect, reader, request, sides, ask);
    let rows = store.read_anywhere(&statement.text, statement.values).await?;
    let (fences, rows): (Vec<Row>, Vec<Row>) = partition(rows)?;
    let Header { fence, floor, .. } = sides.0.slice.header;
    let found = Candidates { floor: Floor::At(floor), ..all_candidates(&rows, ask.wanted, request.direction)? };
    Ok(OutsideCandidates { expected: expected(&fences, fence)?, found })
}

/// The statement of [`candidates_with`].
pub(in super::super) fn candidates(
    dialect: Dialect,
    reader: UserId,
    request: &PageRequest,
    sides: (&SideRead, Option<&SideRead>),
    ask: &Ask<'_>,
) -> Fragment {
    let (ahead, behind) = sides;
    let mut bindings = Bindings::asking(reader, request, ask).fenced(ahead.slice.header.fence);
    for (end, read) in [(End::Ahead, Some(ahead)), (End::Behind, behind)] {
        if let Some(read) = read {
            bindings = bindings.listing(end.into(), &content_ids(&read.slice));
        }
    }
    Timeline { dialect, bindings: &bindings }.outside_candidates(PageShape::of(request), ask)
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

impl Timeline<'_> {
    /// The fence's row, and the candidates of both sides.
    pub(super) fn outside_candidates(self, page: PageShape, ask: &Ask<'_>) -> Fragment {
        let wanted = ask.wanted;
        let none = no_facts(wanted);
        let columns = format!("s.basis AS t, 0 AS c, 0 AS a, 0 AS o{none}");
        let mut inbox = vec![self.fenced(Fragment::new(columns, []))];
        let (columns, joins) = self.facts(CONTENT, wanted);
        let facts = (columns, self.counters(wanted).then(joins));
        inbox.extend(self.existing(Side::ahead(page, self.bindings), facts));
        let behind = Side::behind(page, self.bindings);
        inbox.extend(behind.and_then(|side| self.existing(side, (none, Fragment::default()))));
        self.with_inbox(page, inbox, ask)
    }

    /// The counters of a content `c`, if facts are wanted.
    fn counters(self, wanted: Wanted) -> Fragment {
        let join = format!(" LEFT JOIN counters k{} ON k.content_id = c.id", self.by_key());
        if wanted.facts { Fragment::new(join, []) } else { Fragment::default() }
    }

    /// The existing contents among those of the slice, of all authors; `None` for an empty slice.
    fn existing(self, side: Side<'_>, (columns, joins): (String, Fragment)) -> Option<Fragment> {
        let list = side.end.into();
        if self.bindings.is_empty(list) {
            return None;
        }
        let text = format!(
            "SELECT {tag} AS tag, c.publish_time, c.id, c.author_id, c.repost_author_id{columns} FROM contents c{by_key}",
            tag = side.end.tag(INBOX),
            by_key = self.by_key(),
        );
        let listed = Fragment::new(text, []).then(joins).add(" WHERE c.id IN ", []).then(self.bindings.list(list));
        Some(listed.add(" AND ", []).then(side.of_contents("c")))
    }

    /// The fence's row: these columns of the reader's state and bucket, if both have the fence.
    fn fenced(self, columns: Fragment) -> Fragment {
        let text = format!(
            " FROM inbox_states s JOIN inbox_buckets b ON b.bucket = ? WHERE s.user_id = ? AND s.tier = {OUTSIDE} \
             AND s.generation = ? AND s.basis IS NOT NULL AND b.epoch = ? AND b.node = ?"
        );
        Fragment::new(format!("SELECT {FENCE} AS tag, "), []).then(columns).add_with(&text, self.bindings.fence())
    }
}

fn content_ids(slice: &Slice) -> Vec<ContentId> {
    slice.rows.iter().filter_map(|row| ContentId::try_new(row.content_number()).ok()).collect()
}
