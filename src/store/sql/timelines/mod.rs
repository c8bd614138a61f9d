//! Timelines in SQL. A page is read from [`candidates`] or by its [`definition`], each one statement.

mod bindings;
mod candidates;
mod definition;
mod extension;
mod outside;
mod shown;
mod side;
mod widening;

use async_trait::async_trait;
use sql_driver::Value;

use self::{
    bindings::{Bindings, End, List},
    candidates::InboxRows,
    shown::{Timeline, content_shown, repost_shown_to, shown_to},
    side::PageShape,
    widening::Widenings,
};
pub(super) use self::{
    outside::candidates as outside_page,
    widening::{Below, newest},
};
use super::{
    SqlStore,
    dialect::Dialect,
    fragment::Fragment,
    keyset::Columns,
    rows::{DomainColumns as _, MAX_LIST, id_list, of_kinds},
};
use crate::{
    domain::{
        ContentId, Entry, PageRequest, Position, UserId,
        timeline::{
            authors::{ReaderSnapshot, TimelineAuthors},
            candidates::{Ask, Candidates},
            stretch::{OutboxesSnapshot, Stretch},
        },
    },
    store::{
        StoreError, Timelines,
        outside_states::{OutsideCandidates, SideRead},
    },
};

#[async_trait]
impl Timelines for SqlStore {
    async fn definition(
        &self,
        reader: UserId,
        request: &PageRequest,
        with_facts: bool,
    ) -> Result<OutboxesSnapshot, StoreError> {
        let mut sides = Widenings::first(self, reader, request).await?;
        loop {
            let bindings = sides.reach(Bindings::of(reader, request));
            let statement =
                Timeline { dialect: self.dialect, bindings: &bindings }.definition(PageShape::of(request), with_facts);
            let rows = self.read_anywhere(&statement.text, statement.values).await?;
            match sides.after(&rows, request)? {
                Some(wider) => sides = wider,
                None => return definition::whole(&rows, request, with_facts),
            }
        }
    }

    async fn stretch(
        &self,
        reader: UserId,
        request: &PageRequest,
        stretch: Stretch,
        authors: &TimelineAuthors,
    ) -> Result<Option<OutboxesSnapshot>, StoreError> {
        if !(1..=self.dialect.max_ranges()).contains(&authors.followed().len()) {
            return Ok(None);
        }
        let statement = self::stretch(self.dialect, reader, request, (stretch, authors));
        definition::in_a_stretch(
            &self.read_few_anywhere(&statement.text, statement.values).await?,
            request,
            stretch,
            authors,
        )
    }

    fn max_stretch_authors(&self) -> usize {
        self.dialect.max_ranges()
    }

    async fn reader(&self, reader: UserId) -> Result<Option<ReaderSnapshot>, StoreError> {
        let statement = self::reader(self.dialect, reader);
        candidates::reader(&self.read_anywhere(&statement.text, statement.values).await?)
    }

    async fn candidates(&self, reader: UserId, request: &PageRequest, ask: &Ask<'_>) -> Result<Candidates, StoreError> {
        let inbox = cheapest_rows(self.dialect, request);
        let statement = self::candidates(self.dialect, reader, request, ask, inbox);
        let mut rows = self.read_few_anywhere(&statement.text, statement.values).await?;
        if inbox == InboxRows::Nearest && candidates::lacks_contents(&rows)? {
            let statement = self::candidates(self.dialect, reader, request, ask, InboxRows::Existing);
            rows = self.read_few_anywhere(&statement.text, statement.values).await?;
        }
        candidates::candidates(&rows, ask.wanted, request.direction)
    }

