//! Tests subscribers in a world where announcements are late, lost, repeated and out of order. Contents are committed
//! under old positions, users follow and unfollow, reposts replace their originals and are deleted, and clients lose
//! their connection at any moment. The model: a client that has received everything either holds exactly the folded
//! timeline above the floor, or was asked to read again.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::collections::{BTreeMap, HashSet};

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::domain::{
    ContentId, Page, PageRequest, PageSize,
    timeline::folding::{Subjects, fold},
};

const AUTHORS: i64 = 3;
/// Nearly a full window, so that windows overflow.
const THERE_AT_FIRST: i64 = 60;

#[derive(Debug, Clone, Copy)]
enum Announced {
    Published(Showing),
    Removed(Entry),
    Relation(UserId),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Signal {
    Added(Showing),
    Removed(Entry),
    Because(RereadCause),
}

#[derive(Debug, Clone)]
enum Op {
    /// Commits under any position, however old; the announcement follows later.
    Publish(i64, i64),
    /// The author reposts some content, or what it reposts; as [`Op::Publish`].
    Repost(i64, usize, i64),
    Remove(usize),
    /// Follows, or unfollows.
    Toggle(i64),
    /// The node receives one of the waiting announcements, in any order.
    Hear(usize),
    Repeat(usize),
    /// An announcement is lost, and the node knows that one may be.
    Lose(usize),
    /// An announcement is lost, and nobody knows.
    Vanish(usize),
    /// The subscriber's task goes one step further.
    Step,
    /// The client comes back with its last token.
    Reconnect,
    /// The client reads its newest entries and subscribes anew, with the page's token or with none.
    Reread(i64, bool),
}

fn user(id: i64) -> UserId {
    UserId::try_new(id).unwrap()
}

#[derive(Debug, Default)]
struct Client {
    holds: BTreeMap<ContentId, Entry>,
    /// How far the client has read, as a page reports it.
    read_to: Position2,
    point: Option<ResumePoint>,
    must_reread: bool,
}

/// A position that has a default.
#[derive(Debug)]
struct Position2(Position);

impl Default for Position2 {
    fn default() -> Self {
        Self(Position::OLDEST)
    }
}

struct World {
    contents: BTreeMap<ContentId, Showing>,
    removed: HashSet<ContentId>,
    follows: HashSet<UserId>,
    announced: Vec<Announced>,
    // The node's side of the one subscription.
    watched: HashSet<UserId>,
    queue: VecDeque<Signal>,
    missed: bool,
    /// A read in progress: its reason, and whom the reader followed when it began.
    rereading: Option<(RereadCause, HashSet<UserId>)>,
    subscriber: SubscriberState,
    client: Client,
    catch_up: usize,
}

impl World {
    fn new(catch_up: usize) -> Self {
        let mut world = Self {
            contents: BTreeMap::new(),
            removed: HashSet::new(),
            follows: (1..=AUTHORS).map(user).collect(),
            announced: Vec::new(),
            watched: HashSet::new(),
            queue: VecDeque::new(),
            missed: false,
            rereading: None,
            subscriber: SubscriberState::begin(Followed::default(), None),
            client: Client::default(),
            catch_up,
        };
        for number in 1..=THERE_AT_FIRST {
            let original = (number % 5 == 0).then(|| ContentId::try_new(number - 3).unwrap());
            world.publish(1 + number % AUTHORS, 10 * number, original);
        }
        world.announced.clear();
        world.reread(40, true);
        world
    }

    fn publish(&mut self, author: i64, publish_time: i64, reposted: Option<ContentId>) {
        let content = ContentId::try_new(i64::try_from(self.contents.len()).unwrap() + 1).unwrap();
        let entry = Entry { publish_time, content, author: user(author) };
        let subject = reposted.map_or(content, |reposted| self.contents[&reposted].subject);
        let new = Showing { entry, subject };
        self.contents.insert(content, new);
        self.announced.push(Announced::Published(new));
    }

    fn is_visible(&self, entry: &Entry) -> bool {
        self.follows.contains(&entry.author) && !self.removed.contains(&entry.content)
    }

    /// Newest first, nothing folded.
    fn timeline(&self, above: Position) -> Vec<Showing> {
        let there = |it: &&Showing| self.is_visible(&it.entry) && it.entry.position() > above;
        let mut entries: Vec<Showing> = self.contents.values().filter(there).copied().collect();
        entries.sort_by_key(|it| std::cmp::Reverse(it.entry.position()));
        entries
    }

