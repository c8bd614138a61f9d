//! One world: both stores, the processes under way, and what was seen.

use std::task::Poll;

use super::{
    building::{Build, Extend},
    cassandra::Cassandra,
    covering::{Clean, Cover},
    delivering::Deliver,
    events::Admit,
    nodes::{Nodes, draw},
    primary::{Primary, Reader},
    reading::Read,
    rules::Rule,
    scripts::Script,
};
use crate::rng::SimRng;
use tidefeed::domain::timeline::{
    authors::TimelineAuthors,
    outside::{Basis, Generation, Header, Nonce, Slice, Window},
};

/// Processes under way at most.
const PROCESSES: usize = 12;
/// Makes of a walk's seed that of what is remembered.
const MEMORY: u64 = 0x6d65_6d6f_7279;

/// What happened in a walk, or in many.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    pub walks: u64,
    pub reads: u64,
    pub believed: u64,
    /// Believed pages by remembered authors.
    pub by_authors: u64,
    /// Reads of unequal slices.
    pub changed: u64,
    pub sql_losses: u64,
    /// Deliveries to fences that the header does not name.
    pub before_header: u64,
}

pub struct World {
    pub rng: SimRng,
    pub broken: Option<Rule>,
    /// A second one; only rules that [`World::breaks`] is asked about.
    pub also_broken: Option<Rule>,
    pub primary: Primary,
    /// Earlier states that a fail-over of SQL may go back to.
    pub past: Vec<Primary>,
    pub nodes: Nodes,
    /// In place of the nodes, if it is there.
    pub cassandra: Option<Cassandra>,
    pub processes: Vec<Process>,
    /// What the node remembers of each reader's authors.
    pub remembered: Vec<Option<TimelineAuthors>>,
    /// Decides what is remembered, so that walks are the same without it.
    pub memory_rng: SimRng,
    /// The last scripts, by reader.
    pub sent: Vec<(usize, Script)>,
    pub readers: usize,
    pub authors: usize,
    /// Rows that inboxes keep.
    pub keep: usize,
    /// Whether most processes run from begin to end.
    pub quick: bool,
    pub last_content: i64,
    pub tally: Tally,
    /// What the first wrong page was.
    pub wrong: Option<String>,
}

/// A process between two steps. A step is one script, or one statement or transaction.
#[derive(Debug)]
pub enum Process {
    Deliver(Deliver),
    Build(Build),
    Extend(Extend),
    Cover(Cover),
    Clean(Clean),
    Admit(Admit),
    Read(Read),
}

impl World {
    pub fn new(seed: u64, broken: Option<Rule>) -> Self {
        let mut rng = SimRng::of(seed);
        let readers = 1 + rng.index(3);
        let nodes = Nodes::new(&mut rng, broken);
        let reader = |rng: &mut SimRng| Reader {
            outside: false,
            generation: Generation(draw(rng)),
            basis: Basis(draw(rng)),
            authors_version: 0,
        };
        let primary = Primary { readers: (0..readers).map(|_| reader(&mut rng)).collect(), ..Primary::default() };
        let (authors, keep) = (1 + rng.index(2), 1 + rng.index(4));
        let quick = rng.below(2) == 0;
        Self {
            rng,
            broken,
            also_broken: None,
            past: vec![primary.clone()],
            primary,
            nodes,
            cassandra: None,
            processes: Vec::new(),
            remembered: vec![None; readers],
            memory_rng: SimRng::of(seed ^ MEMORY),
            sent: Vec::new(),
            readers,
            authors,
            keep,
            quick,
            last_content: 0,
            tally: Tally { walks: 1, ..Tally::default() },
            wrong: None,
        }
    }

    /// A world whose outside store is Cassandra.
    pub fn in_cassandra(seed: u64, broken: Option<Rule>) -> Self {
        let mut world = Self::new(seed, broken);
        world.cassandra = Some(Cassandra::new(&mut world.rng, broken));
        world
    }

