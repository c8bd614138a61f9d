//! Build and extension: open or look, read in SQL, claim by compare-and-set on the revision.

use std::task::Poll;

use tidefeed::domain::{
    EdgeMode, Position,
    timeline::outside::{Basis, Claim, Fence, Header, Revision, floor_of_newest},
};

use super::{nodes::EVERYTHING, operations::Operation, rules::Rule, scripts::Script, world::World};

/// A build of a reader's inbox.
#[derive(Debug)]
pub struct Build {
    reader: usize,
    fence: Fence,
    opened: Option<Revision>,
    read: Option<(Vec<Position>, Basis)>,
    under_way: Option<Operation>,
}

impl Build {
    pub fn begin(world: &mut World) -> Option<Self> {
        let reader = world.rng.index(world.readers);
        let fence = world.primary.fence(reader)?;
        Some(Self { reader, fence, opened: None, read: None, under_way: None })
    }

    pub fn step(mut self, world: &mut World) -> Option<Self> {
        let reads_first = world.breaks(Rule::BuildReadsBeforeOpening);
        match (self.opened, self.read.take()) {
            (None, None) if reads_first => self.read(world),
            (None, read) => self.open(world, read),
            (Some(_), None) => self.read(world),
            (Some(revision), Some((rows, basis))) => {
                let floor = floor_of_newest(&rows, world.keep);
                let claimed = (rows.clone(), floor, basis);
                self.read = Some((rows, basis));
                claim(world, &mut self.under_way, (self.reader, self.fence, revision), claimed).then_some(self)
            }
        }
    }

    /// An inbox that claims nothing, over whatever is there.
    fn open(mut self, world: &mut World, read: Option<(Vec<Position>, Basis)>) -> Option<Self> {
        self.read = read;
        let fence = self.fence;
        let open = |world: &mut World| Script::Open { fence, nonce: world.nonce() };
        if let Poll::Ready(answer) = world.send(&mut self.under_way, self.reader, open) {
            self.opened = answer.ok()?;
        }
        Some(self)
    }

    /// A transaction: the newest contents of all edges, whatever their mode, and the basis of the claim.
    fn read(mut self, world: &mut World) -> Option<Self> {
        if world.primary.fence(self.reader).map(|fence| fence.generation) != Some(self.fence.generation) {
            return None;
        }
        let rows = newest(world, self.reader, Position::NEWEST);
        let basis = Basis(world.draw());
        world.primary.readers[self.reader].basis = basis;
        self.read = Some((rows, basis));
        Some(self)
    }
}

/// An extension of a reader's inbox below its floor. There is none in Cassandra.
#[derive(Debug)]
pub struct Extend {
    reader: usize,
    header: Header,
    read: Option<(Vec<Position>, Basis)>,
}

impl Extend {
    /// A script: what the inbox claims.
    pub fn begin(world: &mut World) -> Option<Self> {
        if world.cassandra.is_some() {
            return None;
        }
        let (reader, node) = (world.rng.index(world.readers), world.route());
        let header = world.nodes.slice(node, reader, &EVERYTHING)?.header;
        Some(Self { reader, header, read: None })
    }

    pub fn step(mut self, world: &mut World) -> Option<Self> {
        if let Some((rows, basis)) = self.read.take() {
            let floor = floor_of_newest(&rows, world.keep).min(self.header.floor);
            let Header { fence, revision, .. } = self.header;
            claim(world, &mut None, (self.reader, fence, revision), (rows, floor, basis));
            return None;
        }
        // A transaction, as in a build. What is claimed already stays claimed, so that its basis must still be there.
        let known = world.primary.readers[self.reader].basis;
        let holds = self.header.basis == Some(known) || world.breaks(Rule::ExtendOfAnyBasis);
        if !holds || world.primary.fence(self.reader) != Some(self.header.fence) {
            return None;
        }
        let rows = newest(world, self.reader, self.header.floor);
        let basis = Basis(world.draw());
        world.primary.readers[self.reader].basis = basis;
        self.read = Some((rows, basis));
        Some(self)
    }
}

fn newest(world: &World, reader: usize, below: Position) -> Vec<Position> {
    let wanted = |author| match world.primary.edges.get(&(reader, author)).map(|edge| edge.mode) {
        None => false,
        Some(EdgeMode::Push) => true,
        Some(EdgeMode::Fill) => !world.breaks(Rule::BuildOfPushedOnly),
        Some(EdgeMode::Pull) => !world.breaks(Rule::BuildOfPushedOnly) && !world.breaks(Rule::BuildWithoutPulled),
    };
    world.primary.newest(wanted, below, world.keep)
}

/// Adds the rows and claims them, if nothing was claimed or given up since. Whether there is more to do.
fn claim(
    world: &mut World,
    under_way: &mut Option<Operation>,
    (reader, fence, expected): (usize, Fence, Revision),
    (rows, floor, basis): (Vec<Position>, Position, Basis),
) -> bool {
    let node = fence.token.node;
    let claim = |world: &mut World| {
        let claim = Claim { rows, floor, basis, nonce: world.nonce() };
        Script::Claim { node, expected, claim }
    };
    // Whatever the answer: if it was in vain, the inbox is built anew some time.
    world.send(under_way, reader, claim).is_pending()
}
