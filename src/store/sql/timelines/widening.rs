//! Reads the first contents of many authors on TiDB. It would ask its store for each author's first content; a stretch
//! of time of all their outboxes is one question. So the stretch [widens](Widening) until it holds enough, a statement
//! each time. For few authors, and on the other engines, one statement reads the first contents of each.

use sql_driver::{Answers, Dialect, Fragment, Row, Tx};

use super::{
    super::{SqlStore, rows::DomainColumns as _},
    bindings::{Bindings, End},
    definition,
};
use crate::{
    domain::{Direction, Entry, PageRequest, Position, UserId, timeline::widening::Widening},
    store::StoreError,
};

/// Authors of whom each is asked for: no more questions than a page costs otherwise.
const FEW_AUTHORS: i64 = 16;

/// A window below a floor.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Below {
    /// The floor, exclusive.
    pub(in super::super) floor: Position,
    /// The publish time (ms) at which the window ends, inclusive; `None` for no end.
    pub(in super::super) end_ms: Option<i64>,
    /// Rows to read at most, in no order.
    pub(in super::super) limit: usize,
}

impl Below {
    /// The values of a statement that reads the outboxes of many authors there.
    pub(super) fn bindings(self, reader: UserId) -> Bindings {
        Bindings::from(reader, self.floor).limited(End::Ahead, self.limit).reaching(End::Ahead, self.end_ms)
    }
}

/// How far each side of a page is read; `None` for the first contents of each author.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Widenings {
    ahead: Option<Widening>,
    behind: Option<Widening>,
}

impl Widenings {
    /// The first read of a page by its definition.
    pub(super) async fn first(store: &SqlStore, reader: UserId, request: &PageRequest) -> Result<Self, StoreError> {
        let (direction, none) = (request.direction, Self { ahead: None, behind: None });
        if store.dialect != Dialect::Tidb {
            return Ok(none);
        }
        let Fragment { text, values } = followed(reader);
        let Some(newest_ms) = newest_of_many(&store.read_anywhere(&text, values).await?)? else { return Ok(none) };
        let from = |direction, start_ms| Some(Widening::from(direction, start_ms));
        Ok(match (request.bound.map(Position::publish_time), direction) {
            (Some(start_ms), _) => {
                Self { ahead: from(direction, start_ms), behind: from(direction.reversed(), start_ms) }
            }
            (None, Direction::Older) => Self { ahead: from(direction, newest_ms), ..none },
            // Nothing says where the oldest content lies.
            (None, Direction::Newer) => none,
        })
    }

    /// With this reach in the values of the statement.
    pub(super) fn reach(self, bindings: Bindings) -> Bindings {
        let end_ms = |side: Option<Widening>| side.map(Widening::end_ms);
        bindings.reaching(End::Ahead, end_ms(self.ahead)).reaching(End::Behind, end_ms(self.behind))
    }

    /// The next read, after the rows of this one; `None` if they are enough.
    pub(super) fn after(self, rows: &[Row], request: &PageRequest) -> Result<Option<Self>, StoreError> {
        if self.ahead.is_none() && self.behind.is_none() {
            return Ok(None);
        }
        let [ahead, behind] = definition::found(rows)?;
        let wider = Self {
            ahead: self.ahead.and_then(|side| side.after(ahead, request.need())),
            behind: self.behind.and_then(|side| side.after(behind, 1)),
        };
        let is_enough = wider.ahead.is_none() && wider.behind.is_none();
        Ok((!is_enough).then(|| Self { ahead: wider.ahead.or(self.ahead), behind: wider.behind.or(self.behind) }))
    }
}

/// The newest `wanted` contents below each reader's position, newest first, of the authors whom `statement` reads.
pub(in super::super) async fn newest(
    tx: &Tx,
    positions: &[(UserId, Position)],
    wanted: usize,
    statement: fn(Dialect, UserId, Below) -> Fragment,
) -> Result<Vec<Vec<Entry>>, StoreError> {
    let mut reads = first_reads(tx, positions).await?;
    loop {
        let open: Vec<usize> = (0..reads.len()).filter(|place| !reads[*place].is_done).collect();
        if open.is_empty() {
            return Ok(reads.into_iter().map(|read| read.entries).collect());
        }
        let of = |place: &usize| {
            let WidenedRead { reader, floor, widening, .. } = &reads[*place];
            statement(
                tx.dialect(),
                *reader,
                Below { floor: *floor, end_ms: widening.map(Widening::end_ms), limit: wanted },
            )
        };
        let answers = tx.all(open.iter().map(of).collect::<Vec<_>>()).await?;
        for (answer, place) in open.into_iter().enumerate() {
            reads[place].take(answers.rows(answer), wanted)?;
        }
    }
}

/// What is read below one reader's position.
struct WidenedRead {
    reader: UserId,
    floor: Position,
    /// `None` for the first contents of each author.
    widening: Option<Widening>,
    entries: Vec<Entry>,
    is_done: bool,
}

impl WidenedRead {
    fn take(&mut self, rows: &[Row], wanted: usize) -> Result<(), StoreError> {
        self.entries = rows.iter().map(|row| row.entry(0)).collect::<Result<_, StoreError>>()?;
        let wider = self.widening.and_then(|read| read.after(self.entries.len(), wanted));
        self.is_done = wider.is_none();
        self.widening = wider;
        Ok(())
    }
}

/// Where the reads begin. A position above all contents says nothing about where the newest one lies.
async fn first_reads(tx: &Tx, positions: &[(UserId, Position)]) -> Result<Vec<WidenedRead>, StoreError> {
    let answers = if tx.dialect() == Dialect::Tidb && !positions.is_empty() {
        tx.all(positions.iter().map(|(reader, _)| followed(*reader)).collect::<Vec<_>>()).await?
    } else {
        Answers::default()
    };
    let mut reads = Vec::with_capacity(positions.len());
    for (place, (reader, floor)) in positions.iter().copied().enumerate() {
        let newest_ms = newest_of_many(answers.rows(place))?;
        let start_ms = newest_ms.map(|newest_ms| floor.publish_time().min(newest_ms));
        let widening = start_ms.map(|start_ms| Widening::from(Direction::Older, start_ms));
        reads.push(WidenedRead { reader, floor, widening, entries: Vec::new(), is_done: false });
    }
    Ok(reads)
}

/// How many authors the reader follows, and when one of them has published last, as far as is known: where to begin,
/// and no more.
fn followed(reader: UserId) -> Fragment {
    let text = "SELECT /*+ INL_JOIN(o) */ COUNT(*), MAX(o.published_at) FROM follows e \
                JOIN outbox_heads o ON o.author_id = e.author_id WHERE e.follower_id = ?";
    Fragment::new(text, [reader.get()])
}

/// The time, if the authors are many.
fn newest_of_many(rows: &[Row]) -> Result<Option<i64>, StoreError> {
    let Some(row) = rows.first() else { return Ok(None) };
    Ok(if row.get::<i64>(0)? > FEW_AUTHORS { row.get(1)? } else { None })
}
