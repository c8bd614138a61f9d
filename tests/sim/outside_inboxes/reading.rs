//! A read: slice, statement, slice. A page that is believed must be the oracle's at the statement's instant.

use std::task::Poll;

use tidefeed::domain::{
    Direction, Entry, PageRequest, PageSize, Position,
    timeline::{
        authors::{Outboxes, Sources, TimelineAuthors},
        candidates::{CandidateLimits, Candidates},
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
            None => {
                let page = world.primary.page(self.reader, &self.window, &before.rows, &self.authors);
                self.snapshot = Some(Box::new(page));
            }
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

    /// The page by the authors of the statement's instant, and by the remembered ones.
    fn compare(&self, world: &mut World, snapshot: &Snapshot, slice: &Slice) {
        let mut found = snapshot.candidates.clone();
        if let Some(page) = self.page(&snapshot.authors, &found, slice) {
            world.tally.believed += 1;
            self.check(world, snapshot, &page);
        }
        if world.breaks(Rule::AuthorsOfAnyVersion) {
            found.version = Some(self.authors.version());
        }
        if found.version != Some(self.authors.version()) {
            world.remembered[self.reader] = None;
        }
        if let Some(page) = self.page(&self.authors, &found, slice) {
            world.tally.by_authors += 1;
            self.check(world, snapshot, &page);
        }
    }

    fn page(&self, authors: &TimelineAuthors, found: &Candidates, slice: &Slice) -> Option<Vec<Entry>> {
        let Window { direction, bound, limit } = self.window;
        let request = PageRequest { direction, bound, ..PageRequest::newest(PageSize::default()) };
        let limits = CandidateLimits { ahead: usize::MAX, behind: usize::MAX };
        let slices = [(&self.window, slice), (&self.window, slice)];
        // The statement names whom these authors have as uncovered, and nobody else.
        let mut found = found.clone();
        found.pulled_ahead.retain(|it| authors.uncovered().contains(&it.entry.author));
        let sources = Sources {
            limits,
            has_original_authors: true,
            outboxes: Outboxes::Read(authors.uncovered()),
            slices: Some(&slices),
        };
        let page = merge(direction, &authors.snapshot(&request, &found, &sources).ok()?.ahead, limit);
        page.complete.then_some(page.entries)
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
