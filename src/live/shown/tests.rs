//! Tests the watches of what clients show.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
use tokio::time::{advance, timeout};

use super::*;
use crate::{domain::ContentId, live::wanted::Wanted};

const LONG: Duration = Duration::from_mins(1);

fn hub() -> (Arc<ShownHub>, Arc<Wanted>) {
    let wanted = Arc::<Wanted>::default();
    (Arc::new(ShownHub::new(wanted.clone())), wanted)
}

fn content(id: i64) -> Shown {
    ContentId::try_new(id).unwrap().into()
}

fn user(id: i64) -> UserId {
    UserId::try_new(id).unwrap()
}

fn liked(id: i64) -> Announcement {
    Announcement::Changed { shown: content(id) }
}

fn watch(hub: &Arc<ShownHub>) -> ShownWatch {
    hub.watch(WatchedBy::Viewer(user(1), 2), HashSet::from([content(1), content(2)])).unwrap()
}

fn watch_without_viewer(hub: &Arc<ShownHub>, network: [u8; 4]) -> Result<ShownWatch, LiveError> {
    let limits = AnonymousLimits { watches: 2, bytes: 64 * 1024 * 1024 };
    hub.watch(WatchedBy::Anonymous(Some(network.into()), limits), HashSet::from([content(1), content(2)]))
}

/// A watch whose first hint has come, and lies back.
async fn settled_watch(hub: &Arc<ShownHub>) -> ShownWatch {
    let watch = watch(hub);
    assert_eq!(watch.next().await.len(), 2);
    advance(BEFORE).await;
    watch
}

#[tokio::test(start_paused = true)]
async fn many_changes_of_a_second_are_one_hint() {
    let (hub, _) = hub();
    let watch = settled_watch(&hub).await;
    for id in [1, 1, 2, 3, 1] {
        hub.pass_on(&liked(id));
    }
    let began = Instant::now();
    assert_eq!(watch.next().await, HashSet::from([content(1), content(2)]));
    assert!(began.elapsed() >= Duration::from_millis(CHANGED_MS) && began.elapsed() < Duration::from_secs(2));
    assert!(timeout(LONG, watch.next()).await.is_err(), "nothing else has changed");
}

#[tokio::test(start_paused = true)]
async fn a_hint_comes_a_second_after_the_last_announcement_at_least() {
    let (hub, _) = hub();
    let watch = settled_watch(&hub).await;
    hub.pass_on(&liked(1));
    advance(Duration::from_millis(600)).await;
    hub.pass_on(&liked(1));
    hub.pass_on(&liked(2));
    let last = Instant::now();
    assert_eq!(watch.next().await, HashSet::from([content(1)]));
    assert_eq!(watch.next().await, HashSet::from([content(1), content(2)]));
    assert!(last.elapsed() >= Duration::from_millis(CHANGED_MS));
    assert!(timeout(LONG, watch.next()).await.is_err(), "nothing else has changed");
}

#[tokio::test(start_paused = true)]
async fn what_was_not_followed_before_the_watch_may_have_changed() {
    let (hub, wanted) = hub();
    wanted.settled.send_replace(false);
    let first = watch(&hub);
    assert!(timeout(LONG, first.next()).await.is_err(), "a client would read before this node gets its announcements");
    wanted.settled.send_replace(true);
    assert_eq!(first.next().await.len(), 2);
    assert_eq!(watch(&hub).next().await.len(), 2, "it is followed for a moment only");
    advance(BEFORE).await;
    assert!(timeout(LONG, watch(&hub).next()).await.is_err(), "nothing has changed since it is followed");
    hub.pass_on(&liked(1));
    assert_eq!(watch(&hub).next().await, HashSet::from([content(1)]));
    advance(BEFORE).await;
    assert!(timeout(LONG, watch(&hub).next()).await.is_err(), "it is long past");
}

#[tokio::test(start_paused = true)]
async fn an_exclusion_is_hinted_at_to_its_reader_alone() {
    let (hub, _) = hub();
    let (ann, bob) = (user(1), user(2));
    let shown = || HashSet::from([Shown::User(ann), Shown::User(bob), content(1)]);
    let [of_ann, of_bob] = [ann, bob].map(|viewer| hub.watch(WatchedBy::Viewer(viewer, 1), shown()).unwrap());
    assert_eq!((of_ann.next().await.len(), of_bob.next().await.len()), (3, 3));
    assert!(of_ann.is_unchecked() && of_bob.is_unchecked() && !of_ann.is_unchecked(), "once at first");
    let changed = |change| Announcement::FollowsChanged { reader: ann, author: Some(bob), change };
    for change in [Some(RelationChange::Excluded), Some(RelationChange::Included), None] {
        hub.pass_on(&changed(change));
        assert_eq!(of_ann.next().await.len(), 3);
        assert!(of_ann.is_unchecked() && !of_bob.is_unchecked());
    }
    assert!(timeout(LONG, of_bob.next()).await.is_err());
    hub.pass_on(&changed(Some(RelationChange::Followed)));
    assert_eq!(of_bob.next().await, HashSet::from([Shown::User(ann)]));
}

