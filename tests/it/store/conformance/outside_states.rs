//! Tests what SQL promises about inboxes outside it: tokens are compared and set, a stay in the tier has one
//! generation, every read leaves its number, and progress counts for the last attempt.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use anyhow::{Context as _, Result};
use tidefeed::{
    domain::{
        Direction, EdgeMode, Entry, Floor, PageRequest, PageSize, Position,
        delivery::{DeliveryPolicy, EdgeRule},
        limits::INBOX_BUCKETS,
        timeline::candidates::{Ask, Candidate, CandidateLimits, Pulled, Wanted},
        timeline::exclusion::ExclusionKind,
        timeline::outside::{Basis, Bucket, BucketToken, Fence, Generation, Header, NodeId, Revision, Slice, Window},
    },
    store::{
        Audits as _, Contents as _, Deliveries as _, Inboxes as _, OutsideStates as _, StoreError, Timelines as _,
        deliveries::AtOnce,
        inboxes::Covered,
        outside_states::{FencedReader, Occupancy, SideRead},
        relations::Pair,
        sql::SqlStore,
    },
};

use super::{World, deliveries::lease, rows::entry, user};
use crate::servers::on_each_backend;

const AUTHOR: i64 = 50;
const READER: i64 = 7;
const POLICY: DeliveryPolicy =
    DeliveryPolicy { rule: EdgeRule::Threshold { push_threshold: 5_000, active_days: 7 }, dormant_days: 30 };

fn token(epoch: i64) -> BucketToken {
    BucketToken { node: NodeId::of([9; 20]), epoch }
}

fn bucket() -> Bucket {
    Bucket::of(user(READER))
}

/// Contents 1 to 9 of the author, at the times of their numbers; the edge is `Fill`; the reader's bucket is admitted,
/// and the reader has entered under generation 3.
async fn world(backend: crate::servers::Backend) -> Result<World> {
    let world = World::on(backend).await?;
    world.put_contents(&(1..=9).map(|id| entry(id, user(AUTHOR), id)).collect::<Vec<Entry>>()).await?;
    world.put_edge(user(READER), user(AUTHOR), EdgeMode::Fill).await?;
    world.set_floor(user(READER), Floor::At(Position::OLDEST)).await?;
    world.insert("user_counts", "user_id, followers", &[format!("({AUTHOR}, 1)")]).await?;
    assert!(world.store.set_token(bucket(), None, Some(token(1))).await?);
    assert!(world.store.enter(user(READER), Generation(3)).await?);
    Ok(world)
}

/// Of a generation, with so many rows, under a basis.
async fn read_for_build(store: &SqlStore, (generation, keep, basis): (i64, u32, i64)) -> Result<Option<Vec<Position>>> {
    let read = store.read_for_builds(&[(user(READER), Generation(generation), Basis(basis))], keep).await?;
    Ok(read.into_iter().next().map(|(_, rows)| rows))
}

fn fence() -> Fence {
    Fence { token: token(1), generation: Generation(3) }
}

