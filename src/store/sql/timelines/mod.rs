//! Timelines in SQL: one statement reads every row that a page can need, and [`Run`] decides what the rows cover.
//! [`statement`] has the text; this module only decodes its rows.

mod candidates;
mod card_facts;
mod extension;
mod outside;
mod pulled;
pub(super) mod shape;
mod shown;
mod side;
mod slots;
mod statement;
mod stretch;

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use sql_driver::Value;

pub(super) use self::outside::{
    candidates as outside_known_page, candidates_with as outside_candidates, page_with as outside_page,
    shown_of as outside_shown,
};
use self::{
    shape::{Filled as _, Shape, Text, listed},
    shown::{Timeline, content_shown, repost_shown_to, shown_to},
    side::{PageShape, Side, SideShape},
    slots::{End, Filling},
    statement::{BELOW, EDGE, FOLLOWED, IN_FLIGHT, INBOX, STATE, UNCOVERED},
};
use super::{
    SqlStore,
    dialect::Dialect,
    fragment::Fragment,
    keyset::Columns,
    rows::{DomainColumns as _, MAX_LIST, Row, id_list, of_kinds},
};
use crate::{
    domain::{
        ContentId, Direction, Entry, Floor, PageRequest, Position, Run, UserId,
        timeline::{
            authors::{ReaderSnapshot, TimelineAuthors},
            candidates::{CandidateLimits, Candidates, CardFacts, Wanted},
            plan::{Snapshot, UncoveredAuthor},
            stretch::{Stretch, StretchSnapshot},
        },
    },
    store::{StoreError, Timelines, timelines::Depth},
};

#[async_trait]
impl Timelines for SqlStore {
    async fn read(&self, reader: UserId, request: &PageRequest, depth: Depth) -> Result<Snapshot, StoreError> {
        let (sql, values) = self.kept(Shape::Page(PageShape::of(request), depth), &Filling::of(reader, request));
        let answer = Answer::of(&self.read_text(sql, values).await?)?;
        let Answer { floor, excludes, .. } = answer;
        let ahead = answer.runs(Side::ahead(request), depth);
        let behind = Side::behind(request).map(|side| answer.runs(side, depth)).unwrap_or_default();
        Ok(Snapshot { floor, excludes, uncovered: answer.uncovered, ahead, behind })
    }

    async fn stretch(
        &self,
        reader: UserId,
        request: &PageRequest,
        stretch: Stretch,
        authors: &TimelineAuthors,
    ) -> Result<Option<StretchSnapshot>, StoreError> {
        if !(1..=self.dialect.max_ranges()).contains(&authors.followed().len()) {
            return Ok(None);
        }
        let (shape, filling) = of_stretch(reader, request, stretch, authors);
        let (sql, values) = self.kept(shape, &filling);
        stretch::snapshot(&self.read_few_text(sql, values).await?, request, stretch, authors)
    }

    fn max_stretch_authors(&self) -> usize {
        self.dialect.max_ranges()
    }

    async fn reader(&self, reader: UserId) -> Result<Option<ReaderSnapshot>, StoreError> {
        let statement = self::reader(self.dialect, reader);
        candidates::reader(&self.read(&statement.text, statement.values).await?)
    }

    async fn page_candidates(
        &self,
        reader: UserId,
        request: &PageRequest,
        limits: CandidateLimits,
        wanted: Wanted,
    ) -> Result<Candidates, StoreError> {
        let (shape, filling) = of_candidates(reader, request, limits, wanted);
        let (sql, values) = self.kept(shape, &filling);
        candidates::candidates(&self.read_few_text(sql, values).await?, wanted)
    }

    async fn card_facts(
        &self,
        reader: UserId,
        contents: &[ContentId],
    ) -> Result<HashMap<ContentId, CardFacts>, StoreError> {
        if contents.is_empty() {
            return Ok(HashMap::new());
        }
        let (shape, filling) = of_card_facts(reader, contents);
        let (sql, values) = self.kept(shape, &filling);
        card_facts::decode(&self.read_few_text(sql, values).await?)
    }

    async fn visible(&self, reader: UserId, contents: &[ContentId]) -> Result<Vec<Entry>, StoreError> {
        if contents.is_empty() {
            return Ok(Vec::new());
        }
        let (list, ids) = id_list(contents);
        let sql = format!(
            "SELECT c.publish_time, c.id, c.author_id FROM contents c \
             JOIN follows f{} ON f.follower_id = ? AND f.author_id = c.author_id \
             WHERE c.id IN {list} AND c.removed_at IS NULL{}",
            self.dialect.force_index("PRIMARY"),
            content_shown(self.dialect, "c"),
        );
        let reader = Value::from(reader.get());
        let values = std::iter::once(reader.clone()).chain(ids).chain([reader.clone(), reader]);
        self.read(&sql, values).await?.iter().map(|row| row.entry(0)).collect()
    }

