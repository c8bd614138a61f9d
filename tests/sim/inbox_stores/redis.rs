//! Two nodes of Redis with inboxes: one replicates the other, late; each may lose, restore or evict what it holds; an
//! old master goes on answering, and any script may run once more, late.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use tidefeed::{
    domain::{
        UserId,
        timeline::outside::{
            Basis, Bucket, BucketToken, Claim, Cleared, Cover, Delivered, Fence, Header, NodeId, Nonce, Revision,
            Slice, Window,
        },
    },
    store::{
        InboxStore, StoreError,
        inbox_store::{InboxStoreError, Push},
    },
};

use super::scripts::{EVERYTHING, Inboxes, Script};
use crate::{fault_injector::FaultInjector, rng::SimRng, rules::Rule};

/// Scripts that may still run once more.
const REMEMBERED: usize = 24;

#[derive(Debug, Clone)]
struct Node {
    id: NodeId,
    is_master: bool,
    inboxes: Inboxes,
    dump: Inboxes,
    /// Role and identity at some earlier look; only a broken rule asks for them.
    remembered: (bool, NodeId),
}

#[derive(Debug)]
struct Nodes {
    each: [Node; 2],
    /// The one promoted last.
    leader: usize,
    /// The last scripts, by reader.
    sent: VecDeque<(UserId, Script)>,
    /// What pages have read before their statements; only broken rules ask for it.
    looked: Vec<(u64, UserId, Window, Slice)>,
}

/// See the module.
pub struct SimRedis {
    injector: FaultInjector,
    broken: Option<Rule>,
    nodes: Mutex<Nodes>,
}

type Answer = Result<Option<(bool, Revision)>, InboxStoreError>;

pub fn draw_id(rng: &mut SimRng) -> NodeId {
    let mut bytes = [1; 20];
    bytes[..8].copy_from_slice(&rng.next().to_be_bytes());
    NodeId::of(bytes)
}

impl Nodes {
    /// The node that a client happens to reach: mostly one that calls itself master.
    fn route(&self, rng: &mut SimRng) -> usize {
        let any = rng.index(2);
        if self.each[any].is_master || rng.below(8) == 0 { any } else { 1 - any }
    }

    fn admits(&self, node: usize, meant: NodeId, broken: Option<Rule>) -> bool {
        let node = &self.each[node];
        let (is_master, id) = match broken {
            Some(Rule::IdentityIsRemembered) => node.remembered,
            _ => (node.is_master, node.id),
        };
        let role = is_master || broken == Some(Rule::ReplicaAnswers);
        role && (id == meant || broken == Some(Rule::AnyNodeAnswers))
    }

    fn replicate(&mut self) {
        let (from, to) = (self.leader, 1 - self.leader);
        if !self.each[to].is_master {
            self.each[to].inboxes = self.each[from].inboxes.clone();
            self.each[to].id = self.each[from].id;
        }
    }

    /// The replica becomes master with what it has; the old master does not notice.
    fn promote(&mut self, rng: &mut SimRng) {
        let replica = 1 - self.leader;
        if !self.each[replica].is_master {
            self.each[replica].is_master = true;
            self.each[replica].id = draw_id(rng);
            self.leader = replica;
        }
    }

    /// A restart from a dump, or with everything that was there.
    fn restart(&mut self, node: usize, from_dump: bool, rng: &mut SimRng) {
        let node = &mut self.each[node];
        if node.is_master {
            node.id = draw_id(rng);
            if from_dump {
                node.inboxes = node.dump.clone();
            }
        }
    }

