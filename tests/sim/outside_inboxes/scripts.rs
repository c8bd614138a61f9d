//! The scripts that change inboxes, as they are sent: each may run once more, or late, wherever it is led then.

use std::task::Poll;

use tidefeed::domain::{
    Position,
    timeline::outside::{Claim, Cleared, Cover, Fence, Header, NodeId, Nonce, OutsideInbox, Revision},
};

use super::{nodes::OtherNode, operations::Operation, rules::Rule, world::World};

/// Scripts that may still run once more.
const REMEMBERED: usize = 24;

/// One script on one inbox.
#[derive(Debug, Clone)]
pub enum Script {
    Open { fence: Fence, nonce: Nonce },
    Deliver { fence: Fence, row: Position, nonce: Nonce },
    Claim { node: NodeId, expected: Revision, claim: Claim },
    Cover { fence: Fence, newest: Cover },
    Remove { node: NodeId, expected: Revision, cleared: Cleared },
}

impl Script {
    const fn node(&self) -> NodeId {
        match self {
            Self::Open { fence, .. } | Self::Deliver { fence, .. } | Self::Cover { fence, .. } => fence.token.node,
            Self::Claim { node, .. } | Self::Remove { node, .. } => *node,
        }
    }

    const fn nonce(&self) -> Nonce {
        match self {
            Self::Open { nonce, .. } | Self::Deliver { nonce, .. } => *nonce,
            Self::Claim { claim, .. } => claim.nonce,
            Self::Cover { newest, .. } => newest.nonce,
            Self::Remove { cleared, .. } => cleared.nonce,
        }
    }
}

/// The revision of the inbox afterwards, if there is one.
pub type Answer = Result<Option<Revision>, OtherNode>;

impl World {
    /// Runs a script on the node that it happens to reach, or sends the next statement of what does the same in
    /// Cassandra.
    pub fn send(
        &mut self,
        under_way: &mut Option<Operation>,
        reader: usize,
        script: impl FnOnce(&mut Self) -> Script,
    ) -> Poll<Answer> {
        if self.cassandra.is_none() {
            let script = script(self);
            return Poll::Ready(self.send_script(reader, script));
        }
        let mut operation = under_way.take().unwrap_or_else(|| Operation::of(reader, script(self)));
        let answer = operation.step(self);
        if answer.is_pending() {
            *under_way = Some(operation);
        }
        answer
    }

    fn send_script(&mut self, reader: usize, script: Script) -> Answer {
        let answer = self.run(reader, &script);
        if self.sent.len() == REMEMBERED {
            self.sent.remove(0);
        }
        self.sent.push((reader, script));
        answer
    }

    /// A script that a client has sent twice, or that was on its way for long, runs.
    pub fn run_late(&mut self) {
        if let Some(cassandra) = self.cassandra.as_mut() {
            return cassandra.run_late(&mut self.rng);
        }
        let late = self.rng.index(self.sent.len());
        if let Some((reader, script)) = self.sent.get(late).cloned() {
            // Nobody waits for its answer.
            let _answer: Result<_, OtherNode> = self.run(reader, &script);
        }
    }

    fn run(&mut self, reader: usize, script: &Script) -> Answer {
        let (node, instant, keep, broken) = (self.route(), self.draw(), self.keep, self.broken);
        let inboxes = self.nodes.enter(node, script.node())?;
        if let Script::Open { fence, nonce } = *script {
            let there = inboxes.get(&reader).map(|inbox| inbox.header.revision);
            let revision = opened(there, nonce, instant, broken);
            inboxes.insert(reader, OutsideInbox::open(fence, revision));
            return Ok(Some(revision));
        }
        let Some(inbox) = inboxes.get_mut(&reader) else { return Ok(None) };
        let before = inbox.header;
        change(inbox, script, keep, broken);
        if inbox.header.revision != before.revision {
            inbox.header.revision = match broken {
                Some(Rule::RevisionIsCounted) => Revision(before.revision.0 + 1),
                Some(Rule::LateScriptRepeatsRevision) => Revision(script.nonce().0),
                _ => inbox.header.revision,
            };
        }
        Ok(Some(inbox.header.revision))
    }
}

fn opened(there: Option<Revision>, nonce: Nonce, instant: i64, broken: Option<Rule>) -> Revision {
    match (broken, there) {
        (Some(Rule::OpeningKeepsRevision), Some(there)) => there,
        (Some(Rule::RevisionIsCounted), there) => Revision(there.map_or(1, |there| there.0 + 1)),
        (Some(Rule::LateScriptRepeatsRevision), _) => Revision(nonce.0),
        (Some(Rule::LateOpeningRepeatsRevision), there) => Revision::after(there, nonce),
        (_, there) => Revision::after(there, nonce.at(instant)),
    }
}

fn change(inbox: &mut OutsideInbox, script: &Script, keep: usize, broken: Option<Rule>) {
    let before = inbox.header;
    let expected = |expected, any| if broken == Some(any) { before.revision } else { expected };
    match script {
        Script::Open { .. } => {}
        Script::Deliver { row, .. } if is_skipped(&before, *row, broken) => {}
        Script::Deliver { fence, row, nonce } => {
            inbox.deliver(*fence, *row, keep, *nonce);
            after_trim(inbox, before, broken);
        }
        Script::Claim { expected: at, claim, .. } => {
            // An extension holds more than is kept, until the next delivery.
            inbox.claim(expected(*at, Rule::ClaimOfAnyRevision), claim, 2 * keep);
        }
        Script::Cover { fence, newest } => {
            if inbox.cover(*fence, newest, keep) && broken == Some(Rule::CoverKeepsRevision) {
                inbox.header.revision = before.revision;
            }
        }
        Script::Remove { expected: at, cleared, .. } => {
            inbox.remove(expected(*at, Rule::CleanOfAnyRevision), cleared);
        }
    }
}

fn is_skipped(header: &Header, row: Position, broken: Option<Rule>) -> bool {
    match broken {
        Some(Rule::BelowFloorIsSkipped) => header.floor != Position::NEWEST && row < header.floor,
        Some(Rule::UnclaimedIsSkipped) => header.floor == Position::NEWEST,
        _ => false,
    }
}

/// What a trimming has done, undone where a broken rule says so.
fn after_trim(inbox: &mut OutsideInbox, before: Header, broken: Option<Rule>) {
    if inbox.header.revision == before.revision {
        return;
    }
    match broken {
        Some(Rule::TrimKeepsFloor) => inbox.header.floor = before.floor,
        Some(Rule::TrimKeepsRevision) => inbox.header.revision = before.revision,
        Some(Rule::TrimLowersFloor) => {
            let rows = inbox.slice(&super::nodes::EVERYTHING).rows;
            inbox.header.floor = rows.last().copied().unwrap_or(before.floor);
        }
        _ => {}
    }
}