    pub fn breaks(&self, rule: Rule) -> bool {
        self.broken == Some(rule) || self.also_broken == Some(rule)
    }

    /// The authors of this reader's timeline as the node remembers them, or reads them now.
    pub fn authors(&mut self, reader: usize) -> TimelineAuthors {
        let (forgets, all_are_covered) = (self.memory_rng.below(8) == 0, self.breaks(Rule::UncoveredIsRemembered));
        let known = self.remembered[reader].take().filter(|_| !forgets);
        let known = known.unwrap_or_else(|| self.primary.authors(reader, all_are_covered));
        self.remembered[reader] = Some(known.clone());
        known
    }

    /// Part of the transaction that changes whose contents this reader's timeline shows.
    pub fn renew_authors(&mut self, reader: usize) {
        self.primary.readers[reader].authors_version = draw(&mut self.memory_rng);
    }

    pub fn draw(&mut self) -> i64 {
        draw(&mut self.rng)
    }

    pub fn nonce(&mut self) -> Nonce {
        Nonce(self.draw())
    }

    /// The node that the next script happens to reach.
    pub fn route(&mut self) -> usize {
        self.nodes.route(&mut self.rng)
    }

    /// Reads a slice, or in Cassandra the header and then its rows.
    pub fn look(&mut self, looking: &mut Option<Header>, reader: usize, window: &Window) -> Poll<Option<Slice>> {
        let Self { cassandra: Some(cassandra), rng, .. } = self else {
            return Poll::Ready(self.slice_at_once(reader, window));
        };
        let Some(header) = looking.take() else {
            *looking = cassandra.claimed(reader);
            return if looking.is_some() { Poll::Pending } else { Poll::Ready(None) };
        };
        Poll::Ready(Some(Slice { header, rows: cassandra.rows(rng, reader, header.fence, window) }))
    }

    /// A slice at one instant.
    pub fn slice_at_once(&mut self, reader: usize, window: &Window) -> Option<Slice> {
        let Self { cassandra: Some(cassandra), rng, .. } = self else {
            let node = self.route();
            return self.nodes.slice(node, reader, window);
        };
        let header = cassandra.claimed(reader)?;
        Some(Slice { header, rows: cassandra.rows(rng, reader, header.fence, window) })
    }

    /// Begins a process, unless too many are under way.
    pub fn begin(&mut self, process: Option<Process>) {
        if self.processes.len() < PROCESSES {
            self.processes.extend(process);
        }
    }

    /// Lets one process take its next step.
    pub fn step(&mut self) {
        if self.processes.is_empty() {
            return;
        }
        let process = self.processes.swap_remove(self.rng.index(self.processes.len()));
        let mut next = self.advance(process);
        // In some walks most processes are quick, so that the slow ones meet many changes.
        while self.quick && self.rng.below(8) != 0 {
            let Some(process) = next else { return };
            next = self.advance(process);
        }
        self.processes.extend(next);
    }

    fn advance(&mut self, process: Process) -> Option<Process> {
        match process {
            Process::Deliver(it) => it.step(self).map(Process::Deliver),
            Process::Build(it) => it.step(self).map(Process::Build),
            Process::Extend(it) => it.step(self).map(Process::Extend),
            Process::Cover(it) => it.step(self).map(Process::Cover),
            Process::Clean(it) => it.step(self).map(Process::Clean),
            Process::Admit(it) => it.step(self).map(Process::Admit),
            Process::Read(it) => it.step(self).map(Process::Read),
        }
    }

    /// A read that nothing comes between: it sees what is wrong and stays wrong.
    pub fn read_at_once(&mut self) {
        let mut read = Read::begin(self);
        while let Some(next) = read {
            read = next.step(self);
        }
    }

    /// One process dies where it is.
    pub fn kill(&mut self) {
        if !self.processes.is_empty() {
            let dead = self.rng.index(self.processes.len());
            self.processes.swap_remove(dead);
        }
    }
}
