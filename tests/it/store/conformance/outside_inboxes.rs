//! Tests what [`InboxStore`] promises, over memory, Redis and Redis Cluster, and in part over Cassandra.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use anyhow::Result;
use tidefeed::{
    domain::{
        Direction, Position, UserId,
        timeline::outside::{
            Basis, Bucket, BucketToken, Claim, Cleared, Cover, Delivered, Fence, Generation, Header, NodeId, Nonce,
            Revision, Slice, Window,
        },
    },
    store::{
        InboxStore,
        cassandra::{Cassandra, CassandraInboxes, CassandraOptions},
        inbox_store::{InboxStoreError, Push},
        redis::RedisInboxes,
    },
};
use tokio::sync::OnceCell;

use crate::{harness::cases_by, memory_inboxes::MemoryInboxes, servers};

use super::{
    adapters::{Adapter, on_each_adapter},
    outside_model,
    outside_numbered::Numbered,
};

pub const KEEP: usize = 10;
const ALL: Window = Window { direction: Direction::Older, bound: None, limit: usize::MAX };

on_each_adapter!(
    an_opened_inbox_has_no_rows_and_claims_nothing,
    a_repeated_opening_is_another_one,
    no_operation_brings_a_revision_back,
    deliveries_answer_in_the_order_of_the_recipients,
    a_claim_needs_the_expected_revision_and_token,
    covering_needs_the_fence_and_raises_the_floor,
    rows_are_removed_at_the_expected_revision_only,
    nothing_is_done_without_an_inbox,
    a_forgotten_inbox_is_gone_until_it_is_built_again,
    another_nodes_token_is_refused_and_changes_nothing,
    an_inbox_is_trimmed_above_a_tenth_more_than_is_kept,
    windows_page_through_equal_times_in_both_directions,
    the_largest_numbers_are_kept_exactly,
    random_operations_give_the_answers_of_the_model,
);

/// The promises that hold in Cassandra as well. The others are in [`super::cassandra`].
mod cassandra {
    use super::Adapter;

    macro_rules! in_cassandra {
        ($($name:ident),+ $(,)?) => {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() -> anyhow::Result<()> {
                super::$name(Adapter::Cassandra).await
            })+
        };
    }
    in_cassandra!(
        an_opened_inbox_has_no_rows_and_claims_nothing,
        a_repeated_opening_is_another_one,
        no_operation_brings_a_revision_back,
        deliveries_answer_in_the_order_of_the_recipients,
        a_claim_needs_the_expected_revision_and_token,
        covering_needs_the_fence_and_raises_the_floor,
        nothing_is_done_without_an_inbox,
        another_nodes_token_is_refused_and_changes_nothing,
        windows_page_through_equal_times_in_both_directions,
        the_largest_numbers_are_kept_exactly,
    );
}

impl Adapter {
    /// Whether a store trims inboxes and empties those that are opened again.
    fn removes_rows(self) -> bool {
        self != Self::Cassandra
    }

    /// The answer to a delivery to an inbox that does not exist, or has another fence.
    fn to_nobody(self) -> Delivered {
        if self == Self::Cassandra { Delivered::Added } else { Delivered::Skipped }
    }
}

/// The tests in Cassandra share a keyspace, and each has its own readers.
pub async fn in_cassandra() -> Result<Numbered> {
    static OPTIONS: OnceCell<CassandraOptions> = OnceCell::const_new();
    static TESTS: AtomicI64 = AtomicI64::new(0);
    let options = async || Ok::<_, anyhow::Error>(servers::cassandra().await?.fresh_keyspace(1));
    // A session belongs to the runtime of its test.
    let cassandra = Cassandra::new(OPTIONS.get_or_try_init(options).await?.clone());
    let store = CassandraInboxes::new(cassandra, NodeId::of([7; 20]));
    store.connect().await?;
    Ok(Numbered::above(Arc::new(store), TESTS.fetch_add(1, Ordering::Relaxed) * 128 * 10_000))
}

async fn store(adapter: Adapter) -> Result<Arc<Numbered>> {
    if adapter == Adapter::Cassandra {
        return Ok(Arc::new(in_cassandra().await?));
    }
    let store: Arc<dyn InboxStore> = match adapter.redis(|_| ()).await? {
        None => Arc::new(MemoryInboxes::new(NodeId::of([7; 20]))),
        Some(redis) => Arc::new(RedisInboxes::new(redis)),
    };
    Ok(Arc::new(Numbered::new(store)))
}

/// A reader of bucket 1.
pub fn reader(number: i64) -> UserId {
    UserId::try_new(1 + 128 * number).unwrap()
}

