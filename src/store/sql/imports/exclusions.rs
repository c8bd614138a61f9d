//! Mutes, hides and blocks of a batch. A block ends the edges between the two, as a single one does.

use std::collections::BTreeSet;

use sql_driver::{Tx, Value};

use super::{
    super::{
        bulk::{self, insert_new},
        follows::{LockedCounts, authors_version::renew_authors, edge_of, end_edge, lock_counts as lock_pair},
    },
    follows::{existing, lock_counts},
};
use crate::{
    domain::{UserId, timeline::exclusion::ExclusionKind},
    store::{
        StoreError,
        imports::{AppliedBatch, ImportStep, ImportedExclusion, ImportedExclusionKind, RowOutcome, RowRefusal},
        relations::Pair,
    },
};

/// A row: the reader, the excluded author, and the cause.
type Exclusion = (UserId, UserId, ExclusionKind);

/// The rows of an exclusion. The first one decides whether it is there.
fn sides(it: &ImportedExclusion) -> Vec<Exclusion> {
    let ImportedExclusion { user, other, kind } = *it;
    match kind {
        ImportedExclusionKind::Mute => vec![(user, other, ExclusionKind::Muted)],
        ImportedExclusionKind::Hide => vec![(other, user, ExclusionKind::Hidden)],
        ImportedExclusionKind::Block => {
            vec![(user, other, ExclusionKind::BlockedByReader), (other, user, ExclusionKind::BlockedByAuthor)]
        }
    }
}

fn key((reader, author, cause): Exclusion) -> [i64; 3] {
    [reader.get(), author.get(), cause.code().into()]
}

/// Inserts the exclusions that are missing.
pub(super) async fn exclude(
    tx: &Tx,
    exclusions: &[ImportedExclusion],
    step: &ImportStep,
) -> Result<AppliedBatch, StoreError> {
    let users = lock_counts(tx, exclusions.iter().flat_map(|it| [it.user, it.other])).await?;
    let keys: Vec<[i64; 3]> = exclusions.iter().flat_map(sides).map(key).collect();
    let there = bulk::existing(tx, "exclusions", ["reader_id", "author_id", "cause"], &keys).await?;
    let mut rows: BTreeSet<[i64; 3]> = BTreeSet::new();
    let mut applied = AppliedBatch::default();
    let mut ended = Vec::new();
    for exclusion in exclusions {
        let sides = sides(exclusion);
        let missing: Vec<Exclusion> = sides.iter().copied().filter(|side| !there.contains(&key(*side))).collect();
        let outcome = if ![exclusion.user, exclusion.other].iter().all(|user| users.contains_key(user)) {
            RowOutcome::Refused(RowRefusal::UnknownUser)
        } else if missing.is_empty() {
            RowOutcome::Unchanged
        } else {
            RowOutcome::Created
        };
        applied.outcomes.push(outcome);
        if outcome != RowOutcome::Created {
            continue;
        }
        rows.extend(missing.iter().map(|side| key(*side)));
        applied.excluded.extend(missing.iter().map(|(reader, author, _)| Pair { follower: *reader, author: *author }));
        if exclusion.kind == ImportedExclusionKind::Block {
            let (user, other) = (exclusion.user, exclusion.other);
            ended.extend([Pair { follower: user, author: other }, Pair { follower: other, author: user }]);
        }
    }
    let rows = rows.into_iter().map(|row| row.map(Value::from)).collect();
    insert_new(tx, "exclusions (reader_id, author_id, cause)", rows).await?;
    applied.unfollowed = end_edges(tx, &ended, step).await?;
    let readers: Vec<UserId> =
        applied.excluded.iter().map(|pair| pair.follower).collect::<BTreeSet<_>>().into_iter().collect();
    if !readers.is_empty() {
        renew_authors(tx, &readers, step.version).await?;
    }
    Ok(applied)
}

/// Ends those of the edges that exist. All counts are locked.
async fn end_edges(tx: &Tx, pairs: &[Pair], step: &ImportStep) -> Result<Vec<Pair>, StoreError> {
    if pairs.is_empty() {
        return Ok(Vec::new());
    }
    let edges: BTreeSet<Pair> = existing(tx, pairs).await?.into_iter().collect();
    let mut ended = Vec::new();
    for pair in edges {
        let found = tx.all([lock_pair(tx.dialect(), pair, None), edge_of(tx.dialect(), pair)]).await?;
        let counts = LockedCounts::of(found.rows(0))?;
        if end_edge(tx, (pair, &counts), found.row(1), (step.version, step.lease.now_ms)).await? {
            ended.push(pair);
        }
    }
    Ok(ended)
}
