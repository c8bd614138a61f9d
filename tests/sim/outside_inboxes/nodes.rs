//! Two nodes of the outside store: one replicates the other, late; each may lose, restore or evict what it holds; an
//! old master goes on answering. Every method of [`Nodes`] that processes call is one script.

use std::collections::BTreeMap;

use tidefeed::domain::{
    Direction,
    timeline::outside::{Basis, Cleared, Header, NodeId, Nonce, OutsideInbox, Slice, Window},
};

use super::rules::Rule;
use crate::rng::SimRng;

type Inboxes = BTreeMap<usize, OutsideInbox>;

#[derive(Debug, Clone)]
pub struct Node {
    pub id: NodeId,
    pub is_master: bool,
    pub inboxes: Inboxes,
    pub dump: Inboxes,
    /// Role and identity at some earlier look; only a broken rule asks for them.
    pub remembered: (bool, NodeId),
}

#[derive(Debug, Clone)]
pub struct Nodes {
    pub each: [Node; 2],
    /// The one promoted last.
    pub leader: usize,
    pub broken: Option<Rule>,
}

/// The script refused: this is no master, or not the node that was meant.
#[derive(Debug)]
pub struct OtherNode;

pub fn draw_id(rng: &mut SimRng) -> NodeId {
    let mut bytes = [0; 20];
    bytes[..8].copy_from_slice(&rng.next().to_be_bytes());
    NodeId::of(bytes)
}

impl Nodes {
    pub fn new(rng: &mut SimRng, broken: Option<Rule>) -> Self {
        let id = draw_id(rng);
        let node = |is_master| Node {
            id,
            is_master,
            inboxes: Inboxes::new(),
            dump: Inboxes::new(),
            remembered: (is_master, id),
        };
        Self { each: [node(true), node(false)], leader: 0, broken }
    }

    /// The node that a client happens to reach: mostly one that calls itself master.
    pub fn route(&self, rng: &mut SimRng) -> usize {
        let any = rng.index(2);
        if self.each[any].is_master || rng.below(8) == 0 { any } else { 1 - any }
    }

    /// What lies on the node, if it is master and the one that the token names.
    pub fn enter(&mut self, node: usize, meant: NodeId) -> Result<&mut Inboxes, OtherNode> {
        if self.admits(node, meant) { Ok(&mut self.each[node].inboxes) } else { Err(OtherNode) }
    }

    /// Reads a slice, if the node is master and the one under which the inbox was opened.
    pub fn slice(&self, node: usize, reader: usize, window: &Window) -> Option<Slice> {
        let inbox = self.each[node].inboxes.get(&reader)?;
        self.admits(node, inbox.header.fence.token.node).then(|| inbox.slice(window))
    }

    fn admits(&self, node: usize, meant: NodeId) -> bool {
        let node = &self.each[node];
        let (is_master, id) = match self.broken {
            Some(Rule::IdentityIsRemembered) => node.remembered,
            _ => (node.is_master, node.id),
        };
        let role = is_master || self.broken == Some(Rule::ReplicaAnswers);
        role && (id == meant || self.broken == Some(Rule::AnyNodeAnswers))
    }

    pub fn replicate(&mut self) {
        let (from, to) = (self.leader, 1 - self.leader);
        if !self.each[to].is_master {
            self.each[to].inboxes = self.each[from].inboxes.clone();
            self.each[to].id = self.each[from].id;
        }
    }

    /// The replica becomes master with what it has; the old master does not notice.
    pub fn promote(&mut self, rng: &mut SimRng) {
        let replica = 1 - self.leader;
        if !self.each[replica].is_master {
            self.each[replica].is_master = true;
            self.each[replica].id = draw_id(rng);
            self.leader = replica;
        }
    }

    /// The old master notices, and becomes a replica of the new one.
    pub fn demote(&mut self) {
        self.each[1 - self.leader].is_master = false;
        self.replicate();
    }

    /// A restart from a dump, or with everything that was there.
    pub fn restart(&mut self, node: usize, from_dump: bool, rng: &mut SimRng) {
        let node = &mut self.each[node];
        if node.is_master {
            node.id = draw_id(rng);
            if from_dump {
                node.inboxes = node.dump.clone();
            }
        }
    }

    /// One key goes.
    pub fn evict(&mut self, node: usize, rng: &mut SimRng) {
        let inboxes = &mut self.each[node].inboxes;
        let readers: Vec<usize> = inboxes.keys().copied().collect();
        let Some(reader) = readers.get(rng.index(readers.len())) else { return };
        match self.broken {
            Some(Rule::HeaderInAKeyOfItsOwn) => {
                let inbox = inboxes.get_mut(reader).unwrap();
                let rows = inbox.slice(&EVERYTHING).rows;
                let Header { revision, basis, .. } = inbox.header;
                inbox.remove(revision, &Cleared { rows, basis: basis.unwrap_or(Basis(0)), nonce: Nonce(0) });
                inbox.header.revision = revision;
            }
            _ => drop(inboxes.remove(reader)),
        }
    }
}

/// All rows.
pub const EVERYTHING: Window = Window { direction: Direction::Older, bound: None, limit: usize::MAX };

/// A random number that no other is equal to.
pub fn draw(rng: &mut SimRng) -> i64 {
    i64::try_from(rng.next() >> 1).unwrap()
}