pub fn at(time: i64) -> Position {
    Position::bound(time, time)
}

pub async fn fence(store: &dyn InboxStore) -> Result<Fence> {
    let node = store.identify(Bucket::of(reader(1))).await?;
    Ok(Fence { token: BucketToken { node, epoch: -3 }, generation: Generation(i64::MAX) })
}

pub fn push(fence: Fence, row: Position, nonce: i64) -> Push {
    let recipients = vec![(reader(1), fence.generation)];
    Push { row, recipients, token: fence.token, keep: KEEP, nonce: Nonce(nonce) }
}

fn claim(rows: Vec<Position>, floor: Position, nonce: i64) -> Claim {
    Claim { rows, floor, basis: Basis(-5), nonce: Nonce(nonce) }
}

async fn opened(store: &dyn InboxStore) -> Result<Fence> {
    let fence = fence(store).await?;
    store.open(reader(1), fence, Nonce(1)).await?;
    Ok(fence)
}

pub async fn all(store: &dyn InboxStore) -> Result<Option<Slice>> {
    Ok(store.slice(reader(1), &ALL).await?)
}

fn slice(fence: Fence, revision: i64, claimed: Option<Position>, times: &[i64]) -> Slice {
    let (basis, floor) = (claimed.map(|_| Basis(-5)), claimed.unwrap_or(Position::NEWEST));
    let header = Header { fence, revision: Revision(revision), basis, floor };
    Slice { header, rows: times.iter().copied().map(at).collect() }
}

async fn an_opened_inbox_has_no_rows_and_claims_nothing(adapter: Adapter) -> Result<()> {
    let store = store(adapter).await?;
    assert_eq!(all(&*store).await?, None);
    let fence = opened(&*store).await?;
    assert_eq!(all(&*store).await?, Some(slice(fence, 1, None, &[])));
    store.deliver(&push(fence, at(5), 9)).await?;
    let next = Fence { generation: Generation(2), ..fence };
    store.open(reader(1), next, Nonce(2)).await?;
    assert_eq!(all(&*store).await?, Some(slice(next, 2, None, &[])));
    Ok(())
}

async fn a_repeated_opening_is_another_one(adapter: Adapter) -> Result<()> {
    let store = store(adapter).await?;
    let fence = opened(&*store).await?;
    store.deliver(&push(fence, at(5), 9)).await?;
    assert_eq!(store.open(reader(1), fence, Nonce(1)).await?, Revision(2));
    let made = claim(vec![at(4)], at(4), 2);
    assert!(!store.claim(reader(1), (fence.token, Revision(1)), &made, KEEP).await?, "of the first opening");
    let rows = |rows: &'static [i64]| if adapter.removes_rows() { &[][..] } else { rows };
    assert_eq!(all(&*store).await?, Some(slice(fence, 2, None, rows(&[5]))));
    assert!(store.claim(reader(1), (fence.token, Revision(2)), &made, KEEP).await?);
    store.open(reader(1), fence, Nonce(1)).await?;
    assert!(!store.claim(reader(1), (fence.token, Revision(2)), &made, KEEP).await?, "it was claimed before");
    assert_eq!(all(&*store).await?, Some(slice(fence, 4, None, rows(&[5, 4]))));
    Ok(())
}

async fn no_operation_brings_a_revision_back(adapter: Adapter) -> Result<()> {
    let store = store(adapter).await?;
    let fence = opened(&*store).await?;
    let cover = Cover { rows: vec![at(3)], floor: at(3), nonce: Nonce(1) };
    for next in 2..5 {
        assert!(store.cover(reader(1), fence, &cover, KEEP).await?);
        assert_eq!(all(&*store).await?.unwrap().header.revision, Revision(next), "covered");
    }
    let next = if adapter.removes_rows() { 8 } else { 5 };
    for next in 5..next {
        assert_eq!(store.deliver(&Push { keep: 0, ..push(fence, at(5), 1) }).await?, [Delivered::Added]);
        assert_eq!(all(&*store).await?.unwrap().header.revision, Revision(next), "trimmed");
    }
    for next in next..next + 3 {
        assert!(store.claim(reader(1), (fence.token, Revision(next - 1)), &claim(Vec::new(), at(3), 1), KEEP).await?);
        assert_eq!(all(&*store).await?.unwrap().header.revision, Revision(next), "claimed");
    }
    Ok(())
}

