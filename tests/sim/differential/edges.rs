//! Calls about pairs of users: follows, pending relations and exclusions.

use tidefeed::{
    app::Ports,
    domain::{EdgeMode, UserId, delivery::subtask::Range},
    store::{
        exclusions::ExclusionList,
        relations::{Pair, PendingRelation},
    },
};

use super::acts::{Drawer, in_any_order, outcome};

#[derive(Debug, Clone)]
pub enum Act {
    Follow(UserId, UserId, EdgeMode, i64),
    Unfollow(UserId, UserId),
    Mute(UserId, UserId, bool),
    Hide(UserId, UserId, bool),
    Block(UserId, UserId, bool),
    Demote(UserId, Vec<UserId>),
    Promote(Vec<Pair>, i64),
    PushedReaders(UserId, Range, Option<i64>),
    PulledAuthors(Vec<UserId>),
    FollowedAmong(UserId, Vec<UserId>),
    FollowedBy(UserId),
    ExclusionStates(UserId, Vec<UserId>),
    List(UserId, ExclusionList, Option<UserId>, usize),
    Relation(Pair),
    RelationDone(PendingRelation),
    RelationFailed(PendingRelation, i64),
    RelationsDue(i64, u64),
}

/// Edges of some users to others, in order.
fn pairs(from: &mut Drawer<'_>) -> Vec<Pair> {
    let (followers, authors) = (from.users(), from.users());
    let pairs = followers.iter().flat_map(|follower| authors.iter().map(|author| (*follower, *author)));
    pairs.map(|(follower, author)| Pair { follower, author }).collect()
}

impl Act {
    pub fn draw(from: &mut Drawer<'_>) -> Self {
        let (user, other) = from.two();
        match from.rng.below(40) {
            0..=11 => {
                let mode =
                    from.rng.pick(&[EdgeMode::Fill, EdgeMode::Fill, EdgeMode::Fill, EdgeMode::Pull, EdgeMode::Push]);
                Self::Follow(user, other, mode, from.fresh())
            }
            12..=15 => Self::Unfollow(user, other),
            16 => Self::Mute(user, other, from.rng.chance(500_000)),
            17 => Self::Hide(user, other, from.rng.chance(500_000)),
            18 => Self::Block(user, other, from.rng.chance(400_000)),
            19..=20 => Self::Demote(user, from.users()),
            21..=22 => Self::Promote(pairs(from), from.fresh()),
            24 => {
                let range = Range { after: from.rng.within(0, 60), through: from.rng.within(0, 60) };
                let since = from.now - from.rng.within(0, 1_000);
                Self::PushedReaders(user, range, from.rng.chance(500_000).then_some(since))
            }
            23 | 25 => Self::PulledAuthors(from.users()),
            26 => Self::FollowedAmong(user, from.users()),
            27 => Self::FollowedBy(user),
            28 => Self::ExclusionStates(user, from.users()),
            29 => {
                let what = from.rng.pick(&[ExclusionList::Muted, ExclusionList::Blocked, ExclusionList::HiddenFrom]);
                Self::List(user, what, from.viewer(), from.rng.index(3) + 1)
            }
            30..=31 => Self::Relation(Pair { follower: user, author: other }),
            32..=34 => Self::RelationDone(relation(from)),
            35..=36 => Self::RelationFailed(relation(from), from.later()),
            _ => Self::RelationsDue(from.later(), from.rng.below(4) + 1),
        }
    }

    pub async fn answer(&self, ports: &Ports, now: i64) -> String {
        let (follows, relations) = (&ports.follows, &ports.relations);
        match self {
            Self::Follow(follower, author, mode, incarnation) => {
                outcome(follows.follow(*follower, *author, *mode, *incarnation, now).await)
            }
            Self::Unfollow(follower, author) => outcome(follows.unfollow(*follower, *author, now ^ 1, now).await),
            Self::Demote(author, readers) => outcome(follows.demote(*author, readers, now ^ 2).await),
            Self::Promote(pairs, incarnation) => in_any_order(follows.promote(pairs, *incarnation, now).await),
            Self::PushedReaders(author, range, since) => outcome(follows.pushed_readers(*author, *range, *since).await),
            Self::PulledAuthors(followers) => outcome(follows.pulled_authors(followers).await),
            Self::FollowedAmong(follower, authors) => in_any_order(follows.followed_among(*follower, authors).await),
            Self::FollowedBy(follower) => outcome(follows.followed_by(*follower).await),
            Self::Relation(pair) => outcome(relations.find(*pair).await),
            Self::RelationDone(relation) => outcome(relations.done(relation).await),
            Self::RelationFailed(relation, retry_at) => outcome(relations.record_failure(relation, *retry_at).await),
            Self::RelationsDue(next, limit) => outcome(relations.due(i64::MIN, now, *next, *limit).await),
            _ => self.answer_of_exclusions(ports, now).await,
        }
    }

    async fn answer_of_exclusions(&self, ports: &Ports, now: i64) -> String {
        let exclusions = &ports.exclusions;
        match self {
            Self::Mute(user, other, true) => outcome(exclusions.mute(*user, *other, now ^ 3).await),
            Self::Mute(user, other, false) => outcome(exclusions.unmute(*user, *other, now ^ 4).await),
            Self::Hide(user, other, true) => outcome(exclusions.hide(*user, *other, now ^ 5).await),
            Self::Hide(user, other, false) => outcome(exclusions.unhide(*user, *other, now ^ 6).await),
            Self::Block(user, other, true) => outcome(exclusions.block(*user, *other, now ^ 7, now).await),
            Self::Block(user, other, false) => outcome(exclusions.unblock(*user, *other, now ^ 8).await),
            Self::ExclusionStates(user, others) => in_any_order(exclusions.exclusion_states(*user, others).await),
            Self::List(user, what, after, limit) => outcome(exclusions.excluded(*user, *what, *after, *limit).await),
            other => unreachable!("{other:?} is about edges"),
        }
    }
}

/// One that there is, as it is or as it was before something else happened to the pair.
fn relation(from: &mut Drawer<'_>) -> PendingRelation {
    let (follower, author) = from.two();
    let tables = from.tables;
    let rows: Vec<_> = tables.relations.iter().collect();
    let nth = from.rng.index(rows.len());
    let Some(((follower, author), row)) = rows.get(nth) else {
        return PendingRelation { pair: Pair { follower, author }, version: 1, attempts: 0, author_exists: true };
    };
    let version = if from.rng.chance(700_000) { row.version } else { from.fresh() };
    PendingRelation {
        pair: Pair { follower: *follower, author: *author },
        version,
        attempts: row.attempts,
        author_exists: true,
    }
}
