//! Defines a call of a port with its arguments, and draws calls so that most of them refer to existing rows.

use std::fmt::Debug;

use tidefeed::{
    app::Ports,
    domain::{
        ContentId, ContentKind, Direction, EdgeMode, Kinds, PageRequest, PageSize, Position, UserId,
        account::profile::Registration,
    },
    store::StoreError,
};

use super::{cards, contents, deliveries, edges, inboxes, reads};
use crate::{primary_store::tables::Tables, rng::SimRng};

/// Users that exist; calls also name as many that do not.
pub const PEOPLE: i64 = 5;

/// A call, and when it comes.
#[derive(Debug, Clone)]
pub struct Step {
    pub now: i64,
    act: Act,
}

#[derive(Debug, Clone)]
enum Act {
    Cards(cards::Act),
    Contents(contents::Act),
    Edges(edges::Act),
    Inboxes(inboxes::Act),
    Deliveries(deliveries::Act),
    Reads(reads::Act),
}

impl Step {
    pub fn draw(from: &mut Drawer<'_>) -> Self {
        let act = match from.rng.below(22) {
            20.. => Act::Cards(cards::Act::draw(from)),
            0..=4 => Act::Contents(contents::Act::draw(from)),
            5..=8 => Act::Edges(edges::Act::draw(from)),
            9..=12 => Act::Inboxes(inboxes::Act::draw(from)),
            13..=16 => Act::Deliveries(deliveries::Act::draw(from)),
            _ => Act::Reads(reads::Act::draw(from)),
        };
        Self { now: from.now, act }
    }

    /// What the ports say to it, in words that can be compared.
    pub async fn answer(&self, ports: &Ports) -> String {
        match &self.act {
            Act::Cards(act) => act.answer(ports, self.now).await,
            Act::Contents(act) => act.answer(ports, self.now).await,
            Act::Edges(act) => act.answer(ports, self.now).await,
            Act::Inboxes(act) => act.answer(ports, self.now).await,
            Act::Deliveries(act) => act.answer(ports, self.now).await,
            Act::Reads(act) => act.answer(ports, self.now).await,
        }
    }
}

/// An answer in words; of a failure its kind alone, the rest is the driver's.
pub fn outcome<T: Debug>(answer: Result<T, StoreError>) -> String {
    match answer {
        Ok(answer) => format!("{answer:?}"),
        Err(StoreError::Unavailable(_)) => "unavailable".to_owned(),
        Err(StoreError::TakesNoWrites(_)) => "takes no writes".to_owned(),
        Err(StoreError::Contended(_)) => "contended".to_owned(),
        Err(StoreError::Refused(_)) => "refused".to_owned(),
        Err(StoreError::Unreadable(_)) => "unreadable".to_owned(),
    }
}

/// As [`outcome`], where the port promises no order.
pub fn in_any_order<T: Debug>(answer: Result<Vec<T>, StoreError>) -> String {
    outcome(answer.map(|them| {
        let mut words: Vec<String> = them.iter().map(|it| format!("{it:?}")).collect();
        words.sort_unstable();
        words
    }))
}

/// The user whose name has this number.
pub fn registration(name: i64) -> Registration {
    let name = format!("user{name}");
    Registration::try_new(&name, &name, "", None).expect("a plain name will do")
}

/// What calls are drawn from: chance, what there is, and the time.
pub struct Drawer<'a> {
    pub rng: &'a mut SimRng,
    pub tables: &'a Tables,
    pub now: i64,
    /// Counts what must never be the same again.
    pub last: &'a mut i64,
}

