//! The scripts that change inboxes in Redis. Each is atomic on one inbox; a broken rule is broken here.

use std::collections::BTreeMap;

use tidefeed::domain::{
    Direction, Position, UserId,
    timeline::outside::{BucketToken, Claim, Cleared, Cover, Fence, Header, Nonce, OutsideInbox, Revision, Window},
};

use crate::rules::Rule;

/// What lies on a node.
pub type Inboxes = BTreeMap<UserId, OutsideInbox>;

/// All rows.
pub const EVERYTHING: Window = Window { direction: Direction::Older, bound: None, limit: usize::MAX };

/// One script on one inbox; with the rows that it keeps.
#[derive(Debug, Clone)]
pub enum Script {
    Open(Fence, Nonce),
    Deliver(Fence, Position, Nonce, usize),
    Claim(BucketToken, Revision, Claim, usize),
    Cover(Fence, Cover, usize),
    Remove(BucketToken, Revision, Cleared),
}

impl Script {
    /// The node that must answer is the one that this names.
    pub const fn token(&self) -> BucketToken {
        match self {
            Self::Open(fence, ..) | Self::Deliver(fence, ..) | Self::Cover(fence, ..) => fence.token,
            Self::Claim(token, ..) | Self::Remove(token, ..) => *token,
        }
    }

    const fn nonce(&self) -> Nonce {
        match self {
            Self::Open(_, nonce)
            | Self::Deliver(_, _, nonce, _)
            | Self::Claim(_, _, Claim { nonce, .. }, _)
            | Self::Cover(_, Cover { nonce, .. }, _)
            | Self::Remove(_, _, Cleared { nonce, .. }) => *nonce,
        }
    }

    /// Runs it at this instant of the store. Whether it did what it says, and the inbox's revision.
    pub fn run(
        &self,
        inboxes: &mut Inboxes,
        reader: UserId,
        instant: i64,
        broken: Option<Rule>,
    ) -> Option<(bool, Revision)> {
        if let Self::Open(fence, nonce) = *self {
            let revision = opened(inboxes.get(&reader).map(|inbox| inbox.header.revision), nonce, instant, broken);
            inboxes.insert(reader, OutsideInbox::open(fence, revision));
            return Some((true, revision));
        }
        let inbox = inboxes.get_mut(&reader)?;
        let before = inbox.header;
        let done = self.change(inbox, broken);
        if inbox.header.revision != before.revision {
            inbox.header.revision = match broken {
                Some(Rule::RevisionIsCounted) => Revision(before.revision.0 + 1),
                Some(Rule::LateScriptRepeatsRevision) => Revision(self.nonce().0),
                _ => inbox.header.revision,
            };
        }
        Some((done, inbox.header.revision))
    }

    fn change(&self, inbox: &mut OutsideInbox, broken: Option<Rule>) -> bool {
        let before = inbox.header;
        let expected = |expected, any| if broken == Some(any) { before.revision } else { expected };
        match self {
            Self::Open(..) => false,
            Self::Deliver(_, row, ..) if is_skipped(&before, *row, broken) => false,
            Self::Deliver(fence, row, nonce, keep) => {
                let delivered = inbox.deliver(*fence, *row, *keep, *nonce);
                after_trim(inbox, before, broken);
                delivered == tidefeed::domain::timeline::outside::Delivered::Added
            }
            Self::Claim(token, at, claim, keep) => {
                before.fence.token == *token && inbox.claim(expected(*at, Rule::ClaimOfAnyRevision), claim, *keep)
            }
            Self::Cover(fence, newest, keep) => {
                let keeps_floor = broken == Some(Rule::OutsideCutCoverKeepsFloor);
                let floor = if keeps_floor { Position::OLDEST } else { newest.floor };
                let done = inbox.cover(*fence, &Cover { floor, ..newest.clone() }, *keep);
                if done && broken == Some(Rule::CoverKeepsRevision) {
                    inbox.header.revision = before.revision;
                }
                done
            }
            Self::Remove(token, at, cleared) => before.fence.token == *token && inbox.remove(*at, cleared),
        }
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

fn is_skipped(header: &Header, row: Position, broken: Option<Rule>) -> bool {
    match broken {
        Some(Rule::OutsideBelowFloorIsSkipped) => header.floor != Position::NEWEST && row < header.floor,
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
        Some(Rule::OutsideTrimKeepsFloor) => inbox.header.floor = before.floor,
        Some(Rule::TrimKeepsRevision) => inbox.header.revision = before.revision,
        Some(Rule::OutsideTrimLowersFloor) => {
            inbox.header.floor = inbox.slice(&EVERYTHING).rows.last().copied().unwrap_or(before.floor);
        }
        _ => {}
    }
}