    /// Newest first; the newest of each subject.
    fn folded(&self, above: Position) -> Vec<Entry> {
        let mut met = HashSet::new();
        self.timeline(above).into_iter().filter(|it| met.insert(it.subject)).map(|it| it.entry).collect()
    }

    fn run(&mut self, op: &Op) {
        match *op {
            Op::Publish(author, time) => self.publish(author, time, None),
            Op::Repost(author, which, time) => {
                let reposted = self.contents.keys().rev().nth(which % self.contents.len()).copied();
                self.publish(author, time, reposted);
            }
            Op::Remove(which) => {
                let there = self.contents.values().map(|it| it.entry).filter(|it| !self.removed.contains(&it.content));
                let there: Vec<Entry> = there.collect();
                let Some(entry) = there.iter().rev().nth(which % there.len().max(1)) else { return };
                self.removed.insert(entry.content);
                self.announced.push(Announced::Removed(*entry));
            }
            Op::Toggle(author) => {
                let author = user(author);
                if !self.follows.remove(&author) {
                    self.follows.insert(author);
                }
                self.announced.push(Announced::Relation(author));
            }
            Op::Hear(which) => self.take(which).into_iter().for_each(|announced| self.hear(announced)),
            Op::Repeat(which) => {
                if let Some(announced) = self.announced.get(which % self.announced.len().max(1)).copied() {
                    self.hear(announced);
                }
            }
            Op::Lose(which) => {
                if self.take(which).is_some() {
                    self.missed = true;
                }
            }
            Op::Vanish(which) => {
                // A client whose entries are unknown has no such promise.
                if self.subscriber.is_known() {
                    self.take(which);
                }
            }
            Op::Step => drop(self.step()),
            Op::Reconnect => self.reconnect(),
            Op::Reread(size, with_token) => self.reread(size, with_token),
        }
    }

    fn take(&mut self, which: usize) -> Option<Announced> {
        let len = self.announced.len();
        (len > 0).then(|| self.announced.remove(which % len))
    }

    /// Works like the hub.
    fn hear(&mut self, announced: Announced) {
        match announced {
            Announced::Published(new) if self.watched.contains(&new.entry.author) && self.is_visible(&new.entry) => {
                self.queue.push_back(Signal::Added(new));
            }
            Announced::Removed(entry) if self.watched.contains(&entry.author) => {
                self.queue.push_back(Signal::Removed(entry));
            }
            Announced::Relation(author) => {
                let cause = RereadCause::Relation { author: Some(author), excluded: false };
                self.queue.push_back(Signal::Because(cause));
            }
            Announced::Published(_) | Announced::Removed(_) => {}
        }
    }

    /// Works like the feed between any two awaits. Returns `false` if there is nothing to do.
    fn step(&mut self) -> bool {
        if let Some((cause, followed)) = self.rereading.take() {
            self.watched.clone_from(&followed);
            self.subscriber.follows(cause, followed.into_iter().collect());
        } else if let Some(update) = self.subscriber.next() {
            self.update(update);
        } else if let Some(floor) = self.subscriber.catch_up_from() {
            let mut entries = self.timeline(floor);
            let whole = entries.len() <= self.catch_up;
            entries.reverse();
            entries.truncate(self.catch_up);
            self.subscriber.caught_up(&TimelineTop { entries, whole });
        } else if self.missed {
            self.missed = false;
            self.queue.clear();
            self.rereading = Some((RereadCause::Missed, self.follows.clone()));
        } else {
            match self.queue.pop_front() {
                Some(Signal::Added(new)) => self.subscriber.added(new),
                Some(Signal::Removed(entry)) => self.subscriber.removed(entry),
                Some(Signal::Because(cause)) => self.rereading = Some((cause, self.follows.clone())),
                None => return false,
            }
        }
        true
    }