async fn deliveries_answer_in_the_order_of_the_recipients(adapter: Adapter) -> Result<()> {
    let store = store(adapter).await?;
    let fence = fence(&*store).await?;
    // More than one call of a script accepts.
    for number in (1..=600).step_by(2) {
        store.open(reader(number), fence, Nonce(1)).await?;
    }
    let recipients = |generation| (1..=600).rev().map(|number| (reader(number), generation)).collect();
    let expected: Vec<Delivered> =
        (1..=600).rev().map(|number| if number % 2 == 1 { Delivered::Added } else { adapter.to_nobody() }).collect();
    let mut push = Push { recipients: recipients(fence.generation), ..push(fence, at(5), 9) };
    for _ in 0..2 {
        assert_eq!(store.deliver(&push).await?, expected);
    }
    assert_eq!(all(&*store).await?, Some(slice(fence, 1, None, &[5])), "a row changes neither claim nor revision");
    push.recipients = recipients(Generation(2));
    assert_eq!(store.deliver(&push).await?, vec![adapter.to_nobody(); 600], "of another generation");
    push.recipients = recipients(fence.generation);
    push.token.epoch = 4;
    assert_eq!(store.deliver(&push).await?, vec![adapter.to_nobody(); 600], "of another epoch");
    push.recipients.clear();
    assert_eq!(store.deliver(&push).await?, []);
    Ok(())
}

async fn a_claim_needs_the_expected_revision_and_token(adapter: Adapter) -> Result<()> {
    let store = store(adapter).await?;
    let fence = opened(&*store).await?;
    store.deliver(&push(fence, at(2), 9)).await?;
    let made = claim(vec![at(8), at(6), at(7)], at(6), 2);
    let other = BucketToken { epoch: 8, ..fence.token };
    assert!(!store.claim(reader(1), (fence.token, Revision(7)), &made, KEEP).await?);
    assert!(!store.claim(reader(1), (other, Revision(1)), &made, KEEP).await?);
    assert_eq!(all(&*store).await?, Some(slice(fence, 1, None, &[2])));
    assert!(store.claim(reader(1), (fence.token, Revision(1)), &made, KEEP).await?);
    assert_eq!(all(&*store).await?, Some(slice(fence, 2, Some(at(6)), &[8, 7, 6, 2])));
    assert!(!store.claim(reader(1), (fence.token, Revision(1)), &made, KEEP).await?, "it was claimed already");
    let nothing = claim(Vec::new(), Position::OLDEST, -9);
    assert!(store.claim(reader(1), (fence.token, Revision(2)), &nothing, KEEP).await?);
    assert_eq!(all(&*store).await?, Some(slice(fence, 3, Some(Position::OLDEST), &[8, 7, 6, 2])));
    Ok(())
}

async fn covering_needs_the_fence_and_raises_the_floor(adapter: Adapter) -> Result<()> {
    let store = store(adapter).await?;
    let fence = opened(&*store).await?;
    store.claim(reader(1), (fence.token, Revision(1)), &claim(vec![at(9)], at(5), 2), KEEP).await?;
    let cover = |floor, nonce| Cover { rows: vec![at(7), at(3)], floor, nonce: Nonce(nonce) };
    let (token, generation) = (BucketToken { epoch: 8, ..fence.token }, Generation(8));
    for other in [Fence { token, ..fence }, Fence { generation, ..fence }] {
        assert!(!store.cover(reader(1), other, &cover(at(3), 3), KEEP).await?);
    }
    assert_eq!(all(&*store).await?, Some(slice(fence, 2, Some(at(5)), &[9])));
    assert!(store.cover(reader(1), fence, &cover(Position::OLDEST, 3), KEEP).await?);
    assert_eq!(all(&*store).await?, Some(slice(fence, 3, Some(at(5)), &[9, 7, 3])), "the floor does not sink");
    for next in 4..6 {
        assert!(store.cover(reader(1), fence, &cover(at(6), 4), KEEP).await?);
        assert_eq!(all(&*store).await?, Some(slice(fence, next, Some(at(6)), &[9, 7, 3])));
    }
    let nothing = Cover { rows: Vec::new(), floor: Position::NEWEST, nonce: Nonce(5) };
    assert!(store.cover(reader(1), fence, &nothing, KEEP).await?);
    assert_eq!(all(&*store).await?, Some(slice(fence, 6, Some(Position::NEWEST), &[9, 7, 3])));
    Ok(())
}