    async fn candidates_with(
        &self,
        reader: UserId,
        request: &PageRequest,
        sides: (&SideRead, Option<&SideRead>),
        ask: &Ask<'_>,
    ) -> Result<OutsideCandidates, StoreError> {
        outside::candidates_with(self, reader, request, sides, ask).await
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

/// What bounds the window of an extension: rows of each author whom the inbox covers, and the publish time of the
/// author's `nth` newest content below `floor`, counted from 1, which is null if there is none.
pub(super) fn nth_of_covered(dialect: Dialect, reader: UserId, floor: Position, nth: usize) -> Fragment {
    let bindings = Bindings::from(reader, floor).limited(End::Ahead, nth);
    Timeline { dialect, bindings: &bindings }.nth_of_covered()
}

/// The statement that reads the window of an extension: the contents of these authors, as `Row::entry` takes them.
pub(super) fn of_authors_below(dialect: Dialect, reader: UserId, authors: &[UserId], window: Below) -> Fragment {
    let Below { floor, end_ms, limit } = window;
    let end_ms = end_ms.unwrap_or(Position::OLDEST.publish_time());
    let bindings =
        Bindings::from(reader, floor).limited(End::Ahead, limit).listing(List::Authors, authors).ending(end_ms);
    Timeline { dialect, bindings: &bindings }.of_authors_below()
}

/// The newest entries below the floor of the authors whom the inbox covers, as `Row::entry` takes them; without an end,
/// the first ones of each author.
pub(super) fn covered_below(dialect: Dialect, reader: UserId, below: Below) -> Fragment {
    Timeline { dialect, bindings: &below.bindings(reader) }.covered_below()
}

/// The same of everyone whom the reader follows, whatever the modes and exclusions.
pub(super) fn followed_below(dialect: Dialect, reader: UserId, below: Below) -> Fragment {
    Timeline { dialect, bindings: &below.bindings(reader) }.followed_below()
}

/// The statement of [`Timelines::definition`], with the outboxes read to these times (ms) ahead of the bound and behind
/// it, or the first contents of each.
pub(super) fn definition(
    dialect: Dialect,
    reader: UserId,
    request: &PageRequest,
    [ahead, behind]: [Option<i64>; 2],
) -> Fragment {
    let bindings = Bindings::of(reader, request).reaching(End::Ahead, ahead).reaching(End::Behind, behind);
    Timeline { dialect, bindings: &bindings }.definition(PageShape::of(request), true)
}

/// The statement of [`Timelines::candidates`].
fn candidates(dialect: Dialect, reader: UserId, request: &PageRequest, ask: &Ask<'_>, inbox: InboxRows) -> Fragment {
    let bindings = Bindings::asking(reader, request, ask);
    Timeline { dialect, bindings: &bindings }.candidates(PageShape::of(request), ask, inbox)
}

/// The statement that [`Timelines::candidates`] begins with.
pub(super) fn first_candidates(dialect: Dialect, reader: UserId, request: &PageRequest, ask: &Ask<'_>) -> Fragment {
    candidates(dialect, reader, request, ask, cheapest_rows(dialect, request))
}

fn cheapest_rows(dialect: Dialect, request: &PageRequest) -> InboxRows {
    if dialect == Dialect::Tidb && request.kinds.is_all() { InboxRows::Nearest } else { InboxRows::Existing }
}

/// The statement of [`Timelines::stretch`]. It reads one row beyond `most_rows`, which shows that the stretch holds too
/// many.
pub(super) fn stretch(
    dialect: Dialect,
    reader: UserId,
    request: &PageRequest,
    (stretch, authors): (Stretch, &TimelineAuthors),
) -> Fragment {
    let bindings = Bindings::of(reader, request)
        .limited(End::Ahead, stretch.most_rows.saturating_add(1))
        .listing(List::Authors, authors.followed())
        .ending(stretch.end_ms)
        .facts_ending(stretch.facts_end_ms.unwrap_or(stretch.end_ms));
    Timeline { dialect, bindings: &bindings }.definition(PageShape::of(request), stretch.facts_end_ms.is_some())
}

/// The statement of [`Timelines::reader`].
pub(super) fn reader(dialect: Dialect, reader: UserId) -> Fragment {
    Timeline { dialect, bindings: &Bindings::from(reader, Position::NEWEST) }.reader()
}
