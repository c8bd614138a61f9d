//! Calls about timelines, and about people.

use tidefeed::{
    app::Ports,
    domain::{
        ContentId, Direction, PageRequest, Position, UserId,
        timeline::{
            candidates::{CandidateLimits, Wanted},
            stretch::Stretch,
        },
    },
    store::{
        accounts::{NewAccount, PasswordHash},
        timelines::Depth,
    },
};

use super::acts::{Drawer, in_any_order, outcome, registration};

#[derive(Debug, Clone)]
pub enum Act {
    Page(UserId, PageRequest, Depth),
    Reader(UserId),
    KnownPage(UserId, PageRequest, CandidateLimits, Wanted),
    Stretch(UserId, PageRequest, Stretch),
    Visible(UserId, Vec<ContentId>),
    VisibleTo(ContentId, Vec<UserId>),
    Oracle(UserId, PageRequest),
    Register(UserId, i64),
    Profiles(Vec<UserId>),
    ByHandle(i64),
    Counts(Vec<UserId>),
    Count,
    Credentials(UserId),
}

impl Act {
    pub fn draw(from: &mut Drawer<'_>) -> Self {
        match from.rng.below(30) {
            0..=2 => Self::Reader(from.user()),
            3..=8 => {
                let limits = CandidateLimits { ahead: from.rng.index(6) + 1, behind: from.rng.index(3) + 1 };
                let [facts, reactions, original_authors] = [(); 3].map(|()| from.rng.chance(500_000));
                let wanted = Wanted { facts, reactions, original_authors };
                Self::KnownPage(from.user(), from.request(), limits, wanted)
            }
            9..=11 => {
                let request = from.request();
                let far = from.rng.within(0, 40_000) * if request.direction == Direction::Older { -1 } else { 1 };
                let begin = request.bound.map_or(from.later(), Position::publish_time);
                // The model reads few of them.
                let most_rows = from.rng.index(request.need() + 2);
                Self::Stretch(
                    from.user(),
                    request,
                    Stretch { end_ms: (begin + far).max(0), most_rows, facts_end_ms: None },
                )
            }
            12..=18 => {
                let depth = from.rng.pick(&[Depth::Inbox, Depth::Everything, Depth::Everything, Depth::Outboxes]);
                Self::Page(from.user(), from.request(), depth)
            }
            19..=20 => Self::Visible(from.user(), from.contents()),
            21..=22 => Self::VisibleTo(from.content(), from.users()),
            23..=24 => Self::Oracle(from.user(), from.request()),
            25 => Self::Register(from.user(), from.user().get()),
            26 => Self::Profiles(from.users()),
            27 => Self::ByHandle(from.user().get()),
            28 => Self::Counts(from.users()),
            _ if from.rng.chance(300_000) => Self::Count,
            _ => Self::Credentials(from.user()),
        }
    }

    pub async fn answer(&self, ports: &Ports, now: i64) -> String {
        let (timelines, accounts) = (&ports.timelines, &ports.accounts);
        match self {
            Self::Page(reader, request, depth) => {
                outcome(timelines.read(*reader, request, *depth).await.map(|mut page| {
                    page.uncovered.sort_unstable_by_key(|edge| edge.author);
                    page
                }))
            }
            Self::Stretch(reader, request, stretch) => match timelines.reader(*reader).await {
                Ok(Some(known)) => {
                    let found = timelines.stretch(*reader, request, *stretch, &known.authors).await;
                    outcome(found.map(|found| found.map(|it| it.snapshot)))
                }
                known => outcome(known),
            },
            Self::Reader(reader) => outcome(timelines.reader(*reader).await),
            Self::KnownPage(reader, request, limits, wanted) => {
                outcome(timelines.page_candidates(*reader, request, *limits, *wanted).await.map(|mut page| {
                    // The model looks through fewer of them, and has no facts.
                    page.in_flight = None;
                    page.ahead.iter_mut().for_each(|candidate| candidate.facts = None);
                    page
                }))
            }
            Self::Visible(reader, contents) => in_any_order(timelines.visible(*reader, contents).await),
            Self::VisibleTo(content, readers) => in_any_order(timelines.visible_to(*content, readers).await),
            Self::Oracle(reader, request) => outcome(timelines.oracle(*reader, request).await),
            Self::Register(id, name) => outcome(accounts.register(account(*id, *name, now)).await),
            Self::Profiles(ids) => in_any_order(accounts.profiles(ids).await),
            Self::ByHandle(name) => outcome(accounts.by_handle(&registration(*name).handle).await),
            Self::Counts(ids) => in_any_order(accounts.counts(ids).await),
            Self::Count => outcome(accounts.count().await),
            Self::Credentials(user) => {
                let by_handle = accounts.credential(&registration(user.get()).handle).await;
                format!("{} {}", outcome(by_handle), outcome(accounts.credential_of(*user).await))
            }
        }
    }
}

/// Some have passwords.
pub fn account(id: UserId, name: i64, now_ms: i64) -> NewAccount {
    let password_hash = (name % 20 == 0).then(|| PasswordHash("hash".to_owned()));
    NewAccount { id, registration: registration(name), password_hash, incarnation: i64::MAX, now_ms }
}
