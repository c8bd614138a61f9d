//! Compares each bucket's token with the node that answers for it, and admits the bucket or gives it up.

use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use futures_util::future::join_all;

use super::OutsideStores;
use crate::{
    domain::timeline::outside::{Bucket, BucketToken, Contest, Move, NodeId},
    rng::SharedRng,
    store::{StoreError, inbox_tier::Round},
    telemetry::metrics::BUCKET_CHANGES,
};

/// Buckets whose node is asked for at once.
const ASKED_AT_ONCE: usize = 16;
/// Rounds in a row in which nobody answered for a bucket before it is given up: deliveries to it wait that long.
const GIVEN_UP_AFTER: u32 = 3;

/// What this node knows of the buckets from its earlier rounds.
#[derive(Default)]
pub(super) struct BucketKeeper {
    /// Rounds in a row in which nobody answered.
    silent: Mutex<HashMap<Bucket, u32>>,
    contests: Mutex<HashMap<Bucket, Contest>>,
    /// Whether the log says that nobody answers for some bucket.
    is_logged: AtomicBool,
}

impl BucketKeeper {
    /// One round over all buckets, connected if that is possible.
    pub(super) async fn run_once(&self, stores: &OutsideStores, rng: &SharedRng) -> Result<Round, StoreError> {
        let connected = stores.inboxes.connect().await;
        let tokens: HashMap<Bucket, BucketToken> = stores.states.tokens().await?.into_iter().collect();
        let (mut round, mut contested) = (Round::default(), 0);
        let mut failure = connected.err();
        for (bucket, answer) in asked(stores).await {
            let wanted = self.wanted(bucket, &answer);
            failure = failure.or(answer.err());
            let Some(wanted) = wanted else { continue };
            let former = tokens.get(&bucket).copied();
            match self.next_move(bucket, wanted, former) {
                Move::Keep => continue,
                Move::Wait(_) => {
                    contested += 1;
                    continue;
                }
                Move::Set => {}
            }
            let next = wanted.map(|node| BucketToken { node, epoch: rng.number() });
            if stores.states.set_token(bucket, former, next).await? {
                *if next.is_some() { &mut round.admitted } else { &mut round.given_up } += 1;
            }
        }
        report(round, contested);
        self.log_silence(failure.as_ref());
        Ok(round)
    }

    /// Logs once that the store is silent, and once that it answers again for all buckets. `failure`: the first one of
    /// this round, if any.
    fn log_silence(&self, failure: Option<&StoreError>) {
        let Some(failure) = failure else {
            if self.is_logged.swap(false, Relaxed) {
                tracing::info!("The store of inboxes outside SQL answers again.");
            }
            return;
        };
        let silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        let buckets = silent.values().filter(|rounds| **rounds >= GIVEN_UP_AFTER).count();
        if buckets > 0 && !self.is_logged.swap(true, Relaxed) {
            let error = failure.with_causes();
            tracing::warn!(
                buckets,
                error,
                "The store of inboxes outside SQL does not answer. Pages are right meanwhile, read from SQL."
            );
        }
    }

    /// The node that the token should name, or none; `None` while that is not clear.
    #[expect(clippy::option_option, reason = "nobody knows, and nobody is to be named")]
    fn wanted(&self, bucket: Bucket, answer: &Result<NodeId, StoreError>) -> Option<Option<NodeId>> {
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        let rounds = silent.entry(bucket).or_default();
        *rounds = if answer.is_err() { rounds.saturating_add(1) } else { 0 };
        match answer {
            Ok(node) => Some(Some(*node)),
            Err(_) => (*rounds >= GIVEN_UP_AFTER).then_some(None),
        }
    }

    fn next_move(&self, bucket: Bucket, wanted: Option<NodeId>, former: Option<BucketToken>) -> Move {
        let mut contests = self.contests.lock().unwrap_or_else(PoisonError::into_inner);
        contests.entry(bucket).or_default().round(wanted, former.map(|token| token.node))
    }
}

/// Each bucket with the node that answers for it.
async fn asked(stores: &OutsideStores) -> Vec<(Bucket, Result<NodeId, StoreError>)> {
    let buckets: Vec<Bucket> = Bucket::all().collect();
    let mut answers = Vec::with_capacity(buckets.len());
    for some in buckets.chunks(ASKED_AT_ONCE) {
        let mut asked = Vec::with_capacity(some.len());
        for bucket in some {
            asked.push(stores.inboxes.identify(*bucket));
        }
        answers.extend(some.iter().copied().zip(join_all(asked).await));
    }
    answers
}

/// Counts the changes and logs them. `contested`: buckets that were left to another node.
fn report(Round { admitted, given_up, .. }: Round, contested: usize) {
    for (change, count) in [("admitted", admitted), ("given_up", given_up), ("contested", contested)] {
        metrics::counter!(BUCKET_CHANGES, "change" => change).increment(count as u64);
    }
    if admitted + given_up > 0 {
        tracing::info!(admitted, given_up, "The node admitted or gave up buckets of inboxes outside SQL.");
    }
    if contested > 0 {
        tracing::info!(
            contested,
            "Another node sees a different server of the inboxes, or none. This node leaves buckets of inboxes to it."
        );
    }
}