    async fn visible_to(&self, content: ContentId, readers: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        let mut seeing = Vec::with_capacity(readers.len());
        for readers in readers.chunks(MAX_LIST) {
            let (list, ids) = id_list(readers);
            let sql = format!(
                "SELECT f.follower_id FROM contents c \
                 JOIN follows f{} ON f.follower_id IN {list} AND f.author_id = c.author_id \
                 WHERE c.id = ? AND c.removed_at IS NULL{}{}",
                self.dialect.force_index("PRIMARY"),
                shown_to(self.dialect, "f.follower_id", "f.author_id"),
                repost_shown_to(self.dialect, "f.follower_id", "c"),
            );
            let values = ids.into_iter().chain([Value::from(content.get())]);
            for row in self.read(&sql, values).await? {
                seeing.push(row.user(0)?);
            }
        }
        Ok(seeing)
    }

    async fn oracle(&self, reader: UserId, request: &PageRequest) -> Result<Vec<Entry>, StoreError> {
        let columns = Columns { time: "c.publish_time", id: "c.id" };
        let (window, bound) = columns.beyond(request.direction, request.bound);
        let sql = format!(
            "SELECT c.publish_time, c.id, c.author_id FROM contents c \
             JOIN follows f ON f.follower_id = ? AND f.author_id = c.author_id \
             WHERE c.removed_at IS NULL{window}{}{}{} LIMIT ?",
            of_kinds(request.kinds, "c.kind"),
            content_shown(self.dialect, "c"),
            columns.order(request.direction),
        );
        let reader = Value::from(reader.get());
        let mut values = vec![reader.clone()];
        values.extend(bound);
        values.extend([reader.clone(), reader]);
        values.push(i64::try_from(request.need()).unwrap_or(i64::MAX).into());
        self.read(&sql, values).await?.iter().map(|row| row.entry(0)).collect()
    }
}

impl SqlStore {
    /// The text of this shape, and the values of one run.
    fn kept(&self, shape: Shape, filling: &Filling) -> (Arc<str>, Vec<Value>) {
        let Text { sql, slots } = self.page_texts.of(self.dialect, shape);
        (sql, filling.values(&slots))
    }
}

/// What bounds the window of an extension: rows of each author whom the inbox covers, and the publish time of the
/// author's `nth` newest content below `floor`, counted from 1, which is null if there is none.
pub(super) fn nth_of_covered(dialect: Dialect, reader: UserId, floor: Position, nth: usize) -> Fragment {
    Timeline { dialect }.nth_of_covered().filled(&Filling::from(reader, floor).limited(End::Ahead, nth))
}

/// A window below a floor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Below {
    /// The floor, exclusive.
    pub(super) floor: Position,
    /// The publish time (ms) at which the window ends, inclusive; `None` for the oldest content.
    pub(super) end_ms: Option<i64>,
    /// Rows to read at most, in no order.
    pub(super) limit: usize,
}

/// The statement that reads the window of an extension: the contents of these authors, as `Row::entry` takes them.
pub(super) fn of_authors_below(dialect: Dialect, reader: UserId, authors: &[UserId], window: Below) -> Fragment {
    let Below { floor, end_ms, limit } = window;
    let end_ms = end_ms.unwrap_or(Position::OLDEST.publish_time());
    let filling = Filling::from(reader, floor).limited(End::Ahead, limit).listing(End::Ahead, authors).ending(end_ms);
    Timeline { dialect }.of_authors_below(authors.len()).filled(&filling)
}

/// The newest `limit` entries below `floor` of the authors whom the inbox covers, as `Row::entry` takes them, where no
/// window holds them.
pub(super) fn covered_below(dialect: Dialect, reader: UserId, floor: Position, limit: usize) -> Fragment {
    Timeline { dialect }.covered_below().filled(&Filling::from(reader, floor).limited(End::Ahead, limit))
}

/// The newest `limit` entries of everyone whom the reader follows, whatever the modes and exclusions, as `Row::entry`
/// takes them.
pub(super) fn newest_of_followed(dialect: Dialect, reader: UserId, limit: usize) -> Fragment {
    let filling = Filling::from(reader, Position::NEWEST).limited(End::Ahead, limit);
    Timeline { dialect }.newest_of_followed().filled(&filling)
}

/// The whole statement of a page, and the branch that reads its inbox.
pub(super) fn page(dialect: Dialect, reader: UserId, request: &PageRequest, depth: Depth) -> (Fragment, Fragment) {
    let (page, filling, timeline) = (PageShape::of(request), Filling::of(reader, request), Timeline { dialect });
    let inbox = timeline.inbox(SideShape::ahead(page).shown_to(timeline));
    (Shape::Page(page, depth).filled(dialect, &filling), inbox.filled(&filling))
}

/// The statement of [`Timelines::page_candidates`].
pub(super) fn candidates(
    dialect: Dialect,
    reader: UserId,
    request: &PageRequest,
    (limits, wanted): (CandidateLimits, Wanted),
) -> Fragment {
    let (shape, filling) = of_candidates(reader, request, limits, wanted);
    shape.filled(dialect, &filling)
}