async fn rows_are_removed_at_the_expected_revision_only(adapter: Adapter) -> Result<()> {
    let store = store(adapter).await?;
    let fence = opened(&*store).await?;
    store.claim(reader(1), (fence.token, Revision(1)), &claim(vec![at(9), at(8)], at(8), 2), KEEP).await?;
    let cleared = |rows, nonce| Cleared { rows, basis: Basis(-5), nonce: Nonce(nonce) };
    let one = cleared(vec![at(9), at(1)], 3);
    let other = BucketToken { epoch: 8, ..fence.token };
    assert!(!store.remove(reader(1), (fence.token, Revision(1)), &one).await?);
    assert!(!store.remove(reader(1), (other, Revision(2)), &one).await?);
    assert_eq!(all(&*store).await?, Some(slice(fence, 2, Some(at(8)), &[9, 8])));
    assert!(store.remove(reader(1), (fence.token, Revision(2)), &one).await?);
    assert_eq!(all(&*store).await?, Some(slice(fence, 3, Some(at(8)), &[8])));
    assert!(!store.remove(reader(1), (fence.token, Revision(2)), &one).await?);
    assert!(store.remove(reader(1), (fence.token, Revision(3)), &cleared(vec![at(8)], 4)).await?);
    assert_eq!(all(&*store).await?, Some(slice(fence, 4, Some(at(8)), &[])), "an inbox without rows is one");
    Ok(())
}

async fn a_forgotten_inbox_is_gone_until_it_is_built_again(adapter: Adapter) -> Result<()> {
    let store = store(adapter).await?;
    let fence = opened(&*store).await?;
    store.open(reader(2), fence, Nonce(1)).await?;
    store.claim(reader(1), (fence.token, Revision(1)), &claim(vec![at(9)], at(8), 2), KEEP).await?;
    for _ in 0..2 {
        store.forget(reader(1)).await?;
        assert_eq!(all(&*store).await?, None);
        assert_eq!(store.deliver(&push(fence, at(3), 9)).await?, [Delivered::Skipped]);
        assert!(store.slice(reader(2), &ALL).await?.is_some(), "another reader's stays");
    }
    let opened = store.open(reader(1), fence, Nonce(1)).await?;
    assert!(![Revision(1), Revision(2)].contains(&opened), "a late claim of the former inbox finds its revision");
    assert_eq!(all(&*store).await?.unwrap().rows, []);
    Ok(())
}

async fn nothing_is_done_without_an_inbox(adapter: Adapter) -> Result<()> {
    let store = store(adapter).await?;
    let fence = fence(&*store).await?;
    let cover = Cover { rows: vec![at(3)], floor: at(3), nonce: Nonce(3) };
    let cleared = Cleared { rows: vec![at(3)], basis: Basis(1), nonce: Nonce(3) };
    assert_eq!(store.deliver(&push(fence, at(3), 9)).await?, [adapter.to_nobody()]);
    assert!(!store.claim(reader(1), (fence.token, Revision(1)), &claim(vec![at(3)], at(3), 2), KEEP).await?);
    assert!(!store.cover(reader(1), fence, &cover, KEEP).await?);
    assert!(!store.remove(reader(1), (fence.token, Revision(1)), &cleared).await?);
    assert_eq!(all(&*store).await?, None);
    Ok(())
}

pub async fn is_refused_everywhere(store: &dyn InboxStore, fence: Fence) -> Result<()> {
    let (reader, expected) = (reader(1), (fence.token, Revision(1)));
    let cover = Cover { rows: vec![at(3)], floor: at(3), nonce: Nonce(3) };
    let cleared = Cleared { rows: vec![at(3)], basis: Basis(1), nonce: Nonce(3) };
    let refusals = [
        store.open(reader, fence, Nonce(1)).await.err(),
        store.deliver(&push(fence, at(3), 9)).await.err(),
        store.claim(reader, expected, &claim(vec![at(3)], at(3), 2), KEEP).await.err(),
        store.cover(reader, fence, &cover, KEEP).await.err(),
        store.remove(reader, expected, &cleared).await.err(),
    ];
    for refusal in refusals {
        anyhow::ensure!(matches!(refusal, Some(InboxStoreError::OtherNode)), "{refusal:?}");
    }
    Ok(())
}

async fn another_nodes_token_is_refused_and_changes_nothing(adapter: Adapter) -> Result<()> {
    let store = store(adapter).await?;
    let fence = opened(&*store).await?;
    let token = BucketToken { node: NodeId::of([8; 20]), ..fence.token };
    is_refused_everywhere(&*store, Fence { token, ..fence }).await?;
    assert_eq!(all(&*store).await?, Some(slice(fence, 1, None, &[])));
    Ok(())
}

