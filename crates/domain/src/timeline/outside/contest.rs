//! Decides when a node sets a bucket's token. Two nodes that see different servers would otherwise replace each other's
//! token in every round, and no inbox of the bucket would live longer than that.

use super::fence::NodeId;

/// Doublings of the wait after which it grows no more.
const MOST_DOUBLINGS: u32 = 8;
/// Rounds for which a token must have stood before an earlier dispute about it is forgotten: several of the longest
/// waits.
const SETTLED_AFTER: u32 = 4 << MOST_DOUBLINGS;

/// What one node knows of a bucket's token from its earlier rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Contest {
    /// The node that the token should name; `None`: there should be no token.
    wanted: Option<NodeId>,
    /// Whether the last round found it so, or set it.
    was_in_force: bool,
    /// How often somebody else has changed it.
    lost: u32,
    /// Rounds to wait before it is set again.
    wait: u32,
    /// Rounds in a row in which it was found so.
    held: u32,
}

/// What to do in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// The token is as it should be.
    Keep,
    /// Another node has changed it: leave it for this number of rounds.
    Wait(u32),
    /// Set it.
    Set,
}

impl Contest {
    /// One round: `wanted` is the node that answers for the bucket, `current` the one that the token names.
    ///
    /// A server that has changed is followed at once. A token that somebody else has changed, although the same server
    /// answers here, is set again after twice as many rounds each time.
    pub fn round(&mut self, wanted: Option<NodeId>, current: Option<NodeId>) -> Move {
        if wanted != self.wanted {
            *self = Self { wanted, ..Self::default() };
        }
        if current == wanted {
            let held = self.held.saturating_add(1);
            let lost = if held > SETTLED_AFTER { 0 } else { self.lost };
            *self = Self { wanted, was_in_force: true, lost, wait: 0, held };
            return Move::Keep;
        }
        if self.was_in_force {
            let lost = (self.lost + 1).min(MOST_DOUBLINGS);
            *self = Self { wanted, was_in_force: false, lost, wait: 1 << lost, held: 0 };
        }
        if self.wait > 0 {
            self.wait -= 1;
            return Move::Wait(self.wait + 1);
        }
        self.was_in_force = true;
        Move::Set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Option<NodeId> = Some(NodeId::of([1; 20]));
    const THERE: Option<NodeId> = Some(NodeId::of([2; 20]));

    #[test]
    fn a_server_that_has_changed_is_followed_at_once() {
        let mut contest = Contest::default();
        assert_eq!(contest.round(HERE, None), Move::Set);
        assert_eq!(contest.round(HERE, HERE), Move::Keep);
        assert_eq!(contest.round(THERE, HERE), Move::Set, "restarted");
        assert_eq!(contest.round(THERE, THERE), Move::Keep);
        assert_eq!(contest.round(None, THERE), Move::Set, "silent");
        assert_eq!(contest.round(None, None), Move::Keep);
        assert_eq!(contest.round(THERE, None), Move::Set, "it answers again");
        assert_eq!(contest.round(THERE, HERE), Move::Wait(2), "another node that sees another server was faster");
    }

    /// Changes of a token that two nodes make which see different servers.
    fn changes(rounds: u32, views: [Option<NodeId>; 2]) -> u32 {
        let (mut contests, mut token, mut changes) = ([Contest::default(); 2], None, 0);
        for _ in 0..rounds {
            for (contest, view) in contests.iter_mut().zip(views) {
                if contest.round(view, token) == Move::Set {
                    token = view;
                    changes += 1;
                }
            }
        }
        changes
    }

    #[test]
    fn nodes_that_see_different_servers_take_turns_ever_more_rarely() {
        for views in [[HERE, THERE], [HERE, None]] {
            let (first, later) = (changes(1_000, views), changes(3_000, views) - changes(2_000, views));
            assert!((4..24).contains(&first) && (2..9).contains(&later), "{first}, then {later} in as many rounds");
        }
    }

    #[test]
    fn a_dispute_that_was_settled_is_forgotten() {
        let mut contest = Contest::default();
        contest.round(HERE, HERE);
        assert_eq!(contest.round(HERE, THERE), Move::Wait(2));
        for _ in 0..=SETTLED_AFTER {
            contest.round(HERE, HERE);
        }
        assert_eq!(contest.round(HERE, THERE), Move::Wait(2), "as the first time");
        contest.round(HERE, HERE);
        assert_eq!(contest.round(HERE, THERE), Move::Wait(4));
    }
}
