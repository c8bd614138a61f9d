//! Calls about timelines, and about people.

use std::collections::BTreeMap;

use tidefeed::{
    app::Ports,
    domain::{
        ContentId, Direction, PageRequest, Position, UserId,
        timeline::{
            candidates::{Ask, CandidateLimits, CardFacts, Pulled, Wanted},
            merge::Snapshot,
            stretch::{OutboxesSnapshot, Stretch},
        },
    },
    store::accounts::{NewAccount, PasswordHash},
};

use super::acts::{Drawer, in_any_order, outcome, registration};

#[derive(Debug, Clone)]
pub enum Act {
    Definition(UserId, PageRequest, bool),
    Reader(UserId),
    Page(UserId, PageRequest, OwnedAsk),
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

/// [`Ask`], with its authors.
#[derive(Debug, Clone)]
pub struct OwnedAsk {
    limits: CandidateLimits,
    wanted: Wanted,
    authors: Vec<UserId>,
    as_versions: bool,
}

impl OwnedAsk {
    fn borrowed(&self) -> Ask<'_> {
        let Self { limits, wanted, ref authors, as_versions } = *self;
        let pulled = if as_versions { Pulled::Versions(authors) } else { Pulled::Contents(authors) };
        Ask { limits, wanted, pulled, many_in_flight: false }
    }
}

impl Act {
    pub fn draw(from: &mut Drawer<'_>) -> Self {
        match from.rng.below(30) {
            0..=2 => Self::Reader(from.user()),
            3..=8 => {
                let limits = CandidateLimits { ahead: from.rng.index(6) + 1, behind: from.rng.index(3) + 1 };
                let [facts, reactions, original_authors] = [(); 3].map(|()| from.rng.chance(500_000));
                let wanted = Wanted { facts, reactions, original_authors };
                let (authors, as_versions) = (from.users(), from.rng.chance(300_000));
                let ask = OwnedAsk { limits, wanted, authors, as_versions };
                Self::Page(from.user(), from.request(), ask)
            }
            9..=11 => {
                let request = from.request();
                let far = from.rng.within(0, 40_000) * if request.direction == Direction::Older { -1 } else { 1 };
                let begin = request.bound.map_or(from.later(), Position::publish_time);
                // The model reads few of them.
                let facts_end_ms = from.rng.chance(500_000).then_some((begin + far / 2).max(0));
                let most_rows = from.rng.index(request.need() + 2);
                Self::Stretch(from.user(), request, Stretch { end_ms: (begin + far).max(0), most_rows, facts_end_ms })
            }
            12..=18 => Self::Definition(from.user(), from.request(), from.rng.chance(500_000)),
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
            Self::Definition(reader, request, with_facts) => {
                outcome(timelines.definition(*reader, request, *with_facts).await.map(in_order))
            }
            Self::Stretch(reader, request, stretch) => match timelines.reader(*reader).await {
                Ok(Some(known)) => {
                    let found = timelines.stretch(*reader, request, *stretch, &known.authors).await;
                    outcome(found.map(|found| found.map(in_order)))
                }
                known => outcome(known),
            },
            Self::Reader(reader) => outcome(timelines.reader(*reader).await),
            Self::Page(reader, request, ask) => {
                outcome(timelines.candidates(*reader, request, &ask.borrowed()).await.map(|mut page| {
                    // The model looks through fewer of them.
                    page.in_flight = None;
                    page.versions.sort_unstable_by_key(|outbox| outbox.author);
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

/// The facts by content, so that they stand in one order.
fn in_order(found: OutboxesSnapshot) -> (Snapshot, i64, BTreeMap<ContentId, CardFacts>) {
    (found.snapshot, found.reactions_version, found.facts.into_iter().collect())
}

/// Some have passwords.
pub fn account(id: UserId, name: i64, now_ms: i64) -> NewAccount {
    let password_hash = (name % 20 == 0).then(|| PasswordHash("hash".to_owned()));
    NewAccount { id, registration: registration(name), password_hash, incarnation: i64::MAX, now_ms }
}
