//! What happens in a world beside the processes: people, operators, and faults of either store.

use tidefeed::domain::{
    EdgeMode, Position,
    timeline::outside::{BucketToken, Generation, NodeId},
};

use super::{
    delivering::Deliver,
    primary::{BUCKETS, Content, Delivery, Edge},
    rules::Rule,
    world::{Process, World},
};

/// Past states of SQL that are kept.
const PAST: usize = 6;
/// Publish times are drawn from so many, so that many contents come late.
const TIMES: i64 = 30;

impl World {
    pub fn publish(&mut self) {
        self.last_content += 1;
        let late = self.rng.below(2) == 0;
        let time = if late { self.rng.within(1, TIMES) } else { self.last_content };
        let (position, author) = (Position::bound(time, self.last_content), self.rng.index(self.authors));
        if self.breaks(Rule::DeliveredBeforeCommit) {
            let ahead = Deliver::ahead_of_commit(self, position, author);
            return self.begin(Some(Process::Deliver(ahead)));
        }
        self.primary.contents.insert(position, Content { author, removed: false });
        self.primary.deliveries.insert(position, Delivery { author, through: 0, attempt: 0 });
    }

    pub fn remove(&mut self) {
        let at = self.rng.index(self.primary.contents.len());
        if let Some((position, content)) = self.primary.contents.iter_mut().nth(at) {
            content.removed = true;
            self.primary.deliveries.remove(position);
        }
    }

    /// Follows, unfollows, promotes or demotes one edge.
    pub fn change_edge(&mut self) {
        let pair = (self.rng.index(self.readers), self.rng.index(self.authors));
        let incarnation = self.draw();
        let (leaves, pulls) = (self.rng.below(2) == 0, self.rng.below(4) == 0);
        let promotes = self.primary.edges.get(&pair).is_some_and(|edge| edge.mode == EdgeMode::Pull && !pulls);
        if !promotes {
            self.renew_authors(pair.0);
        }
        match self.primary.edges.get_mut(&pair) {
            None => {
                let mode = if pulls { EdgeMode::Pull } else { EdgeMode::Fill };
                self.primary.edges.insert(pair, Edge { mode, incarnation });
            }
            Some(edge) if edge.mode == EdgeMode::Pull && !pulls => {
                *edge = Edge { mode: EdgeMode::Fill, incarnation };
            }
            Some(_) if leaves => drop(self.primary.edges.remove(&pair)),
            Some(edge) => edge.mode = EdgeMode::Pull,
        }
    }

    pub fn mute(&mut self) {
        let pair = (self.rng.index(self.readers), self.rng.index(self.authors));
        self.renew_authors(pair.0);
        if !self.primary.muted.remove(&pair) {
            self.primary.muted.insert(pair);
        }
    }

    /// A reader enters or leaves the outside tier.
    pub fn change_tier(&mut self, enters: bool) {
        let reader = self.rng.index(self.readers);
        let generation = Generation(self.draw());
        let stays = self.breaks(Rule::GenerationStays);
        let state = &mut self.primary.readers[reader];
        if enters && !state.outside && !stays {
            state.generation = generation;
        }
        state.outside = enters;
    }

    pub fn give_up_bucket(&mut self) {
        let bucket = self.rng.index(BUCKETS);
        self.primary.tokens[bucket] = None;
    }

    /// A state that a fail-over may go back to: what was replicated by now.
    pub fn replicate_sql(&mut self) {
        if self.past.len() == PAST {
            self.past.remove(0);
        }
        self.past.push(self.primary.clone());
    }

    /// A fail-over of SQL: the last commits are lost. Whoever is between two steps goes on.
    pub fn lose_commits(&mut self) {
        let kept = 1 + self.rng.index(self.past.len());
        self.past.truncate(kept);
        self.primary = self.past[kept - 1].clone();
        self.tally.sql_losses += 1;
    }
}

/// An admission of a bucket: the node's identity, then a token with a new epoch, if there is none.
#[derive(Debug)]
pub struct Admit {
    bucket: usize,
    node: NodeId,
}

impl Admit {
    pub fn begin(world: &mut World) -> Option<Self> {
        if let Some(cassandra) = &world.cassandra {
            let node = cassandra.node;
            return Some(Self { bucket: world.rng.index(BUCKETS), node });
        }
        let (bucket, node) = (world.rng.index(BUCKETS), world.route());
        let node = &world.nodes.each[node];
        node.is_master.then_some(Self { bucket, node: node.id })
    }

    pub fn step(self, world: &mut World) -> Option<Self> {
        let epoch = match world.broken {
            Some(Rule::EpochStays) => 0,
            _ => world.draw(),
        };
        let token = &mut world.primary.tokens[self.bucket];
        if token.is_none() {
            *token = Some(BucketToken { node: self.node, epoch });
        }
        None
    }
}
