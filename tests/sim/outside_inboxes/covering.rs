//! Covering an edge, and clearing rows of authors who are no longer followed.

use std::task::Poll;

use tidefeed::domain::{
    EdgeMode, Position,
    timeline::outside::{self, Basis, Cleared, Fence, Header, Slice, floor_of_newest},
};

use super::{
    nodes::EVERYTHING,
    operations::Operation,
    rules::Rule,
    scripts::{Answer, Script},
    world::World,
};

/// A covering of one edge.
#[derive(Debug)]
pub struct Cover {
    pair: (usize, usize),
    incarnation: i64,
    fence: Option<Fence>,
    rows: Vec<Position>,
    pushed: bool,
    under_way: Option<Operation>,
}

impl Cover {
    /// A transaction: the newest contents of the author, the reader's fence, and a new identity of the edge.
    pub fn begin(world: &mut World) -> Option<Self> {
        let filling = world.primary.edges.iter().filter(|(_, edge)| edge.mode == EdgeMode::Fill);
        let filling: Vec<(usize, usize)> = filling.map(|(pair, _)| *pair).collect();
        let pair = *filling.get(world.rng.index(filling.len()))?;
        let fresh = world.draw();
        let keeps = world.breaks(Rule::CoverKeepsIncarnation);
        let edge = world.primary.edges.get_mut(&pair)?;
        if !keeps {
            edge.incarnation = fresh;
        }
        let incarnation = edge.incarnation;
        let rows = world.primary.newest(|author| author == pair.1, Position::NEWEST, world.keep);
        let fence = world.primary.fence(pair.0);
        Some(Self { pair, incarnation, fence, rows, pushed: false, under_way: None })
    }

    pub fn step(mut self, world: &mut World) -> Option<Self> {
        let Some(fence) = self.fence.filter(|_| !self.pushed) else {
            self.trust(world);
            return None;
        };
        if let Poll::Ready(answer) = self.push(world, fence) {
            answer.ok()?;
            self.pushed = true;
        }
        Some(self)
    }

    /// An inbox that is not there, or of another fence, is built from SQL later, and this edge with it.
    fn push(&mut self, world: &mut World, fence: Fence) -> Poll<Answer> {
        let floor = match world.broken {
            Some(Rule::CutCoverKeepsFloor) => Position::OLDEST,
            _ => floor_of_newest(&self.rows, world.keep),
        };
        let rows = self.rows.clone();
        let cover = |world: &mut World| {
            let newest = outside::Cover { rows, floor, nonce: world.nonce() };
            Script::Cover { fence, newest }
        };
        world.send(&mut self.under_way, self.pair.0, cover)
    }

    /// A transaction: the edge is trusted, if it is the one whose contents were read.
    fn trust(&self, world: &mut World) {
        let any = world.breaks(Rule::CoverOfAnyIncarnation);
        if let Some(edge) = world.primary.edges.get_mut(&self.pair)
            && edge.mode == EdgeMode::Fill
            && (edge.incarnation == self.incarnation || any)
        {
            edge.mode = EdgeMode::Push;
            if !world.breaks(Rule::CoverKeepsVersion) {
                world.renew_authors(self.pair.0);
            }
        }
    }
}

/// A cleaning of one inbox.
#[derive(Debug)]
pub struct Clean {
    reader: usize,
    header: Header,
    rows: Vec<Position>,
    basis: Option<Basis>,
    under_way: Option<Operation>,
}

impl Clean {
    /// A script: every row. In Cassandra nothing is cleaned.
    pub fn begin(world: &mut World) -> Option<Self> {
        if world.cassandra.is_some() && !world.breaks(Rule::RowsAreRemoved) {
            return None;
        }
        let reader = world.rng.index(world.readers);
        let Slice { header, rows } = world.slice_at_once(reader, &EVERYTHING)?;
        Some(Self { reader, header, rows, basis: None, under_way: None })
    }

    pub fn step(mut self, world: &mut World) -> Option<Self> {
        let Some(basis) = self.basis else { return self.look(world) };
        let Header { fence, revision: expected, .. } = self.header;
        let rows = self.rows.clone();
        let remove = |world: &mut World| {
            let cleared = Cleared { rows, basis, nonce: world.nonce() };
            Script::Remove { node: fence.token.node, expected, cleared }
        };
        world.send(&mut self.under_way, self.reader, remove).is_pending().then_some(self)
    }

    /// A transaction: which rows are of authors who are not followed, and a new basis of the claim without them.
    fn look(mut self, world: &mut World) -> Option<Self> {
        let (keeps, fresh) = (world.breaks(Rule::CleanKeepsBasis), Basis(world.draw()));
        let primary = &mut world.primary;
        let known = primary.readers[self.reader].basis;
        if self.header.basis != Some(known) || primary.fence(self.reader) != Some(self.header.fence) {
            return None;
        }
        self.rows.retain(|row| {
            let author = primary.contents.get(row).map(|content| content.author);
            author.is_none_or(|author| !primary.edges.contains_key(&(self.reader, author)))
        });
        if self.rows.is_empty() {
            return None;
        }
        let basis = if keeps { known } else { fresh };
        primary.readers[self.reader].basis = basis;
        self.basis = Some(basis);
        Some(self)
    }
}
