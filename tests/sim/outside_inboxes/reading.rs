//! A read: slice, statement, slice. A page that is believed must be the oracle's at the statement's instant.

use std::task::Poll;

use tidefeed::domain::{
    Direction, Entry, Position, Run,
    timeline::{
        authors::TimelineAuthors,
        merge::merge,
        outside::{Belief, Expected, Header, Slice, Window, believe},
    },
};

use super::{primary::Snapshot, rules::Rule, world::World};

/// A reader on the way to a page.
#[derive(Debug)]
pub struct Read {
    reader: usize,
    window: Window,
    before: Option<Slice>,
    snapshot: Option<Box<Snapshot>>,
    looking: Option<Header>,
    authors: TimelineAuthors,
}

impl Read {
    /// The slice before the statement.
    pub fn begin(world: &mut World) -> Option<Self> {
        let reader = world.rng.index(world.readers);
        let direction = world.rng.pick(&[Direction::Older, Direction::Older, Direction::Newer]);
        let listed: Vec<Position> = world.primary.contents.keys().copied().collect();
        let bound = listed.get(world.rng.index(2 * listed.len() + 1)).copied();
        let window = Window { direction, bound, limit: 1 + world.rng.index(world.keep + 1) };
        world.tally.reads += 1;
        let authors = world.authors(reader);
        Self { reader, window, before: None, snapshot: None, looking: None, authors }.step(world)
    }

    pub fn step(mut self, world: &mut World) -> Option<Self> {
        let Some(before) = self.before.take() else {
            if let Poll::Ready(slice) = world.look(&mut self.looking, self.reader, &self.window) {
                self.before = Some(slice?);
            }
            return Some(self);
        };
        match self.snapshot.take() {
            None => self.snapshot = Some(Box::new(world.primary.page(self.reader, &self.window, &before.rows))),
            Some(snapshot) => match world.look(&mut self.looking, self.reader, &self.window) {
                Poll::Ready(after) => {
                    self.judge(world, &snapshot, &before, after);
                    return None;
                }
                Poll::Pending => self.snapshot = Some(snapshot),
            },
        }
        self.before = Some(before);
        Some(self)
    }

    /// The page, if it is believed.
    fn judge(&self, world: &mut World, snapshot: &Snapshot, slice: &Slice, after: Option<Slice>) {
        let before = Some(slice);
        let belief = match world.broken {
            Some(Rule::AfterIsNotRead) => believe(before, before, snapshot.expected),
            Some(Rule::RowsAreNotCompared) => {
                let after = after.map(|after| Slice { rows: slice.rows.clone(), ..after });
                believe(before, after.as_ref(), snapshot.expected)
            }
            _ => believe(before, after.as_ref(), expected(&slice.header, snapshot, world.broken)),
        };
        match belief {
            Belief::Believed => self.compare(world, snapshot, slice),
            Belief::Changed => world.tally.changed += 1,
            Belief::Foreign => {}
        }
    }

    /// Both statements of a page, by edges and by remembered authors.
    fn compare(&self, world: &mut World, snapshot: &Snapshot, slice: &Slice) {
        let Window { direction, limit, .. } = self.window;
        let inbox = slice.run(&self.window, snapshot.shown.clone());
        let pulled = Run::from_limited_query(direction, snapshot.pulled.clone(), usize::MAX);
        let by_edges = merge(direction, &[inbox, pulled], limit);
        if by_edges.complete {
            world.tally.believed += 1;
            self.check(world, snapshot, &by_edges.entries);
        }
        let mut found = snapshot.candidates.clone();
        if world.breaks(Rule::AuthorsOfAnyVersion) {
            found.version = Some(self.authors.version());
        }
        if found.version != Some(self.authors.version()) {
            world.remembered[self.reader] = None;
        }
        let Some(known) = self.authors.outside_snapshot(&found, (&self.window, slice), None) else { return };
        let by_authors = merge(direction, &known.ahead, limit);
        if by_authors.complete {
            world.tally.by_authors += 1;
            self.check(world, snapshot, &by_authors.entries);
        }
    }

    fn check(&self, world: &mut World, snapshot: &Snapshot, page: &[Entry]) {
        if page != snapshot.oracle {
            world.wrong.get_or_insert_with(|| {
                format!("reader {} {:?}: {page:?} is not {:?}", self.reader, self.window, snapshot.oracle)
            });
        }
    }
}

/// What the statement says, or what a broken rule takes for it.
fn expected(header: &Header, snapshot: &Snapshot, broken: Option<Rule>) -> Option<Expected> {
    let mut expected = snapshot.expected?;
    match broken {
        Some(Rule::AnyTokenIsBelieved) => expected.fence.token = header.fence.token,
        Some(Rule::AnyGenerationIsBelieved) => expected.fence.generation = header.fence.generation,
        Some(Rule::AnyBasisIsBelieved) => expected.basis = header.basis.unwrap_or(expected.basis),
        _ => {}
    }
    Some(expected)
}
