//! Timelines in SQL: one statement reads every row that a page can need, and [`Run`] decides what the rows cover.
//! [`statement`] has the text; this module only decodes its rows.

mod candidates;
mod card_facts;
mod extension;
mod outside;
mod pulled;
mod shown;
mod side;
mod statement;
mod stretch;

use std::collections::HashMap;

use async_trait::async_trait;
use sea_orm::Value;

pub(super) use self::extension::Below;
pub(super) use self::outside::{
    candidates as outside_known_page, candidates_with as outside_candidates, page_with as outside_page,
    shown_of as outside_shown,
};
use self::{
    shown::{Timeline, repost_shown_to, shown_to},
    side::Side,
    statement::{BELOW, EDGE, FOLLOWED, IN_FLIGHT, INBOX, STATE, UNCOVERED},
};
use super::{
    SqlStore,
    dialect::Dialect,
    fragment::Fragment,
    keyset::Columns,
    rows::{MAX_LIST, Row, id_list, of_kinds},
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
        let statement = Timeline { dialect: self.dialect, reader }.statement(request, depth);
        let answer = Answer::of(&self.read(&statement.text, statement.values).await?)?;
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
        let statement = Timeline { dialect: self.dialect, reader }.stretch(request, stretch, authors);
        stretch::snapshot(&self.read_few(&statement.text, statement.values).await?, request, stretch, authors)
    }

    fn max_stretch_authors(&self) -> usize {
        self.dialect.max_ranges()
    }

    async fn reader(&self, reader: UserId) -> Result<Option<ReaderSnapshot>, StoreError> {
        let statement = Timeline { dialect: self.dialect, reader }.reader();
        candidates::reader(&self.read(&statement.text, statement.values).await?)
    }

    async fn page_candidates(
        &self,
        reader: UserId,
        request: &PageRequest,
        limits: CandidateLimits,
        wanted: Wanted,
    ) -> Result<Candidates, StoreError> {
        let statement = Timeline { dialect: self.dialect, reader }.candidates(request, limits, wanted);
        candidates::candidates(&self.read_few(&statement.text, statement.values).await?, wanted)
    }

    async fn card_facts(
        &self,
        reader: UserId,
        contents: &[ContentId],
    ) -> Result<HashMap<ContentId, CardFacts>, StoreError> {
        if contents.is_empty() {
            return Ok(HashMap::new());
        }
        let statement = Timeline { dialect: self.dialect, reader }.card_facts(contents);
        card_facts::decode(&self.read_few(&statement.text, statement.values).await?)
    }

    async fn visible(&self, reader: UserId, contents: &[ContentId]) -> Result<Vec<Entry>, StoreError> {
        if contents.is_empty() {
            return Ok(Vec::new());
        }
        let (list, ids) = id_list(contents);
        let shown = Timeline { dialect: self.dialect, reader }.shown_content("c");
        let sql = format!(
            "SELECT c.publish_time, c.id, c.author_id FROM contents c \
             JOIN follows f{} ON f.follower_id = ? AND f.author_id = c.author_id \
             WHERE c.id IN {list} AND c.removed_at IS NULL{}",
            self.dialect.force_index("PRIMARY"),
            shown.text,
        );
        let values = std::iter::once(Value::from(reader.get())).chain(ids).chain(shown.values);
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
        let shown = Timeline { dialect: self.dialect, reader }.shown_content("c");
        let sql = format!(
            "SELECT c.publish_time, c.id, c.author_id FROM contents c \
             JOIN follows f ON f.follower_id = ? AND f.author_id = c.author_id \
             WHERE c.removed_at IS NULL{window}{}{}{} LIMIT ?",
            of_kinds(request.kinds, "c.kind"),
            shown.text,
            columns.order(request.direction),
        );
        let mut values = vec![Value::from(reader.get())];
        values.extend(bound);
        values.extend(shown.values);
        values.push(i64::try_from(request.need()).unwrap_or(i64::MAX).into());
        self.read(&sql, values).await?.iter().map(|row| row.entry(0)).collect()
    }
}

/// What bounds the window of an extension: rows of each author whom the inbox covers, and the publish time of the
/// author's `nth` newest content below `floor`, which is null if there is none.
pub(super) fn nth_of_covered(dialect: Dialect, reader: UserId, floor: Position, nth: usize) -> Fragment {
    Timeline { dialect, reader }.nth_of_covered(floor, nth)
}

/// The statement that reads the window of an extension: the contents of these authors, as `Row::entry` takes them.
pub(super) fn of_authors_below(dialect: Dialect, reader: UserId, authors: &[UserId], window: Below) -> Fragment {
    Timeline { dialect, reader }.of_authors_below(authors, window)
}

/// The newest `limit` entries below `floor` of the authors whom the inbox covers, as `Row::entry` takes them, where no
/// window holds them.
pub(super) fn covered_below(dialect: Dialect, reader: UserId, floor: Position, limit: usize) -> Fragment {
    Timeline { dialect, reader }.covered_below(floor, limit)
}

/// The newest `limit` entries of everyone whom the reader follows, whatever the modes and exclusions, as `Row::entry`
/// takes them.
pub(super) fn newest_of_followed(dialect: Dialect, reader: UserId, limit: usize) -> Fragment {
    Timeline { dialect, reader }.newest_of_followed(limit)
}

/// The whole statement of a page, and the branch that reads its inbox.
pub(super) fn page(dialect: Dialect, reader: UserId, request: &PageRequest, depth: Depth) -> (Fragment, Fragment) {
    let timeline = Timeline { dialect, reader };
    (timeline.statement(request, depth), timeline.inbox(Side::ahead(request).shown_to(timeline)))
}

/// The statement of [`Timelines::page_candidates`].
pub(super) fn candidates(
    dialect: Dialect,
    reader: UserId,
    request: &PageRequest,
    (limits, wanted): (CandidateLimits, Wanted),
) -> Fragment {
    Timeline { dialect, reader }.candidates(request, limits, wanted)
}

/// The statement of [`Timelines::card_facts`].
pub(super) fn card_facts(dialect: Dialect, reader: UserId, contents: &[ContentId]) -> Fragment {
    Timeline { dialect, reader }.card_facts(contents)
}

/// The statement of [`Timelines::stretch`].
pub(super) fn stretch(
    dialect: Dialect,
    reader: UserId,
    request: &PageRequest,
    (stretch, authors): (Stretch, &TimelineAuthors),
) -> Fragment {
    Timeline { dialect, reader }.stretch(request, stretch, authors)
}

/// The statement of [`Timelines::reader`].
pub(super) fn reader(dialect: Dialect, reader: UserId) -> Fragment {
    Timeline { dialect, reader }.reader()
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
        self.entries.iter().filter(|(tag, _)| *tag == side.tag + source).map(|(_, entry)| *entry).collect()
    }
}
