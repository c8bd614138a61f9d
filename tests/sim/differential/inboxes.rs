//! Calls about inboxes, their floors and their covered edges.

use tidefeed::{
    app::Ports,
    domain::{UserId, timeline::tier::LifeEnds},
};

use super::acts::{Drawer, outcome};

#[derive(Debug, Clone)]
pub enum Act {
    Floor(UserId),
    Held(UserId, u32),
    KeepDeep(UserId, i64),
    MarkSeen(UserId),
    Cover(UserId, UserId, u32, i64),
    ClearUnfollowed(UserId, UserId),
    Extend(UserId, u32),
    ExtendAll(Vec<UserId>, u32),
    Trim(UserId, u32),
    Reset(UserId),
    TurnOffUnseen(i64, u64),
    Overfull(i64, u32, u64, i64),
}

impl Act {
    pub fn draw(from: &mut Drawer<'_>) -> Self {
        let user = from.user();
        let small = u32::try_from(from.rng.below(5)).unwrap_or(1);
        match from.rng.below(30) {
            0 => Self::Floor(user),
            1 => Self::Held(user, small),
            2 => Self::KeepDeep(user, from.later()),
            3..=6 => Self::MarkSeen(user),
            7..=14 => {
                let (reader, author) = from.filling().unwrap_or((user, user));
                Self::Cover(reader, author, small, from.fresh())
            }
            15..=17 => Self::ClearUnfollowed(user, from.user()),
            18..=20 => Self::Extend(user, small),
            21..=22 => Self::ExtendAll(from.users(), small),
            23..=25 => Self::Trim(user, small),
            26 => Self::Reset(user),
            27 => Self::TurnOffUnseen(from.now - from.rng.within(0, 60_000), from.rng.below(4)),
            _ => Self::Overfull(from.rng.within(0, 60), small, from.rng.below(4) + 1, from.rng.within(0, 60_000)),
        }
    }

    pub async fn answer(&self, ports: &Ports, now: i64) -> String {
        let inboxes = &ports.inboxes;
        match self {
            Self::Floor(reader) => outcome(inboxes.floor(*reader).await),
            Self::Held(reader, at_most) => outcome(inboxes.held(*reader, *at_most).await),
            Self::KeepDeep(reader, until) => outcome(inboxes.keep_deep(*reader, *until).await),
            Self::MarkSeen(reader) => outcome(inboxes.mark_seen(&[*reader], now).await),
            Self::Cover(reader, author, keep, version) => {
                outcome(inboxes.cover(*reader, *author, *keep, *version).await)
            }
            Self::ClearUnfollowed(reader, author) => outcome(inboxes.clear_unfollowed(*reader, *author).await),
            Self::Extend(reader, step) => outcome(inboxes.extend(*reader, *step).await),
            Self::ExtendAll(readers, step) => outcome(inboxes.extend_all(readers, *step).await),
            Self::Trim(reader, keep) => outcome(inboxes.trim(*reader, *keep).await),
            Self::Reset(reader) => outcome(inboxes.reset(*reader).await),
            Self::TurnOffUnseen(before, limit) => outcome(inboxes.turn_off_unseen(*before, *limit).await),
            Self::Overfull(after, keep, limit, life) => {
                let deep = LifeEnds { after: now, through: now + life };
                outcome(inboxes.overfull(*after, *keep, *limit, deep).await)
            }
        }
    }
}
