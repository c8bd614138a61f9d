//! Tests which subscribers the hub notifies. Every timeline shows everything, so the index alone decides.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{collections::HashMap, sync::atomic::AtomicBool};

use async_trait::async_trait;

use super::*;
use crate::{
    domain::{
        ContentId, Entry, PageRequest, Position, Shown,
        timeline::{
            authors::{ReaderSnapshot, TimelineAuthors},
            candidates::{Ask, Candidates},
            stretch::{OutboxesSnapshot, Stretch},
        },
    },
    live::wanted::Wanted,
    store::StoreError,
};

const BUFFER: usize = 4;

/// Shows every content to everyone, or fails.
struct Everybody {
    fails: AtomicBool,
    asked: AtomicU64,
}

#[async_trait]
impl Timelines for Everybody {
    async fn definition(&self, _: UserId, _: &PageRequest, _: bool) -> Result<OutboxesSnapshot, StoreError> {
        Err(StoreError::Refused("not asked here".into()))
    }

    async fn stretch(
        &self,
        _: UserId,
        _: &PageRequest,
        _: Stretch,
        _: &TimelineAuthors,
    ) -> Result<Option<OutboxesSnapshot>, StoreError> {
        Err(StoreError::Refused("not asked here".into()))
    }

    async fn reader(&self, _: UserId) -> Result<Option<ReaderSnapshot>, StoreError> {
        Ok(None)
    }

    async fn candidates(&self, _: UserId, _: &PageRequest, _: &Ask<'_>) -> Result<Candidates, StoreError> {
        Err(StoreError::Refused("not asked here".into()))
    }

    async fn visible(&self, _: UserId, _: &[ContentId]) -> Result<Vec<Entry>, StoreError> {
        Ok(Vec::new())
    }

    async fn visible_to(&self, _: ContentId, readers: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.fails.load(Ordering::SeqCst) {
            Err(StoreError::Refused("told to".into()))
        } else {
            Ok(readers.to_vec())
        }
    }

    async fn oracle(&self, _: UserId, _: &PageRequest) -> Result<Vec<Entry>, StoreError> {
        Ok(Vec::new())
    }
}

fn hub() -> (Arc<Hub<()>>, Arc<Everybody>) {
    let (hub, timelines, _) = hub_and_wanted();
    (hub, timelines)
}

fn hub_and_wanted() -> (Arc<Hub<()>>, Arc<Everybody>, Arc<Wanted>) {
    let timelines = Arc::new(Everybody { fails: AtomicBool::new(false), asked: AtomicU64::new(0) });
    let wanted = Arc::<Wanted>::default();
    (Arc::new(Hub::new(timelines.clone(), wanted.clone(), BUFFER)), timelines, wanted)
}

fn user(id: i64) -> UserId {
    UserId::try_new(id).unwrap()
}

fn register(hub: &Arc<Hub<()>>, reader: UserId) -> Registration<()> {
    hub.register(reader, usize::MAX).unwrap()
}

fn published(author: i64, content: i64) -> Announcement {
    let entry = Entry { publish_time: 1, content: ContentId::try_new(content).unwrap(), author: user(author) };
    Announcement::Published { entry, original: None }
}

fn is_added(signal: &Signal<()>, content: i64) -> bool {
    matches!(signal, Signal::Added(new, _) if new.entry.content.get() == content)
}

#[tokio::test]
async fn events_reach_only_those_who_watch_the_author() {
    let (hub, _) = hub();
    let (mut watching, mut other) = (register(&hub, user(1)), register(&hub, user(2)));
    watching.watch(Followed::of(vec![user(7)]));
    other.watch(Followed::of(vec![user(8)]));
    hub.pass_on(&published(7, 70)).await;
    hub.pass_on(&published(8, 80)).await;
    assert!(is_added(&watching.next().await, 70));
    assert!(is_added(&other.next().await, 80));
}

#[tokio::test]
async fn a_slow_subscriber_learns_of_missed_events_and_continues() {
    let (hub, _) = hub();
    let mut slow = register(&hub, user(1));
    slow.watch(Followed::of(vec![user(7)]));
    for content in 1..=i64::try_from(BUFFER).unwrap() + 1 {
        hub.pass_on(&published(7, content)).await;
    }
    assert!(matches!(slow.next().await, Signal::Reread(RereadCause::Missed)));
    hub.pass_on(&published(7, 999)).await;
    assert!(is_added(&slow.next().await, 999));
}

#[tokio::test]
async fn many_gaps_are_one_until_the_subscriber_notices() {
    let (hub, _) = hub();
    let mut subscriber = register(&hub, user(1));
    subscriber.watch(Followed::of(vec![user(7)]));
    for _ in 0..20 {
        hub.pass_on(&Announcement::Gap).await;
    }
    assert!(matches!(subscriber.next().await, Signal::Reread(RereadCause::Missed)));
    hub.pass_on(&published(7, 1)).await;
    assert!(is_added(&subscriber.next().await, 1));
}

#[tokio::test]
async fn after_a_failed_visibility_lookup_watchers_read_again() {
    let (hub, timelines) = hub();
    let mut subscriber = register(&hub, user(1));
    subscriber.watch(Followed::of(vec![user(7)]));
    timelines.fails.store(true, Ordering::SeqCst);
    hub.pass_on(&published(7, 1)).await;
    assert!(matches!(subscriber.next().await, Signal::Reread(RereadCause::Missed)));
}

