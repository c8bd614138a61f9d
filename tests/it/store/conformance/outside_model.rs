//! Compares outside inboxes with the memory adapter: the same random operations give the same answers and then the
//! same slices.

use std::sync::Arc;

use anyhow::{Result, ensure};
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, TestCaseError, TestRunner},
};
use tidefeed::{
    domain::{
        Direction, Position,
        timeline::outside::{
            Basis, Bucket, BucketToken, Claim, Cleared, Cover, Fence, Generation, NodeId, Nonce, Revision, Slice,
            Window,
        },
    },
    store::{
        InboxStore,
        inbox_store::{InboxStoreError, Push},
    },
};
use tokio::runtime::Handle;

use super::{outside_inboxes::reader, outside_numbered::Numbered};
use crate::memory_inboxes::MemoryInboxes;

/// An operation on readers 1 to 3. Small numbers: fences and revisions often agree, times are often equal.
#[derive(Debug, Clone)]
enum Step {
    Open { reader: i64, fence: (i64, i64), nonce: i64 },
    Deliver { generation: i64, epoch: i64, row: i64, nonce: i64, keep: usize },
    Claim { reader: i64, at: (i64, i64), claimed: Rows, basis: i64, keep: usize },
    Cover { reader: i64, fence: (i64, i64), newest: Rows, keep: usize },
    Remove { reader: i64, at: (i64, i64), cleared: Rows, basis: i64 },
    Slice { reader: i64, newer: bool, bound: Option<i64>, limit: usize },
}

/// Rows by content id, a floor, and what gives the next revision.
#[derive(Debug, Clone)]
struct Rows {
    ids: Vec<i64>,
    floor: i64,
    nonce: i64,
}

const IDS: std::ops::Range<i64> = 0..60;

fn rows() -> impl Strategy<Value = Rows> {
    (vec(IDS, 0..12), -1..62_i64, 0..3_i64).prop_map(|(ids, floor, nonce)| Rows { ids, floor, nonce })
}

fn step() -> impl Strategy<Value = Step> {
    let (reader, fence, at) = (1..4_i64, (0..2_i64, 0..2_i64), (0..2_i64, 0..3_i64));
    let (keep, nonce) = (prop_oneof![Just(0), 3..20_usize], 0..3_i64);
    let bound = prop::option::of(-1..62_i64);
    prop_oneof![
        2 => (reader.clone(), fence.clone(), nonce.clone())
            .prop_map(|(reader, fence, nonce)| Step::Open { reader, fence, nonce }),
        8 => (fence.clone(), IDS, nonce, keep.clone()).prop_map(|((epoch, generation), row, nonce, keep)| {
            Step::Deliver { generation, epoch, row, nonce, keep }
        }),
        4 => (reader.clone(), at.clone(), rows(), 0..9_i64, keep.clone())
            .prop_map(|(reader, at, claimed, basis, keep)| Step::Claim { reader, at, claimed, basis, keep }),
        4 => (reader.clone(), fence, rows(), keep)
            .prop_map(|(reader, fence, newest, keep)| Step::Cover { reader, fence, newest, keep }),
        2 => (reader.clone(), at, rows(), 0..9_i64)
            .prop_map(|(reader, at, cleared, basis)| Step::Remove { reader, at, cleared, basis }),
        4 => (reader, any::<bool>(), bound, 0..9_usize)
            .prop_map(|(reader, newer, bound, limit)| Step::Slice { reader, newer, bound, limit }),
    ]
}

