//! Promotes edges of many followers in one transaction: locks them in order, then changes those that are pulled. The
//! statements of all followers are sent at once.

use sql_driver::{Fragment, Tx, Value};

use super::{
    super::rows::{DomainColumns as _, id_list},
    pending::{look_at, over_earlier_relation},
};
use crate::{
    domain::{EdgeMode, UserId},
    store::{StoreError, relations::Pair},
};

/// See [`crate::store::Follows::promote`]. All these edges get the same number: an `incarnation` only distinguishes
/// edges of the same pair.
pub(super) async fn promote(
    tx: &Tx,
    pairs: &[Pair],
    (incarnation, now_ms): (i64, i64),
) -> Result<Vec<Pair>, StoreError> {
    let followers = pairs.chunk_by(|one, next| one.follower == next.follower);
    let (lock, pull) = (tx.dialect().for_update(), EdgeMode::Pull.code());
    let locked = tx
        .all(followers.clone().filter_map(|pairs| {
            let (edges, values) = edges(pairs)?;
            let text = format!("SELECT follower_id, author_id FROM follows WHERE {edges} AND mode = {pull} {lock}");
            Some(Fragment::with(text, values))
        }))
        .await?;
    let mut promoted = Vec::with_capacity(pairs.len());
    for follower in 0..followers.count() {
        for row in locked.rows(follower) {
            promoted.push(Pair { follower: row.user(0)?, author: row.user(1)? });
        }
    }
    let written: Vec<Fragment> = promoted
        .chunk_by(|one, next| one.follower == next.follower)
        .filter_map(edges)
        .flat_map(|edges| fill(edges, (incarnation, now_ms), &over_earlier_relation(tx.dialect())))
        .collect();
    if !written.is_empty() {
        tx.all(written).await?;
    }
    Ok(promoted)
}

/// The condition for these edges of one follower; `None` without any.
fn edges(pairs: &[Pair]) -> Option<(String, Vec<Value>)> {
    let follower = pairs.first()?.follower;
    let authors: Vec<UserId> = pairs.iter().map(|pair| pair.author).collect();
    let (list, authors) = id_list(&authors);
    let values = std::iter::once(Value::from(follower.get())).chain(authors).collect();
    Some((format!("follower_id = ? AND author_id IN {list}"), values))
}

fn fill((edges, values): (String, Vec<Value>), (incarnation, now_ms): (i64, i64), over: &str) -> [Fragment; 2] {
    let update = format!("UPDATE follows SET mode = ?, inc = ? WHERE {edges}");
    let insert = format!(
        "INSERT INTO relations (follower_id, author_id, version, attempts, look_at) \
         SELECT follower_id, author_id, inc, 0, ? FROM follows WHERE {edges} {over}"
    );
    [
        Fragment::with(update, [EdgeMode::Fill.code().into(), incarnation.into()]).add_with("", values.clone()),
        Fragment::with(insert, [look_at(now_ms)]).add_with("", values),
    ]
}
