//! Reactions of a batch: the users' counts first, then the reactions, then the contents' counters, as a single reaction
//! writes them.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use sql_driver::{Tx, Value};

use super::{
    super::{
        bulk::{self, insert, insert_new},
        existing_accounts::account_exists,
        rows::{DomainColumns as _, id_list},
    },
    follows::lock_counts,
};
use crate::{
    domain::{ContentId, Reaction, UserId, limits::SPREAD_FROM},
    store::{
        StoreError,
        imports::{AppliedBatch, ImportedReaction, RowOutcome, RowRefusal},
    },
};

/// Inserts the reactions that are missing.
pub(super) async fn react(tx: &Tx, reactions: &[ImportedReaction], version: i64) -> Result<AppliedBatch, StoreError> {
    let users = lock_counts(tx, reactions.iter().map(|it| it.user)).await?;
    let keys: Vec<[i64; 3]> = reactions.iter().map(key).collect();
    let existing = bulk::existing(tx, "reactions", ["content_id", "kind", "user_id"], &keys).await?;
    // Contents whose reactions are there already are not locked.
    let missing = reactions.iter().filter(|it| !existing.contains(&key(it)));
    let contents = lock_counters(tx, missing.map(|it| it.content)).await?;
    let judge = |it: &ImportedReaction| match it {
        it if !users.contains_key(&it.user) => RowOutcome::Refused(RowRefusal::UnknownUser),
        it if existing.contains(&key(it)) => RowOutcome::Unchanged,
        it if !contents.contains(&it.content) => RowOutcome::Refused(RowRefusal::UnknownContent),
        _ => RowOutcome::Created,
    };
    let outcomes: Vec<RowOutcome> = reactions.iter().map(judge).collect();
    let new = reactions.iter().zip(&outcomes).filter(|(_, outcome)| **outcome == RowOutcome::Created);
    let new: Vec<&ImportedReaction> = new.map(|(reaction, _)| reaction).collect();
    if !new.is_empty() {
        renew(tx, &new, version).await?;
        let rows = new.iter().map(|it| {
            let [content, kind, user] = key(it).map(Value::from);
            [content, kind, user, it.reacted_at.into()]
        });
        insert_new(tx, "reactions (content_id, kind, user_id, created_at)", rows.collect()).await?;
        count(tx, &new).await?;
    }
    Ok(AppliedBatch { outcomes, ..AppliedBatch::default() })
}

fn key(it: &ImportedReaction) -> [i64; 3] {
    [it.content.get(), it.reaction.code().into(), it.user.get()]
}

/// Locks the counters of these contents in ascending ids; those that exist and whose author has an account. A removal
/// deletes them, and comes before the lock or after the commit.
pub(super) async fn lock_counters(
    tx: &Tx,
    contents: impl Iterator<Item = ContentId>,
) -> Result<HashSet<ContentId>, StoreError> {
    let contents: Vec<ContentId> = contents.collect::<BTreeSet<_>>().into_iter().collect();
    if contents.is_empty() {
        return Ok(HashSet::new());
    }
    let (list, values) = id_list(&contents);
    let sql = format!(
        "SELECT content_id FROM counters{by_key} WHERE content_id IN {list} ORDER BY content_id {for_update}",
        by_key = tx.dialect().force_index("PRIMARY"),
        for_update = tx.dialect().for_update(),
    );
    tx.query(&sql, values.clone()).await?;
    let exists = format!(
        "SELECT k.content_id FROM counters k JOIN contents c ON c.id = k.content_id \
         WHERE k.content_id IN {list} AND c.removed_at IS NULL{}",
        account_exists("c.author_id")
    );
    tx.query(&exists, values).await?.iter().map(|row| row.content(0)).collect()
}

/// Gives the users' reactions a new version. Their counts are locked.
async fn renew(tx: &Tx, new: &[&ImportedReaction], version: i64) -> Result<(), StoreError> {
    let users: Vec<UserId> = new.iter().map(|it| it.user).collect::<BTreeSet<_>>().into_iter().collect();
    let (list, values) = id_list(&users);
    let sql = format!("UPDATE user_counts SET reactions_version = ? WHERE user_id IN {list}");
    tx.execute(&sql, std::iter::once(Value::from(version)).chain(values)).await.map(|_| ())
}

/// Counts in the contents' own rows, spread or not, because these are locked.
async fn count(tx: &Tx, new: &[&ImportedReaction]) -> Result<(), StoreError> {
    let mut more: BTreeMap<ContentId, [i64; 2]> = BTreeMap::new();
    for reaction in new {
        let [likes, bookmarks] = more.entry(reaction.content).or_default();
        match reaction.reaction {
            Reaction::Like => *likes += 1,
            Reaction::Bookmark => *bookmarks += 1,
        }
    }
    let rows: Vec<[i64; 3]> =
        more.iter().map(|(content, [likes, bookmarks])| [content.get(), *likes, *bookmarks]).collect();
    raise_counters(tx, ["likes", "bookmarks"], rows).await
}

/// Raises two columns of counters. All rows (content, first, second) are there and locked.
pub(super) async fn raise_counters(tx: &Tx, columns: [&str; 2], rows: Vec<[i64; 3]>) -> Result<(), StoreError> {
    let (dialect, [first, second]) = (tx.dialect(), columns);
    let raised = |column: &str| format!("counters.{column} + {}", dialect.incoming(column));
    let raise = format!(
        "{conflict} spread = CASE WHEN {new_first} >= {SPREAD_FROM} OR {new_second} >= {SPREAD_FROM} THEN 1 \
         ELSE counters.spread END, {first} = {new_first}, {second} = {new_second}",
        conflict = dialect.on_conflict_update("content_id"),
        new_first = raised(first),
        new_second = raised(second),
    );
    let rows = rows.into_iter().map(|row| row.map(Value::from)).collect();
    insert(tx, &format!("counters (content_id, {first}, {second})"), &raise, rows).await
}
