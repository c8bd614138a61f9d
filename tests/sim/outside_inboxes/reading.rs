//! A read: slice, statement, slice. A page that is believed must be the oracle's at the statement's instant.

use tidefeed::domain::{
    Direction, Position, Run,
    timeline::{
        merge::merge,
        outside::{Belief, Expected, Slice, Window, believe},
    },
};

use super::{primary::Snapshot, rules::Rule, world::World};

/// A reader on the way to a page.
#[derive(Debug)]
pub struct Read {
    reader: usize,
    window: Window,
    before: Slice,
    snapshot: Option<Snapshot>,
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
        let node = world.route();
        let before = world.nodes.slice(node, reader, &window)?;
        Some(Self { reader, window, before, snapshot: None })
    }

    pub fn step(mut self, world: &mut World) -> Option<Self> {
        if let Some(snapshot) = self.snapshot.take() {
            self.judge(world, &snapshot);
            return None;
        }
        self.snapshot = Some(world.primary.page(self.reader, &self.window, &self.before.rows));
        Some(self)
    }

    /// The slice after the statement, and the page if it is believed.
    fn judge(&self, world: &mut World, snapshot: &Snapshot) {
        let node = world.route();
        let after = world.nodes.slice(node, self.reader, &self.window);
        let before = Some(&self.before);
        let belief = match world.broken {
            Some(Rule::AfterIsNotRead) => believe(before, before, snapshot.expected),
            Some(Rule::RowsAreNotCompared) => {
                let after = after.map(|slice| Slice { rows: self.before.rows.clone(), ..slice });
                believe(before, after.as_ref(), snapshot.expected)
            }
            _ => believe(before, after.as_ref(), self.expected(snapshot, world.broken)),
        };
        match belief {
            Belief::Believed => self.compare(world, snapshot),
            Belief::Changed => world.tally.changed += 1,
            Belief::Foreign => {}
        }
    }

    /// What the statement says, or what a broken rule takes for it.
    fn expected(&self, snapshot: &Snapshot, broken: Option<Rule>) -> Option<Expected> {
        let mut expected = snapshot.expected?;
        let header = &self.before.header;
        match broken {
            Some(Rule::AnyTokenIsBelieved) => expected.fence.token = header.fence.token,
            Some(Rule::AnyGenerationIsBelieved) => expected.fence.generation = header.fence.generation,
            Some(Rule::AnyBasisIsBelieved) => expected.basis = header.basis.unwrap_or(expected.basis),
            _ => {}
        }
        Some(expected)
    }

    fn compare(&self, world: &mut World, snapshot: &Snapshot) {
        let Window { direction, limit, .. } = self.window;
        let inbox = self.before.run(&self.window, snapshot.shown.clone());
        let pulled = Run::from_limited_query(direction, snapshot.pulled.clone(), usize::MAX);
        let merged = merge(direction, &[inbox, pulled], limit);
        if !merged.complete {
            return;
        }
        world.tally.believed += 1;
        if merged.entries != snapshot.oracle {
            world.wrong.get_or_insert_with(|| {
                format!("reader {} {:?}: {:?} is not {:?}", self.reader, self.window, merged.entries, snapshot.oracle)
            });
        }
    }
}
