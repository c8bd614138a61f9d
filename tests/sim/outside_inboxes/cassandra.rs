//! Cassandra as the outside store: headers that change by compare-and-set alone, and rows in partitions by fence. What
//! a majority has acknowledged stays. What was not answered may have reached one copy or none, and may run later.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tidefeed::domain::{
    Direction, Position,
    timeline::outside::{Fence, Header, NodeId, Revision, StoredHeader, Window},
};

use super::{nodes::draw_id, rules::Rule};
use crate::rng::SimRng;

/// Statements that may still run.
const REMEMBERED: usize = 24;
/// One statement in so many is not answered.
const UNANSWERED: u64 = 16;

/// One statement.
#[derive(Debug, Clone)]
pub enum Statement {
    Insert {
        fence: Fence,
        rows: Vec<Position>,
    },
    /// Sets the header if it has this revision, or if there is none.
    Set {
        expected: Option<Revision>,
        next: StoredHeader,
    },
    /// Removes the whole partition.
    Drop {
        fence: Fence,
    },
    /// Removes single rows; only a broken rule does.
    Remove {
        fence: Fence,
        rows: Vec<Position>,
    },
}

/// The client knows nothing of what became of its statement.
#[derive(Debug)]
pub struct Unanswered;

#[derive(Debug, Default)]
struct Partition {
    rows: BTreeSet<Position>,
    /// Rows that one copy has and a majority has not.
    doubtful: BTreeSet<Position>,
    /// Rows, or all of them, whose removal may hide what is written later: clocks differ.
    removed: BTreeSet<Position>,
    is_dropped: bool,
}

#[derive(Debug)]
pub struct Cassandra {
    pub node: NodeId,
    headers: BTreeMap<usize, StoredHeader>,
    partitions: HashMap<(usize, Fence), Partition>,
    late: Vec<(usize, Statement)>,
    broken: Option<Rule>,
}

impl Cassandra {
    pub fn new(rng: &mut SimRng, broken: Option<Rule>) -> Self {
        let (headers, partitions, late) = (BTreeMap::new(), HashMap::new(), Vec::new());
        Self { node: draw_id(rng), headers, partitions, late, broken }
    }

    pub fn header(&self, reader: usize) -> Option<&StoredHeader> {
        self.headers.get(&reader)
    }

    /// The rows of a fence in a window. One that only one copy has is seen or not; if so, it is copied to a majority
    /// before the answer.
    pub fn rows(&mut self, rng: &mut SimRng, reader: usize, fence: Fence, window: &Window) -> Vec<Position> {
        let Some(partition) = self.partitions.get_mut(&(reader, fence)) else { return Vec::new() };
        for row in std::mem::take(&mut partition.doubtful) {
            let seen = rng.below(2) == 0;
            if seen { &mut partition.rows } else { &mut partition.doubtful }.insert(row);
        }
        let start = window.bound.unwrap_or(window.direction.start());
        let beyond = |row: &&Position| window.direction.meets_first(start, **row);
        let mut rows: Vec<Position> = partition.rows.iter().filter(beyond).copied().collect();
        if window.direction == Direction::Older {
            rows.reverse();
        }
        rows.truncate(window.limit);
        rows
    }

    /// Runs a statement; whether a conditional one applied.
    pub fn execute(&mut self, rng: &mut SimRng, reader: usize, statement: &Statement) -> Result<bool, Unanswered> {
        if rng.below(UNANSWERED) == 0 {
            self.fail(rng, reader, statement);
            return Err(Unanswered);
        }
        // A statement outside a transaction may be sent to a second node as well.
        if !matches!(statement, Statement::Set { .. }) && rng.below(4) == 0 {
            self.keep(reader, statement.clone());
        }
        Ok(self.run(rng, reader, statement))
    }

    fn fail(&mut self, rng: &mut SimRng, reader: usize, statement: &Statement) {
        match rng.below(3) {
            0 => {}
            1 => self.keep(reader, statement.clone()),
            _ => match statement {
                Statement::Insert { fence, rows } => {
                    self.partitions.entry((reader, *fence)).or_default().doubtful.extend(rows);
                }
                _ => drop(self.run(rng, reader, statement)),
            },
        }
    }

    fn keep(&mut self, reader: usize, statement: Statement) {
        if self.late.len() == REMEMBERED {
            self.late.remove(0);
        }
        self.late.push((reader, statement));
    }

    /// A statement that was on its way for long runs: each at most once.
    pub fn run_late(&mut self, rng: &mut SimRng) {
        if !self.late.is_empty() {
            let (reader, statement) = self.late.swap_remove(rng.index(self.late.len()));
            self.run(rng, reader, &statement);
        }
    }

    fn run(&mut self, rng: &mut SimRng, reader: usize, statement: &Statement) -> bool {
        match statement {
            Statement::Insert { fence, rows } => {
                let Partition { rows: there, removed, is_dropped, .. } =
                    self.partitions.entry((reader, *fence)).or_default();
                for row in rows {
                    let may_be_hidden = *is_dropped || removed.contains(row);
                    if !may_be_hidden || rng.below(2) == 0 {
                        there.insert(*row);
                    }
                }
                true
            }
            Statement::Set { expected, next } => {
                let found = self.headers.get(&reader).map(|stored| stored.header.revision);
                let applies = found == *expected || self.broken == Some(Rule::HeaderOfAnyRevision);
                if applies {
                    self.headers.insert(reader, next.clone());
                }
                applies
            }
            Statement::Drop { fence } => {
                let dropped = Partition { is_dropped: true, ..Partition::default() };
                self.partitions.insert((reader, *fence), dropped);
                true
            }
            Statement::Remove { fence, rows } => {
                let partition = self.partitions.entry((reader, *fence)).or_default();
                partition.rows.retain(|row| !rows.contains(row));
                partition.removed.extend(rows);
                true
            }
        }
    }

    /// Loses one header; or all of them, which only a broken rule does.
    pub fn lose_headers(&mut self, rng: &mut SimRng, all: bool) {
        let readers: Vec<usize> = self.headers.keys().copied().collect();
        if all {
            self.headers.clear();
        } else if let Some(reader) = readers.get(rng.index(readers.len())) {
            self.headers.remove(reader);
        }
    }

    /// What a reader's inbox claims, if there is one.
    pub fn claimed(&self, reader: usize) -> Option<Header> {
        self.headers.get(&reader).map(|stored| stored.header)
    }
}
