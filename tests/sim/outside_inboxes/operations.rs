//! The operations on an inbox in Cassandra: a few statements each, as the adapter sends them. Anything may come
//! between two of them, and the process may die there.

use std::{collections::VecDeque, task::Poll};

use tidefeed::domain::timeline::outside::{Claim, Header, Opening, Revision, StoredHeader};

use super::{
    cassandra::{Cassandra, Statement},
    nodes::OtherNode,
    rules::Rule,
    scripts::{Answer, Script},
    world::World,
};

/// One operation under way.
#[derive(Debug)]
pub struct Operation {
    reader: usize,
    script: Script,
    /// What is to be sent, once the header has been read.
    left: VecDeque<Statement>,
    inserted: bool,
    /// Of the inbox, if everything that is left is done.
    revision: Option<Revision>,
}

impl Operation {
    pub fn of(reader: usize, script: Script) -> Self {
        let left = match &script {
            // The fence of the recipient stands for a look at the header.
            Script::Deliver { fence, row, .. } => [Statement::Insert { fence: *fence, rows: vec![*row] }].into(),
            _ => VecDeque::new(),
        };
        Self { reader, script, left, inserted: false, revision: None }
    }

    /// Sends one statement; the answer, if it was the last.
    pub fn step(&mut self, world: &mut World) -> Poll<Answer> {
        let Some(cassandra) = world.cassandra.as_mut() else { return Poll::Ready(Err(OtherNode)) };
        let Some(statement) = self.left.pop_front() else { return self.look(cassandra, world.broken) };
        if let Script::Deliver { fence, .. } = self.script
            && cassandra.claimed(self.reader).is_none_or(|header| header.fence != fence)
        {
            world.tally.before_header += 1;
        }
        match cassandra.execute(&mut world.rng, self.reader, &statement) {
            Ok(true) => self.inserted |= matches!(statement, Statement::Insert { .. }),
            // Others have changed the header.
            Ok(false) if matches!(self.script, Script::Claim { .. }) => return Poll::Ready(Ok(None)),
            Ok(false) => {
                self.left.clear();
                return Poll::Pending;
            }
            // What stays behind is never read.
            Err(_) if matches!(statement, Statement::Drop { .. }) => {}
            Err(_) if self.is_delivery() && world.broken == Some(Rule::OneAcknowledges) => {}
            Err(_) => return Poll::Ready(Err(OtherNode)),
        }
        if self.left.is_empty() { Poll::Ready(Ok(self.revision)) } else { Poll::Pending }
    }

    const fn is_delivery(&self) -> bool {
        matches!(self.script, Script::Deliver { .. })
    }

    /// Reads the header, and decides what to send.
    fn look(&mut self, cassandra: &Cassandra, broken: Option<Rule>) -> Poll<Answer> {
        let before = cassandra.header(self.reader).cloned();
        match self.plan(before, broken) {
            Ok(true) => Poll::Pending,
            Ok(false) => Poll::Ready(Ok(None)),
            Err(refused) => Poll::Ready(Err(refused)),
        }
    }

    /// Whether there is anything to send.
    fn plan(&mut self, before: Option<StoredHeader>, broken: Option<Rule>) -> Result<bool, OtherNode> {
        let found = before.as_ref().map(|stored| stored.header);
        let (next, mut statements) = match (self.script.clone(), before) {
            (Script::Open { fence, nonce }, mut before) => {
                if let Some(before) = before.as_mut().filter(|_| broken == Some(Rule::FenceIsUsedAgain)) {
                    before.dropped.clear();
                }
                let Opening::Next(next, former) = StoredHeader::open(before.as_ref(), fence, nonce) else {
                    return Err(OtherNode);
                };
                (Some(next), former.map(|fence| Statement::Drop { fence }).into_iter().collect())
            }
            (Script::Claim { expected, claim, .. }, Some(before)) => claimed(&before, expected, &claim, broken),
            (Script::Cover { fence, newest }, Some(before)) => {
                let rows = if self.inserted { Vec::new() } else { newest.rows.clone() };
                (before.cover(fence, &newest), vec![Statement::Insert { fence, rows }])
            }
            (Script::Remove { expected, cleared, .. }, Some(before)) if broken == Some(Rule::RowsAreRemoved) => {
                let Header { fence, floor, .. } = before.header;
                let claim = Claim { rows: Vec::new(), floor, basis: cleared.basis, nonce: cleared.nonce };
                let (next, _) = claimed(&before, expected, &claim, broken);
                (next, vec![Statement::Remove { fence, rows: cleared.rows }])
            }
            _ => (None, Vec::new()),
        };
        let Some(next) = next else { return Ok(false) };
        self.revision = Some(next.header.revision);
        let set = Statement::Set { expected: found.map(|header| header.revision), next };
        let sets_first = match self.script {
            Script::Open { .. } => broken != Some(Rule::RowsGoBeforeHeader),
            Script::Claim { .. } => broken == Some(Rule::ClaimBeforeRows),
            _ => false,
        };
        statements.insert(if sets_first { 0 } else { statements.len() }, set);
        self.left = statements.into();
        Ok(true)
    }
}

/// The header with the claim, and the rows to be written.
fn claimed(
    before: &StoredHeader,
    expected: Revision,
    claim: &Claim,
    broken: Option<Rule>,
) -> (Option<StoredHeader>, Vec<Statement>) {
    let Header { fence, revision, .. } = before.header;
    let expected = if broken == Some(Rule::HeaderOfAnyRevision) { revision } else { expected };
    let insert = Statement::Insert { fence, rows: claim.rows.clone() };
    (before.claim((fence.token, expected), claim), vec![insert])
}