    /// One key goes.
    fn evict(&mut self, node: usize, rng: &mut SimRng, broken: Option<Rule>) {
        let inboxes = &mut self.each[node].inboxes;
        let readers: Vec<UserId> = inboxes.keys().copied().collect();
        let Some(reader) = readers.get(rng.index(readers.len())) else { return };
        match inboxes.get_mut(reader) {
            Some(inbox) if broken == Some(Rule::HeaderInAKeyOfItsOwn) => {
                let rows = inbox.slice(&EVERYTHING).rows;
                let Header { revision, basis, .. } = inbox.header;
                inbox.remove(revision, &Cleared { rows, basis: basis.unwrap_or(Basis(0)), nonce: Nonce(0) });
                inbox.header.revision = revision;
            }
            _ => drop(inboxes.remove(reader)),
        }
    }
}

impl SimRedis {
    pub fn new(injector: FaultInjector, broken: Option<Rule>) -> Self {
        let id = draw_id(&mut injector.rng());
        let node = |is_master| Node {
            id,
            is_master,
            inboxes: Inboxes::new(),
            dump: Inboxes::new(),
            remembered: (is_master, id),
        };
        let (sent, looked) = (VecDeque::new(), Vec::new());
        let nodes = Mutex::new(Nodes { each: [node(true), node(false)], leader: 0, sent, looked });
        Self { injector, broken, nodes }
    }

    fn nodes(&self) -> MutexGuard<'_, Nodes> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, reader: UserId, script: &Script) -> Answer {
        let mut rng = self.injector.rng();
        let mut nodes = self.nodes();
        let (node, instant) = (nodes.route(&mut rng), i64::try_from(rng.next() >> 1).unwrap_or_default());
        if !nodes.admits(node, script.token().node, self.broken) {
            return Err(InboxStoreError::OtherNode);
        }
        Ok(script.run(&mut nodes.each[node].inboxes, reader, instant, self.broken))
    }

    async fn send(&self, reader: UserId, script: Script) -> Answer {
        self.reach().await?;
        let answer = self.run(reader, &script);
        self.injector.note(|| format!("    inbox of {reader}: {script:?}: {answer:?}"));
        {
            let mut nodes = self.nodes();
            if nodes.sent.len() == REMEMBERED {
                nodes.sent.pop_front();
            }
            nodes.sent.push_back((reader, script));
        }
        self.reach().await?;
        answer
    }

    /// On the way there, or back.
    async fn reach(&self) -> Result<(), StoreError> {
        self.injector.switch().await;
        match self.injector.injects(self.injector.rates().inboxes_away) {
            true => Err(StoreError::Unavailable("the simulated store of inboxes is away".into())),
            false => Ok(()),
        }
    }

    /// Something happens to the nodes, or a script that was on its way for long runs.
    pub fn happen(&self) {
        let (happening, node) = (self.injector.below(22), self.injector.index(2));
        self.injector.note(|| format!("inboxes: {happening} happens to node {node}"));
        if happening < 6 {
            let late = self.injector.index(self.nodes().sent.len());
            let late = self.nodes().sent.get(late).cloned();
            if let Some((reader, script)) = late {
                // Nobody waits for its answer.
                let _answer: Answer = self.run(reader, &script);
            }
            return;
        }
        let mut rng = self.injector.rng();
        let mut nodes = self.nodes();
        match happening {
            6..=8 => nodes.replicate(),
            9..=10 => nodes.promote(&mut rng),
            11..=12 => {
                // The old master notices, and becomes a replica of the new one.
                let old = 1 - nodes.leader;
                nodes.each[old].is_master = false;
                nodes.replicate();
            }
            13..=14 => nodes.each[node].dump = nodes.each[node].inboxes.clone(),
            15 => nodes.restart(node, true, &mut rng),
            16 => nodes.restart(node, false, &mut rng),
            17 => nodes.each[node].inboxes.clear(),
            18..=19 => nodes.evict(node, &mut rng, self.broken),
            _ => nodes.each[node].remembered = (nodes.each[node].is_master, nodes.each[node].id),
        }
    }

    /// The slice; what a page takes for it after its statement, if a rule is broken.
    fn look(&self, reader: UserId, window: &Window, slice: Option<Slice>) -> Option<Slice> {
        if !matches!(self.broken, Some(Rule::AfterIsNotRead | Rule::RowsAreNotCompared)) {
            return slice;
        }
        let (task, mut nodes) = (self.injector.task(), self.nodes());
        let before = nodes.looked.iter().position(|it| (it.0, it.1, it.2) == (task, reader, *window));
        match before.map(|index| nodes.looked.swap_remove(index).3) {
            None => {
                nodes.looked.extend(slice.clone().map(|slice| (task, reader, *window, slice)));
                slice
            }
            Some(before) if self.broken == Some(Rule::AfterIsNotRead) => Some(before),
            Some(before) => slice.map(|after| Slice { rows: before.rows, ..after }),
        }
    }
}