#[tokio::test]
async fn a_moved_read_marker_reaches_only_that_readers_subscriptions() {
    let (hub, _) = hub();
    let (mut phone, mut desk, mut other) = (register(&hub, user(1)), register(&hub, user(1)), register(&hub, user(2)));
    let marker = Position::bound(5, 50);
    hub.pass_on(&Announcement::ReadMarkerMoved { reader: user(1), marker }).await;
    hub.pass_on(&Announcement::FollowsChanged { reader: user(2), author: None, change: None }).await;
    for own in [&mut phone, &mut desk] {
        assert!(matches!(own.next().await, Signal::ReadUpTo(moved) if moved == marker));
    }
    assert!(matches!(other.next().await, Signal::Reread(RereadCause::Relation { .. })));
}

#[tokio::test]
async fn watching_again_replaces_the_watched_authors() {
    let (hub, _) = hub();
    let mut subscriber = register(&hub, user(1));
    subscriber.watch(Followed::of(vec![user(7)]));
    subscriber.watch(Followed::of(vec![user(8)]));
    hub.pass_on(&published(7, 70)).await;
    hub.pass_on(&published(8, 80)).await;
    assert!(is_added(&subscriber.next().await, 80));
}

#[test]
fn an_ended_subscription_leaves_nothing_behind() {
    let (hub, _) = hub();
    let subscriber = register(&hub, user(1));
    subscriber.watch(Followed::of(vec![user(7), user(8)]));
    drop(subscriber);
    let state = hub.lock();
    assert!(state.subscribers.is_empty() && state.by_author.is_empty() && state.by_reader.is_empty());
}

fn followed(authors: &[i64]) -> Followed {
    authors.iter().copied().map(user).collect()
}

#[tokio::test]
async fn equal_states_of_one_readers_subscribers_are_shared() {
    let (hub, _) = hub();
    let (mut phone, mut desk, other) = (register(&hub, user(1)), register(&hub, user(1)), register(&hub, user(2)));
    let first = phone.watch(followed(&[8, 7]));
    assert!(desk.watch(followed(&[7, 8])).is_one_with(&first));
    assert!(!other.watch(followed(&[7, 8])).is_one_with(&first), "another reader's are their own");
    // The desk has read the store after the phone, and knows more.
    let later = desk.watch(followed(&[8, 9]));
    hub.pass_on(&published(9, 90)).await;
    hub.pass_on(&published(7, 70)).await;
    hub.pass_on(&published(8, 80)).await;
    assert!(is_added(&desk.next().await, 90) && is_added(&desk.next().await, 80));
    assert!(is_added(&phone.next().await, 70) && is_added(&phone.next().await, 80));
    assert!(phone.watch(followed(&[8, 9])).is_one_with(&later));
    assert_eq!(first.holders(), 1, "nobody keeps what nobody knows any more");
    hub.pass_on(&published(9, 91)).await;
    assert!(is_added(&phone.next().await, 91));
    drop((phone, desk));
    assert_eq!(later.holders(), 1, "the last one takes it along");
}

#[test]
fn a_reader_has_a_bounded_number_of_subscribers() {
    let (hub, _) = hub();
    let open = [hub.register(user(1), 2), hub.register(user(1), 2)];
    assert!(open.iter().all(Option::is_some) && hub.register(user(1), 2).is_none());
    assert!(hub.register(user(2), 2).is_some());
    drop(open);
    assert!(hub.register(user(1), 2).is_some());
}

#[test]
fn the_index_holds_and_wants_exactly_the_watched_authors() {
    let (hub, _, wanted) = hub_and_wanted();
    let rng = crate::rng::SharedRng::from_seed(7);
    let mut open = Vec::new();
    for _ in 0..2_000 {
        let below = |most: u64| i64::try_from(rng.u64() % most).unwrap();
        match below(4) {
            0 => open.push(register(&hub, user(1 + below(3)))),
            1 if !open.is_empty() => drop(open.swap_remove(usize::try_from(below(open.len() as u64)).unwrap())),
            _ if !open.is_empty() => {
                let at = usize::try_from(below(open.len() as u64)).unwrap();
                let authors: Vec<i64> = (0..below(4)).map(|_| 10 + below(5)).collect();
                open[at].watch(followed(&authors));
            }
            _ => {}
        }
        let state = hub.lock();
        let mut expected: HashMap<UserId, HashSet<UserId>> = HashMap::new();
        for subscriber in state.subscribers.values() {
            for author in subscriber.authors.iter() {
                expected.entry(author).or_default().insert(subscriber.reader);
            }
        }
        assert_eq!(state.by_author, expected);
        let mut users: HashMap<Shown, i32> = HashMap::new();
        let readers = state.subscribers.values().map(|it| it.reader).collect::<HashSet<UserId>>();
        expected.into_keys().chain(readers).for_each(|user| *users.entry(user.into()).or_default() += 1);
        wanted.counts().retain(|_, count| *count != 0);
        assert_eq!(*wanted.counts(), users, "each author and each reader once");
    }
}

#[tokio::test]
async fn a_thousand_readers_are_one_statement_and_those_beyond_hear_too() {
    let (hub, timelines) = hub();
    let readers = 1..=i64::try_from(2 * AT_ONCE + 1).unwrap();
    // Each reader has two devices, but the store is asked about readers.
    let mut devices: Vec<_> = readers.clone().chain(readers).map(|reader| register(&hub, user(reader))).collect();
    for device in &devices {
        device.watch(followed(&[7]));
    }
    hub.pass_on(&published(7, 70)).await;
    for device in &mut devices {
        assert!(is_added(&device.next().await, 70));
    }
    assert_eq!(timelines.asked.load(Ordering::SeqCst), 3);
}