on_each_backend! {
    async fn a_token_is_set_only_over_the_one_that_was_seen(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let store = &world.store;
        assert!(store.tokens().await?.is_empty());
        assert!(!store.set_token(bucket(), Some(token(1)), Some(token(2))).await?, "there is none");
        assert!(store.set_token(bucket(), None, Some(token(-1))).await?);
        assert!(!store.set_token(bucket(), None, Some(token(2))).await?, "there is one");
        assert!(!store.set_token(bucket(), Some(token(2)), None).await?, "it is another");
        assert_eq!(store.tokens().await?, [(bucket(), token(-1))]);
        assert!(store.set_token(bucket(), Some(token(-1)), None).await?);
        assert!(store.tokens().await?.is_empty());
        Ok(())
    }

    async fn entering_an_admitted_bucket_turns_the_sql_inbox_off(backend: Backend) -> Result<()> {
        let world = world(backend).await?;
        let store = &world.store;
        assert!(!store.enter(user(READER), Generation(4)).await?, "the stay has a generation");
        assert!(!store.enter(user(READER + 1), Generation(4)).await?, "the bucket has no token");
        assert_eq!(store.fence(user(READER)).await?, Some((fence(), None)));
        assert_eq!(store.floor(user(READER)).await?, Floor::Off);
        assert_eq!(store.mark_seen(&[user(READER)], 100).await?[0].floor, Floor::Off, "being seen opens nothing");
        assert_eq!(store.unseen(0, 100, 9).await?, (vec![], None));
        assert_eq!(store.unseen(0, 101, 9).await?, (vec![user(READER)], None));
        assert_eq!(store.unseen(0, 100, 1).await?, (vec![], Some(READER)), "there may be more");
        assert_eq!(store.unseen(READER, 101, 9).await?, (vec![], None));
        assert!(store.leave(user(READER)).await? && !store.leave(user(READER)).await?);
        assert_eq!((store.floor(user(READER)).await?, store.fence(user(READER)).await?), (Floor::OPEN, None));
        Ok(())
    }

    /// A visit may have been noted just before the deletion.
    async fn a_deleted_account_cannot_enter_an_outside_inbox(backend: Backend) -> Result<()> {
        let world = world(backend).await?;
        let store = &world.store;
        store.leave(user(READER)).await?;
        world.insert("account_deletions", "user_id, deleted_at, look_at", &[format!("({READER}, 1, 1)")]).await?;
        assert!(!store.enter(user(READER), Generation(4)).await?);
        assert_eq!(store.fence(user(READER)).await?, None);
        Ok(())
    }

    async fn readers_are_counted_by_tier_and_audited_in_all_but_the_last(backend: Backend) -> Result<()> {
        let world = world(backend).await?;
        let store = &world.store;
        world.set_floor(user(READER + 1), Floor::OPEN).await?;
        world.set_floor(user(READER + 2), Floor::Off).await?;
        let counted = store.occupancy().await?;
        let expected = Occupancy { in_sql: 1, without: 1, readers: 1, claimed: 0, admitted: 1 };
        assert_eq!(counted, expected);
        read_for_build(store, (3, 9, 5)).await?;
        assert_eq!(store.occupancy().await?, Occupancy { claimed: 1, ..expected });
        assert_eq!(store.readers(0, 9).await?, [READER, READER + 1].map(user));
        Ok(())
    }

    async fn a_build_reads_all_edges_and_leaves_its_basis(backend: Backend) -> Result<()> {
        let world = world(backend).await?;
        let store = &world.store;
        world.put_edge(user(READER), user(51), EdgeMode::Pull).await?;
        world.put_edge(user(READER), user(52), EdgeMode::Push).await?;
        world.put_contents(&[entry(20, user(51), 20), entry(21, user(52), 21), entry(22, user(53), 22)]).await?;
        world.exclude(user(READER), user(52), ExclusionKind::Muted).await?;
        let rows = read_for_build(store, (3, 4, -8)).await?.context("rows")?;
        let times: Vec<i64> = rows.iter().map(|row| row.publish_time()).collect();
        assert_eq!(times, [21, 20, 9, 8], "who is muted may be heard again");
        assert_eq!(store.fence(user(READER)).await?, Some((fence(), Some(Basis(-8)))));
        assert_eq!(read_for_build(store, (4, 4, 1)).await?, None);
        assert_eq!(store.fence(user(READER)).await?, Some((fence(), Some(Basis(-8)))), "of another stay");
        Ok(())
    }

    async fn readers_enter_and_are_read_for_together(backend: Backend) -> Result<()> {
        let world = world(backend).await?;
        let store = &world.store;
        let next = READER + i64::from(INBOX_BUCKETS);
        let readers = [READER, READER + 1, next, next + i64::from(INBOX_BUCKETS)].map(user);
        world.put_edge(readers[2], user(AUTHOR), EdgeMode::Push).await?;
        let deleted = format!("({}, 1, 1)", readers[3].get());
        world.insert("account_deletions", "user_id, deleted_at, look_at", &[deleted]).await?;
        let entered = store.enter_all(&readers.map(|reader| (reader, Generation(5)))).await?;
        assert_eq!(entered, [readers[2]], "the first is there, the second's bucket has no token, the fourth is gone");
        assert!(store.enter_all(&[]).await?.is_empty());
        let fenced = store.fences(&readers).await?;
        let of = |reader, generation, basis| FencedReader { reader, fence: Fence { generation, ..fence() }, basis };
        assert_eq!(fenced, [of(readers[0], Generation(3), None), of(readers[2], Generation(5), None)]);
        let builds = [(readers[0], 3, 7), (readers[1], 3, 8), (readers[2], 4, 9)];
        let builds = |third| builds.map(|(reader, generation, basis)| {
            (reader, Generation(if basis == 9 { third } else { generation }), Basis(basis))
        });
        let read = store.read_for_builds(&builds(4), 2).await?;
        assert_eq!(read.iter().map(|(reader, rows)| (*reader, rows.len())).collect::<Vec<_>>(), [(readers[0], 2)]);
        let read = store.read_for_builds(&builds(5), 2).await?;
        assert_eq!(read.iter().map(|(reader, _)| *reader).collect::<Vec<_>>(), [readers[0], readers[2]]);
        assert_eq!(read[0].1, read[1].1, "both follow the author");
        let fenced = store.fences(&readers).await?;
        assert_eq!(fenced.iter().map(|it| it.basis).collect::<Vec<_>>(), [Some(Basis(7)), Some(Basis(9))]);
        Ok(())
    }

    async fn an_edge_is_trusted_as_the_one_that_was_read(backend: Backend) -> Result<()> {
        let world = world(backend).await?;
        let (store, pair) = (&world.store, Pair { follower: user(READER), author: user(AUTHOR) });
        world.insert("user_counts", "user_id, authors_version", &[format!("({READER}, 5)")]).await?;
        let version = "SELECT authors_version FROM user_counts";
        assert_eq!(store.cover(pair.follower, pair.author, 5, 77).await?, Covered::Outside);
        let (found, rows) = store.read_for_cover(pair, 2, 11).await?.context("an edge")?;
        let times: Vec<i64> = rows.iter().map(|row| row.publish_time()).collect();
        assert_eq!((found, times), (Some(fence()), vec![9, 8]));
        store.read_for_cover(pair, 2, 12).await?;
        assert!(!store.trust(pair, 11).await?, "another worker has read it since");
        assert_eq!(world.number(version).await?, 5);
        assert!(store.trust(pair, 12).await? && !store.trust(pair, 12).await?);
        assert_eq!(world.number(version).await?, 12);
        assert!(store.read_for_cover(pair, 2, 13).await?.is_none(), "it is not to be covered");
        world.put_edge(pair.follower, pair.author, EdgeMode::Fill).await?;
        store.read_for_cover(pair, 2, 14).await?;
        store.leave(pair.follower).await?;
        assert!(!store.trust(pair, 14).await?, "the inbox in SQL does not hold the author");
        Ok(())
    }

    async fn progress_counts_for_the_last_attempt(backend: Backend) -> Result<()> {
        let world = world(backend).await?;
        let (store, content) = (&world.store, entry(9, user(AUTHOR), 9));
        world.deliver(&[content]).await?;
        let begun = store.begin_at_once(content.content, 100, &POLICY, 1).await?.context("a batch")?;
        assert_eq!((begun.recipients.len(), begun.recipients[0].fence), (1, fence()));
        store.begin_at_once(content.content, 100, &POLICY, 2).await?;
        let ended = store.deliver_at_once_as(content.content, 100, &POLICY, 1).await?;
        assert_eq!(ended, AtOnce::Ended { rows: 0 });
        assert!(store.find(content.content).await?.is_some(), "another attempt has begun");
        store.deliver_at_once_as(content.content, 100, &POLICY, 2).await?;
        assert!(store.find(content.content).await?.is_none());
        Ok(())
    }

    async fn a_batch_counts_for_the_last_attempt(backend: Backend) -> Result<()> {
        let world = world(backend).await?;
        let (store, content) = (&world.store, entry(9, user(AUTHOR), 9));
        world.put_edge(user(READER + 1), user(AUTHOR), EdgeMode::Push).await?;
        world.set_floor(user(READER + 1), Floor::OPEN).await?;
        world.deliver(&[content]).await?;
        store.extend_chain(content.content, 100, 9).await?;
        let task = store.take_subtask((content.content, 0), lease(1, 2)).await?.context("a subtask")?;
        let first = store.begin_batch(&task, 1, 1).await?.context("a batch")?;
        assert_eq!((first.recipients.len(), first.through), (1, READER));
        let second = store.begin_batch(&task, 1, 2).await?.context("a batch")?;
        assert_eq!(store.push_batch_as(&task, first.through, 1).await?.progress, None);
        let pushed = store.push_batch_as(&task, second.through, 2).await?;
        assert_eq!((pushed.progress.unwrap().pushed_through, pushed.rows), (READER, 0), "nothing of it is in SQL");
        let last = store.begin_batch(&task, 10, 3).await?.context("a batch")?;
        assert_eq!(last.recipients, []);
        let pushed = store.push_batch_as(&task, last.through, 3).await?;
        assert!(pushed.progress.unwrap().is_done() && pushed.rows == 1);
        assert!(store.finish(content.content).await?);
        Ok(())
    }

    async fn a_node_without_outside_inboxes_refuses_to_deliver_to_them(
        backend: Backend,
    ) -> Result<()> {
        let world = world(backend).await?;
        let (store, content) = (&world.store, entry(9, user(AUTHOR), 9));
        world.deliver(&[content]).await?;
        let refused = store.deliver_at_once(content.content, 100, &POLICY).await;
        assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
        store.extend_chain(content.content, 100, 9).await?;
        let task = store.take_subtask((content.content, 0), lease(1, 2)).await?.context("a subtask")?;
        assert!(matches!(store.push_batch(&task, 10).await, Err(StoreError::Refused(_))));
        store.set_token(bucket(), Some(token(1)), None).await?;
        assert!(store.push_batch(&task, 10).await?.progress.unwrap().is_done());
        Ok(())
    }

    async fn an_outside_page_is_one_statement_and_checks_the_fence(backend: Backend) -> Result<()> {
        let world = world(backend).await?;
        let store = &world.store;
        read_for_build(store, (3, 9, 5)).await?;
        let header = |fence| Header { fence, revision: Revision(1), basis: Some(Basis(5)), floor: Position::OLDEST };
        let request = PageRequest::newest(PageSize::try_new(2)?);
        let window = Window { direction: Direction::Older, bound: None, limit: 3 };
        let rows = [9, 8, 7].map(|time| Position::bound(time, time)).to_vec();
        let side = |fence| SideRead { window, slice: Slice { header: header(fence), rows: rows.clone() } };
        let authors = [user(AUTHOR)];
        let limits = CandidateLimits { ahead: 3, behind: 3 };
        let ask = Ask { pulled: Pulled::Contents(&authors), ..Ask::of_inbox(limits, Wanted::ENTRIES) };
        let before = store.statements();
        let read = store.candidates_with(user(READER), &request, (&side(fence()), None), &ask).await?;
        assert_eq!(store.statements() - before, 1);
        let expected = read.expected.context("the fence")?;
        assert_eq!((expected.fence, expected.basis), (fence(), Basis(5)));
        let found = [read.found.in_flight.as_ref(), Some(&read.found.ahead), Some(&read.found.pulled_ahead)];
        let found: Vec<usize> = found.into_iter().flatten().map(Vec::len).collect();
        assert_eq!(found, [0, 3, 3], "nothing is in flight; the author is still to be pulled");
        for other in [Fence { token: token(2), ..fence() }, Fence { generation: Generation(4), ..fence() }] {
            let read = store.candidates_with(user(READER), &request, (&side(other), None), &ask).await?;
            assert_eq!(read.expected, None);
        }
        store.leave(user(READER)).await?;
        let read = store.candidates_with(user(READER), &request, (&side(fence()), None), &ask).await?;
        assert_eq!(read.expected, None);
        Ok(())
    }

    /// Content 8 is by another author, whom the node drops; 7 is removed; 6 is below the floor of the slice.
    async fn a_page_by_remembered_authors_has_the_whole_slice(
        backend: Backend,
    ) -> Result<()> {
        let world = world(backend).await?;
        let store = &world.store;
        read_for_build(store, (3, 9, 5)).await?;
        world.put_contents(&[entry(20, user(AUTHOR + 1), 20)]).await?;
        world.insert("user_counts", "user_id, authors_version", &[format!("({READER}, 77)")]).await?;
        store.remove(user(AUTHOR), entry(7, user(AUTHOR), 7).content, 1, 1).await?;
        let request = PageRequest { bound: Some(Position::bound(8, 8)), ..PageRequest::newest(PageSize::try_new(2)?) };
        let floor = Position::bound(6, 6);
        let header = |fence| Header { fence, revision: Revision(1), basis: Some(Basis(5)), floor };
        let slice = |fence, rows: &[i64]| Slice {
            header: header(fence),
            rows: rows.iter().map(|time| Position::bound(*time, *time)).collect(),
        };
        let ahead = |fence| SideRead {
            window: Window { direction: Direction::Older, bound: request.bound, limit: 3 },
            slice: slice(fence, &[7, 6, 5]),
        };
        let behind = |fence| SideRead {
            window: Window::from(Position::bound(8, 8), Direction::Newer, 4),
            slice: slice(fence, &[8, 9, 20]),
        };
        let limits = CandidateLimits { ahead: 3, behind: 4 };
        for wanted in [Wanted::ENTRIES, Wanted::ALL] {
            let ask = Ask::of_inbox(limits, wanted);
            let before = store.statements();
            let sides = (&ahead(fence()), Some(&behind(fence())));
            let read = store.candidates_with(user(READER), &request, sides, &ask).await?;
            assert_eq!(store.statements() - before, 1);
            let expected = read.expected.context("the fence")?;
            assert_eq!((expected.fence, expected.basis), (fence(), Basis(5)));
            let ids = |rows: &[Candidate]| {
                let mut ids: Vec<i64> = rows.iter().map(|row| row.entry.content.get()).collect();
                ids.sort_unstable();
                ids
            };
            assert_eq!((read.found.version, read.found.floor), (Some(77), Floor::At(floor)));
            assert_eq!((ids(&read.found.ahead), ids(&read.found.behind)), (vec![5, 6], vec![8, 9, 20]));
        }
        let other = Fence { token: token(2), ..fence() };
        let ask = Ask::of_inbox(limits, Wanted::ALL);
        let sides = (&ahead(other), Some(&behind(other)));
        let read = store.candidates_with(user(READER), &request, sides, &ask).await?;
        assert_eq!(read.expected, None);
        Ok(())
    }
}