#[async_trait]
impl InboxStore for SimRedis {
    async fn identify(&self, _: Bucket) -> Result<NodeId, StoreError> {
        let mut rng = self.injector.rng();
        let nodes = self.nodes();
        let node = &nodes.each[nodes.route(&mut rng)];
        if node.is_master { Ok(node.id) } else { Err(StoreError::Unavailable("a replica answers".into())) }
    }

    async fn slice(&self, reader: UserId, window: &Window) -> Result<Option<Slice>, StoreError> {
        self.injector.switch().await;
        let slice = {
            let nodes = self.nodes();
            let node = nodes.route(&mut self.injector.rng());
            let inbox = nodes.each[node].inboxes.get(&reader);
            let inbox = inbox.filter(|inbox| nodes.admits(node, inbox.header.fence.token.node, self.broken));
            inbox.map(|inbox| inbox.slice(window))
        };
        let slice = self.look(reader, window, slice);
        self.injector.switch().await;
        Ok(slice)
    }

    async fn open(&self, reader: UserId, fence: Fence, nonce: Nonce) -> Result<Revision, InboxStoreError> {
        let opened = self.send(reader, Script::Open(fence, nonce)).await?;
        opened.map(|(_, revision)| revision).ok_or(InboxStoreError::Spent)
    }

    async fn deliver(&self, push: &Push) -> Result<Vec<Delivered>, InboxStoreError> {
        let mut delivered = Vec::new();
        for (reader, generation) in &push.recipients {
            let fence = Fence { token: push.token, generation: *generation };
            let answer = self.send(*reader, Script::Deliver(fence, push.row, push.nonce, push.keep)).await?;
            let is_added = answer.is_some_and(|(done, _)| done);
            delivered.push(if is_added { Delivered::Added } else { Delivered::Skipped });
        }
        Ok(delivered)
    }

    async fn claim(
        &self,
        reader: UserId,
        (token, expected): (BucketToken, Revision),
        claim: &Claim,
        keep: usize,
    ) -> Result<bool, InboxStoreError> {
        let answer = self.send(reader, Script::Claim(token, expected, claim.clone(), keep)).await?;
        Ok(answer.is_some_and(|(done, _)| done))
    }

    async fn cover(&self, reader: UserId, fence: Fence, newest: &Cover, keep: usize) -> Result<bool, InboxStoreError> {
        let answer = self.send(reader, Script::Cover(fence, newest.clone(), keep)).await?;
        Ok(answer.is_some_and(|(done, _)| done))
    }

    async fn remove(
        &self,
        reader: UserId,
        (token, expected): (BucketToken, Revision),
        cleared: &Cleared,
    ) -> Result<bool, InboxStoreError> {
        let answer = self.send(reader, Script::Remove(token, expected, cleared.clone())).await?;
        Ok(answer.is_some_and(|(done, _)| done))
    }

    async fn forget(&self, reader: UserId) -> Result<(), StoreError> {
        self.reach().await?;
        let mut nodes = self.nodes();
        let node = nodes.route(&mut self.injector.rng());
        if !nodes.each[node].is_master {
            return Err(StoreError::Unavailable("a replica refuses".into()));
        }
        nodes.each[node].inboxes.remove(&reader);
        Ok(())
    }
}