/// A content has one publish time: four share each.
fn position(id: i64) -> Position {
    match id {
        -1 => Position::OLDEST,
        61 => Position::NEWEST,
        id => Position::bound(1_767_225_600_000 + id / 4, 1 + id),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Did(String),
    Found(Option<Slice>),
}

fn answered<T: std::fmt::Debug>(answer: Result<T, InboxStoreError>) -> Result<Answer> {
    Ok(match answer {
        Ok(answer) => Answer::Did(format!("{answer:?}")),
        Err(InboxStoreError::OtherNode) => Answer::Did("other node".to_owned()),
        Err(error) => return Err(error.into()),
    })
}

async fn run_step(store: &Numbered, node: NodeId, step: &Step) -> Result<Answer> {
    let token = |epoch| BucketToken { node, epoch };
    let fence = |(epoch, generation)| Fence { token: token(epoch), generation: Generation(generation) };
    let at = |who, (epoch, back)| (token(epoch), Revision(store.last(reader(who)) - back));
    let all = |rows: &Rows| rows.ids.iter().copied().map(position).collect();
    match step.clone() {
        Step::Open { reader: who, fence: of, nonce } => {
            answered(store.open(reader(who), fence(of), Nonce(nonce)).await)
        }
        Step::Deliver { generation, epoch, row, nonce, keep } => {
            let recipients = (1..4).map(|who| (reader(who), Generation(generation))).collect();
            let (row, token, nonce) = (position(row), token(epoch), Nonce(nonce));
            answered(store.deliver(&Push { row, recipients, token, keep, nonce }).await)
        }
        Step::Claim { reader: who, at: expected, claimed, basis, keep } => {
            let (floor, nonce) = (position(claimed.floor), Nonce(claimed.nonce));
            let claim = Claim { rows: all(&claimed), floor, basis: Basis(basis), nonce };
            answered(store.claim(reader(who), at(who, expected), &claim, keep).await)
        }
        Step::Cover { reader: who, fence: of, newest, keep } => {
            let (floor, nonce) = (position(newest.floor), Nonce(newest.nonce));
            answered(store.cover(reader(who), fence(of), &Cover { rows: all(&newest), floor, nonce }, keep).await)
        }
        Step::Remove { reader: who, at: expected, cleared, basis } => {
            let cleared = Cleared { rows: all(&cleared), basis: Basis(basis), nonce: Nonce(cleared.nonce) };
            answered(store.remove(reader(who), at(who, expected), &cleared).await)
        }
        Step::Slice { reader: who, newer, bound, limit } => {
            let direction = if newer { Direction::Newer } else { Direction::Older };
            let window = Window { direction, bound: bound.map(position), limit };
            Ok(Answer::Found(store.slice(reader(who), &window).await?))
        }
    }
}

/// Runs `cases` random histories on `store` and on a memory adapter of the same identity.
pub async fn run(cases: u32, store: Arc<Numbered>) -> Result<()> {
    let runtime = Handle::current();
    let node = store.identify(Bucket::of(reader(1))).await?;
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let try_all = move || {
        let found = std::cell::Cell::new(0);
        let result = runner.run(&vec(step(), 1..80), |steps| {
            let rows = runtime.block_on(one_history(store.clone(), node, &steps));
            found.set(found.get() + rows.map_err(|error| TestCaseError::fail(format!("{error:#}")))?);
            Ok(())
        });
        result.map(|()| found.get()).map_err(|error| anyhow::anyhow!("{error}"))
    };
    let rows = tokio::task::spawn_blocking(try_all).await??;
    ensure!(rows > 200, "only {rows} rows were read");
    Ok(())
}

/// Returns the number of rows read.
async fn one_history(under_test: Arc<Numbered>, node: NodeId, steps: &[Step]) -> Result<usize> {
    let (store, model) = (Numbered::new(under_test.clone()), Numbered::new(Arc::new(MemoryInboxes::new(node))));
    let mut rows = 0;
    for who in 1..4 {
        // Removes whatever the previous history has left.
        let token = BucketToken { node, epoch: 0 };
        let fresh = Step::Open { reader: who, fence: (0, 0), nonce: 0 };
        under_test.open(reader(who), Fence { token, generation: Generation(77) }, Nonce(77)).await?;
        ensure!(run_step(&store, node, &fresh).await? == run_step(&model, node, &fresh).await?);
    }
    for step in steps {
        let (expected, found) = (run_step(&model, node, step).await?, run_step(&store, node, step).await?);
        ensure!(expected == found, "{step:?}: {found:?} is not {expected:?}");
        for who in 1..4 {
            let all = Step::Slice { reader: who, newer: false, bound: None, limit: 1_000 };
            let (expected, found) = (run_step(&model, node, &all).await?, run_step(&store, node, &all).await?);
            ensure!(expected == found, "{step:?}: afterwards {found:?} is not {expected:?}");
            if let Answer::Found(Some(slice)) = found {
                rows += slice.rows.len();
            }
        }
    }
    Ok(rows)
}