async fn an_inbox_is_trimmed_above_a_tenth_more_than_is_kept(adapter: Adapter) -> Result<()> {
    let store = store(adapter).await?;
    let fence = opened(&*store).await?;
    let made = claim((1..=11).map(at).collect(), Position::OLDEST, 2);
    store.claim(reader(1), (fence.token, Revision(1)), &made, KEEP).await?;
    let eleven: Vec<i64> = (1..=11).rev().collect();
    assert_eq!(all(&*store).await?, Some(slice(fence, 2, Some(Position::OLDEST), &eleven)));
    store.deliver(&push(fence, at(12), 3)).await?;
    let ten: Vec<i64> = (3..=12).rev().collect();
    assert_eq!(all(&*store).await?, Some(slice(fence, 3, Some(at(3)), &ten)));
    let made = claim(vec![at(1), at(2)], Position::OLDEST, 4);
    store.claim(reader(1), (fence.token, Revision(3)), &made, KEEP).await?;
    assert_eq!(all(&*store).await?, Some(slice(fence, 4, Some(at(3)), &ten)), "what is claimed is trimmed as well");
    let cover = Cover { rows: vec![at(1), at(2)], floor: at(9), nonce: Nonce(5) };
    store.cover(reader(1), fence, &cover, KEEP).await?;
    assert_eq!(all(&*store).await?, Some(slice(fence, 5, Some(at(9)), &ten)), "the floor stays above the lowest row");
    store.deliver(&Push { keep: 0, ..push(fence, at(13), 6) }).await?;
    assert_eq!(all(&*store).await?, Some(slice(fence, 6, Some(Position::NEWEST), &[])));
    Ok(())
}

async fn windows_page_through_equal_times_in_both_directions(adapter: Adapter) -> Result<()> {
    let store = store(adapter).await?;
    let fence = opened(&*store).await?;
    let rows: Vec<Position> = (1..=40).map(|id| Position::bound(id / 14, id * 7 + 1)).collect();
    let made = claim(rows.iter().rev().copied().collect(), Position::OLDEST, 2);
    assert!(store.claim(reader(1), (fence.token, Revision(1)), &made, 100).await?);
    let between = (0..300).step_by(3).flat_map(|id| (0..5).map(move |time| Position::bound(time, id)));
    for bound in rows.iter().copied().chain(between).chain([Position::OLDEST, Position::NEWEST]) {
        for limit in [0, 1, 7, 100] {
            let older: Vec<Position> = rows.iter().rev().filter(|row| **row < bound).take(limit).copied().collect();
            let newer: Vec<Position> = rows.iter().filter(|row| **row > bound).take(limit).copied().collect();
            for (direction, expected) in [(Direction::Older, older), (Direction::Newer, newer)] {
                let found = store.slice(reader(1), &Window { direction, bound: Some(bound), limit }).await?;
                assert_eq!(found.unwrap().rows, expected, "{direction:?} {bound:?} {limit}");
            }
        }
    }
    let oldest = store.slice(reader(1), &Window { direction: Direction::Newer, bound: None, limit: 2 }).await?;
    assert_eq!(oldest.unwrap().rows, rows[..2]);
    Ok(())
}

async fn the_largest_numbers_are_kept_exactly(adapter: Adapter) -> Result<()> {
    let store = store(adapter).await?;
    let node = store.identify(Bucket::of(reader(1))).await?;
    let fence = Fence { token: BucketToken { node, epoch: i64::MIN }, generation: Generation(i64::MAX - 1) };
    let near = Fence { generation: Generation(i64::MAX), ..fence };
    store.open(reader(1), fence, Nonce(i64::MIN)).await?;
    let rows = [i64::MAX, i64::MAX - 1, 10, 9].map(|id| Position::bound(1_767_225_600_001, id));
    assert_eq!(store.deliver(&push(near, rows[0], 2)).await?, [adapter.to_nobody()]);
    for row in rows {
        assert_eq!(store.deliver(&push(fence, row, 2)).await?, [Delivered::Added]);
    }
    let made = Claim { rows: vec![rows[0]], floor: rows[1], basis: Basis(i64::MAX), nonce: Nonce(i64::MAX) };
    assert!(store.claim(reader(1), (fence.token, Revision(1)), &made, KEEP).await?);
    let header = Header { fence, revision: Revision(2), basis: Some(made.basis), floor: rows[1] };
    assert_eq!(all(&*store).await?, Some(Slice { header, rows: rows.to_vec() }));
    Ok(())
}

async fn random_operations_give_the_answers_of_the_model(adapter: Adapter) -> Result<()> {
    outside_model::run(cases_by(if adapter == Adapter::Memory { 1 } else { 2 }), store(adapter).await?).await
}