#[tokio::test(start_paused = true)]
async fn what_may_have_been_missed_may_have_changed() {
    let (hub, _) = hub();
    let first = settled_watch(&hub).await;
    hub.pass_on(&Announcement::Gap);
    assert_eq!(watch(&hub).next().await.len(), 2, "it is not followed for long");
    assert_eq!(first.next().await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_checked_is_hinted_at_later() {
    let (hub, _) = hub();
    let watch = settled_watch(&hub).await;
    watch.put_off(HashSet::from([content(2)]));
    assert_eq!(watch.next().await, HashSet::from([content(2)]));
    assert!(watch.is_unchecked());
}

#[test]
fn exactly_what_is_watched_is_wanted() {
    let (hub, wanted) = hub();
    let counts = || {
        let counts = wanted.counts();
        [content(1), content(2), user(1).into()].map(|one| counts.get(&one).copied().unwrap_or_default())
    };
    let (first, second) = (watch(&hub), watch(&hub));
    let third = hub.watch(WatchedBy::Viewer(user(1), 2), HashSet::from([content(3)]));
    assert!(matches!(third, Err(LiveError::TooMany(2))), "a viewer has a bounded number of watches");
    drop(first);
    assert_eq!(counts(), [1, 1, 1]);
    drop(second);
    assert_eq!(counts(), [0, 0, 0]);
    let state = hub.lock();
    assert!(state.watchers.is_empty() && state.by_shown.is_empty() && state.by_viewer.is_empty());
}

#[test]
fn watches_without_a_viewer_are_bounded_and_end_without_a_trace() {
    let (hub, wanted) = hub();
    let ann = watch(&hub);
    let near = [(); 2].map(|()| watch_without_viewer(&hub, [192, 0, 2, 1]).unwrap());
    let third = watch_without_viewer(&hub, [192, 0, 2, 1]);
    assert!(matches!(third, Err(LiveError::TooManyOfAddress(2))));
    let far = watch_without_viewer(&hub, [192, 0, 2, 2]).unwrap();
    assert_eq!((far.viewer(), hub.watching(), hub.lock().anonymous.count()), (None, 4, 3));
    drop((ann, near, far));
    assert!(wanted.counts().values().all(|count| *count == 0), "{:?}", wanted.counts());
    let state = hub.lock();
    assert!(state.watchers.is_empty() && state.by_shown.is_empty() && state.anonymous.count() == 0);
}

#[tokio::test(start_paused = true)]
async fn watches_without_a_viewer_hear_of_changes_and_delay_no_viewer() {
    let (hub, _) = hub();
    let ann = settled_watch(&hub).await;
    let others: Vec<_> = (0..200)
        .flat_map(|number| [(); 2].map(|()| watch_without_viewer(&hub, [192, 0, 2, number]).unwrap()))
        .collect();
    let other = others.first().unwrap();
    assert!(timeout(LONG, other.next()).await.is_err(), "all of it has been followed for long");
    hub.pass_on(&liked(2));
    let began = Instant::now();
    assert_eq!(ann.next().await, HashSet::from([content(2)]));
    assert!(began.elapsed() < Duration::from_millis(CHANGED_MS + 100), "{:?}", began.elapsed());
    assert_eq!(other.next().await, HashSet::from([content(2)]));
    assert!(began.elapsed() > Duration::from_millis(CHANGED_MS + 400), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn contents_of_a_deleted_account_are_hinted_at() {
    let (hub, _) = hub();
    let watch = settled_watch(&hub).await;
    let deleted = |id| Announcement::AccountDeleted { user: user(id) };
    hub.pass_on(&deleted(7));
    assert_eq!(watch.next().await.len(), 2, "it is not known yet whose they are");
    assert!(watch.is_unchecked());
    let Shown::Content(second) = content(2) else { unreachable!() };
    watch.note_authors([(second, user(8))].into_iter());
    hub.pass_on(&deleted(7));
    assert!(timeout(LONG, watch.next()).await.is_err() && !watch.is_unchecked(), "nothing is theirs");
    hub.pass_on(&deleted(8));
    assert_eq!(watch.next().await, HashSet::from([content(2)]));
    assert!(watch.is_unchecked());
}