fn of_candidates(reader: UserId, request: &PageRequest, limits: CandidateLimits, wanted: Wanted) -> (Shape, Filling) {
    let filling = Filling::of(reader, request).limited(End::Ahead, limits.ahead).limited(End::Behind, limits.behind);
    (Shape::Candidates(PageShape::of(request), wanted), filling)
}

/// The statement of [`Timelines::card_facts`].
pub(super) fn card_facts(dialect: Dialect, reader: UserId, contents: &[ContentId]) -> Fragment {
    let (shape, filling) = of_card_facts(reader, contents);
    shape.filled(dialect, &filling)
}

fn of_card_facts(reader: UserId, contents: &[ContentId]) -> (Shape, Filling) {
    let filling = Filling::from(reader, Position::NEWEST).listing(End::Ahead, contents);
    (Shape::CardFacts(listed(contents.len())), filling)
}

/// The statement of [`Timelines::stretch`].
pub(super) fn stretch(
    dialect: Dialect,
    reader: UserId,
    request: &PageRequest,
    (stretch, authors): (Stretch, &TimelineAuthors),
) -> Fragment {
    let (shape, filling) = of_stretch(reader, request, stretch, authors);
    shape.filled(dialect, &filling)
}

/// It reads one row beyond `most_rows`, which shows that the stretch holds too many.
fn of_stretch(reader: UserId, request: &PageRequest, stretch: Stretch, authors: &TimelineAuthors) -> (Shape, Filling) {
    let authors = authors.followed();
    let filling = Filling::of(reader, request)
        .limited(End::Ahead, stretch.most_rows.saturating_add(1))
        .listing(End::Ahead, authors)
        .ending(stretch.end_ms)
        .facts_ending(stretch.facts_end_ms.unwrap_or(stretch.end_ms));
    (Shape::Stretch(PageShape::of(request), stretch.facts_end_ms.is_some(), listed(authors.len())), filling)
}

/// The statement of [`Timelines::reader`].
pub(super) fn reader(dialect: Dialect, reader: UserId) -> Fragment {
    Timeline { dialect }.reader().filled(&Filling::from(reader, Position::NEWEST))
}

/// The decoded rows of the statement.
struct Answer {
    floor: Floor,
    excludes: bool,
    uncovered: Vec<UncoveredAuthor>,
    /// Entries with the tags of their sources.
    entries: Vec<(i64, Entry)>,
}

impl Answer {
    fn of(rows: &[Row]) -> Result<Self, StoreError> {
        let entries = Vec::with_capacity(rows.len());
        let mut answer = Self { floor: Floor::Off, excludes: false, uncovered: Vec::new(), entries };
        for row in rows {
            match row.get(0)? {
                STATE => {
                    answer.floor = row.floor(1)?;
                    answer.excludes = row.get::<i64>(3)? != 0;
                }
                EDGE => answer.uncovered.push(UncoveredAuthor { author: row.user(3)?, version: row.get(1)? }),
                tag => answer.entries.push((tag, row.entry(1)?)),
            }
        }
        Ok(answer)
    }

    fn runs(&self, side: Side, depth: Depth) -> Vec<Run> {
        let Side { direction, limit, .. } = side;
        let run = |source| Run::from_limited_query(direction, self.of_source(side, source), limit);
        match depth {
            Depth::Inbox => vec![run(IN_FLIGHT), self.trusted(side)],
            Depth::Everything => vec![run(IN_FLIGHT), self.covered(side), run(UNCOVERED)],
            Depth::Outboxes => vec![run(FOLLOWED)],
        }
    }

    fn trusted(&self, side: Side) -> Run {
        let rows = self.of_source(side, INBOX);
        Run::from_trusted_area(side.direction, side.bound, rows, side.limit, self.floor.trusted_from())
    }

    /// The covered authors' entries on both sides of the floor, in the window's order. The cases here match the
    /// conditions under which the statement reads below the floor.
    fn covered(&self, side: Side) -> Run {
        let Side { direction, limit, .. } = side;
        let below = self.of_source(side, BELOW);
        match direction {
            Direction::Older if self.of_source(side, INBOX).len() >= limit => self.trusted(side),
            Direction::Older => self.trusted(side).then(Run::from_limited_query(direction, below, limit)),
            Direction::Newer if side.bound.unwrap_or(Position::OLDEST) >= self.floor.trusted_from() => {
                self.trusted(side)
            }
            Direction::Newer if below.len() >= limit => Run::from_limited_query(direction, below, limit),
            Direction::Newer => {
                let above = Run::from_limited_query(direction, self.of_source(side, INBOX), limit);
                Run::from_limited_query(direction, below, limit).then(above)
            }
        }
    }

    fn of_source(&self, side: Side, source: i64) -> Vec<Entry> {
        self.entries.iter().filter(|(tag, _)| *tag == side.end.tag(source)).map(|(_, entry)| *entry).collect()
    }
}