impl Drawer<'_> {
    pub const fn fresh(&mut self) -> i64 {
        *self.last += 1;
        *self.last
    }

    /// A user; now and then one that does not exist.
    pub fn user(&mut self) -> UserId {
        let stranger = self.rng.chance(20_000);
        let number = self.rng.within(1, PEOPLE) + if stranger { PEOPLE } else { 0 };
        UserId::try_new(number * 10).expect("a positive number is an id")
    }

    pub fn two(&mut self) -> (UserId, UserId) {
        let (one, mut other) = (self.user(), self.user());
        while other == one {
            other = self.user();
        }
        (one, other)
    }

    pub fn viewer(&mut self) -> Option<UserId> {
        let user = self.user();
        Some(user).filter(|_| self.rng.chance(800_000))
    }

    /// Some people, each once.
    pub fn users(&mut self) -> Vec<UserId> {
        let mut users: Vec<UserId> = (0..self.rng.within(1, 4)).map(|_| self.user()).collect();
        users.sort_unstable();
        users.dedup();
        users
    }

    /// A content, there or removed; now and then one that there is not.
    pub fn content(&mut self) -> ContentId {
        let known = self.tables.contents.keys();
        let nth = self.rng.index(known.len());
        let unknown = self.rng.chance(30_000);
        let found = self.tables.contents.keys().nth(nth).copied().filter(|_| !unknown);
        found.unwrap_or_else(|| ContentId::try_new(7).expect("7 is an id"))
    }

    /// The content's author most often, or anybody.
    pub fn author_of(&mut self, content: ContentId) -> UserId {
        let author = self.tables.contents.get(&content).map(|it| it.author);
        let anybody = self.user();
        author.filter(|_| self.rng.chance(900_000)).unwrap_or(anybody)
    }

    /// Some contents, each once.
    pub fn contents(&mut self) -> Vec<ContentId> {
        let mut contents: Vec<ContentId> = (0..self.rng.within(1, 5)).map(|_| self.content()).collect();
        contents.sort_unstable();
        contents.dedup();
        contents
    }

    /// An id in no order with time.
    pub fn fresh_content(&mut self) -> ContentId {
        let number = self.rng.within(1, 8) * 1_000_000 + self.fresh();
        ContentId::try_new(number).expect("a positive number is an id")
    }

    /// A content whose delivery is not finished, if there is one.
    pub fn delivered(&mut self) -> ContentId {
        let nth = self.rng.index(self.tables.deliveries.len());
        let found = self.tables.deliveries.keys().nth(nth).copied();
        let any = self.content();
        found.filter(|_| self.rng.chance(950_000)).unwrap_or(any)
    }

    /// An edge that is being filled, or any, if there is one.
    pub fn filling(&mut self) -> Option<(UserId, UserId)> {
        let any = self.rng.chance(200_000);
        let edges = self.tables.follows.iter().filter(|(_, edge)| any || edge.mode == EdgeMode::Fill);
        let pairs: Vec<(UserId, UserId)> = edges.map(|(pair, _)| *pair).collect();
        let nth = self.rng.index(pairs.len());
        pairs.get(nth).copied()
    }

    /// A time from now on; now and then one that no clock shows.
    pub fn later(&mut self) -> i64 {
        let far = self.rng.chance(30_000);
        self.now + self.rng.within(0, 30_000) + if far { 1_000_000_000 } else { 0 }
    }

    pub fn request(&mut self) -> PageRequest {
        let size = PageSize::try_new(self.rng.within(1, 5)).expect("pages are small");
        let direction = if self.rng.chance(600_000) { Direction::Older } else { Direction::Newer };
        let kinds = match self.rng.below(4) {
            0 => Kinds::try_new([self.rng.pick(&ContentKind::ALL)]).expect("one kind is enough"),
            _ => Kinds::ALL,
        };
        let content = self.content();
        let at = self.tables.contents.get(&content).map(|it| Position::of(it.publish_time, content));
        let beside = i64::from(self.rng.chance(200_000));
        let bound = at.map(|at| Position::bound(at.publish_time(), at.content_number() + beside));
        PageRequest {
            direction,
            bound: bound.filter(|_| self.rng.chance(700_000)),
            ..PageRequest::newest(size).of(kinds)
        }
    }
}