    fn update(&mut self, update: Update) {
        let known = self.subscriber.floor();
        let is_above = |position: Position| known.is_some_and(|floor| position > floor);
        match update {
            Update::Change(Change::Added(entry)) => {
                let twice = self.client.holds.insert(entry.content, entry).is_some();
                assert!(!(twice && is_above(entry.position())), "{entry:?} was sent twice");
            }
            Update::Change(Change::Removed(content)) => {
                let held = self.client.holds.remove(&content).is_some();
                let position = self.contents[&content].entry.position();
                assert!(held || !is_above(position), "the client does not hold {content}");
            }
            Update::Change(Change::AuthorRemoved(author)) => self.client.holds.retain(|_, it| it.author != author),
            Update::Change(Change::Refetch(_)) => self.client.must_reread = true,
            Update::Relation { .. } | Update::ReadUpTo(_) | Update::MayDiffer => {}
        }
        self.client.point = self.subscriber.point();
    }

    fn begin(&mut self, point: Option<ResumePoint>) {
        self.watched.clone_from(&self.follows);
        self.queue.clear();
        (self.missed, self.rereading) = (false, None);
        self.subscriber = SubscriberState::begin(self.follows.iter().copied().collect(), point);
    }

    fn reconnect(&mut self) {
        match self.client.point.clone() {
            Some(point) => self.begin(Some(ResumePoint::decode(&point.encode()).unwrap())),
            None => self.reread(30, true),
        }
    }

    /// With a token: reads, then subscribes. Without: subscribes, then reads.
    fn reread(&mut self, size: i64, with_token: bool) {
        let request = PageRequest::newest(PageSize::try_new(size).unwrap());
        let entries = self.timeline(Position::OLDEST).iter().map(|it| it.entry).collect();
        let mut subjects = Subjects::default();
        let originals: Vec<_> = self.contents.values().map(|it| (it.entry.content, it.subject)).collect();
        subjects.learn(originals);
        let page = fold(&request, Page { entries, has_older: false, has_newer: false }, &subjects);
        let point = ResumePoint::of_page(&request, &page);
        let read_to = Position2(point.floor());
        // Without a token nothing is folded, so such a client cannot hold a folded page.
        let holds = if with_token { &page.entries } else { &page.unfolded };
        let holds = holds.iter().map(|entry| (entry.content, *entry)).collect();
        let point = with_token.then_some(point);
        self.client = Client { holds, read_to, point: point.clone(), must_reread: false };
        self.begin(point);
    }

    fn settle(&mut self) {
        while self.step() {}
        while !self.announced.is_empty() {
            self.run(&Op::Hear(0));
            while self.step() {}
        }
        // The periodic read.
        if self.subscriber.is_known() {
            self.missed = true;
        }
        while self.step() {}
    }

    fn holds_the_timeline(&self) {
        let known = self.subscriber.floor();
        let floor = known.unwrap_or(self.client.read_to.0);
        let mut holds: Vec<Entry> = self.client.holds.values().filter(|it| it.position() > floor).copied().collect();
        holds.sort_by_key(|entry| std::cmp::Reverse(entry.position()));
        let due = match known {
            Some(floor) => self.folded(floor),
            None => self.timeline(floor).iter().map(|it| it.entry).collect(),
        };
        assert_eq!(holds, due);
    }
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (1..=AUTHORS, 1..=700_i64).prop_map(|(author, time)| Op::Publish(author, time)),
        4 => (1..=AUTHORS, 0..20_usize, 1..=700_i64).prop_map(|(author, which, time)| Op::Repost(author, which, time)),
        4 => (0..100_usize).prop_map(Op::Remove),
        3 => (1..=AUTHORS).prop_map(Op::Toggle),
        8 => (0..100_usize).prop_map(Op::Hear),
        2 => (0..100_usize).prop_map(Op::Repeat),
        1 => (0..100_usize).prop_map(Op::Lose),
        1 => (0..100_usize).prop_map(Op::Vanish),
        16 => Just(Op::Step),
        2 => Just(Op::Reconnect),
        1 => (1..=70_i64, any::<bool>()).prop_map(|(size, with_token)| Op::Reread(size, with_token)),
    ]
}

proptest! {
    #[test]
    fn a_subscriber_holds_the_timeline_or_was_asked_to_refetch(
        ops in vec(op(), 0..120), catch_up in prop_oneof![Just(5_usize), Just(90)]
    ) {
        let mut world = World::new(catch_up);
        for op in &ops {
            world.run(op);
            if world.client.must_reread {
                world.reread(30, true);
            }
        }
        world.settle();
        if !world.client.must_reread {
            world.holds_the_timeline();
        }
    }
}
