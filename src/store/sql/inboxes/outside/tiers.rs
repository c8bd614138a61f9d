//! Tokens of buckets, and which readers are in the outside tier.

use sql_driver::{Dialect, Fragment, Tx};

use super::super::{
    super::{
        deliveries::fences,
        rows::{DomainColumns as _, Row, id_list},
    },
    state::{self, OUTSIDE},
};
use crate::{
    domain::{
        Floor, UserId,
        limits::INBOX_BUCKETS,
        timeline::outside::{Basis, Bucket, BucketToken, Generation},
    },
    store::{StoreError, outside_states::FencedReader},
};

/// A row of node, epoch and bucket.
pub(super) fn token(row: &Row) -> Result<(Bucket, BucketToken), StoreError> {
    let number: i64 = row.get(2)?;
    let bucket = u16::try_from(number).ok().and_then(Bucket::try_new);
    let bucket = bucket.ok_or_else(|| StoreError::Unreadable(format!("the bucket {number}")))?;
    Ok((bucket, fences::token(row, 0)?))
}

/// See [`crate::store::OutsideStates::set_token`]. Inserts the row first, so that it can be compared and set.
pub(super) async fn set_token(
    tx: &Tx,
    bucket: Bucket,
    former: Option<BucketToken>,
    next: Option<BucketToken>,
) -> Result<bool, StoreError> {
    let bucket = i64::from(bucket.number());
    let sql = format!("{} inbox_buckets (bucket) VALUES (?)", tx.dialect().insert_ignore());
    tx.execute(&sql, [bucket.into()]).await?;
    let node = next.map(|token| token.node.to_string());
    let mut values = vec![node.into(), next.map(|token| token.epoch).into(), bucket.into()];
    let still = match former {
        None => "node IS NULL",
        Some(token) => {
            values.extend([token.node.to_string().into(), token.epoch.into()]);
            "node = ? AND epoch = ?"
        }
    };
    let sql = format!("UPDATE inbox_buckets SET node = ?, epoch = ? WHERE bucket = ? AND {still}");
    Ok(tx.execute(&sql, values).await? > 0)
}

/// See [`crate::store::OutsideStates::fences`].
pub(super) fn fences(dialect: Dialect, readers: &[UserId]) -> Fragment {
    let (list, values) = id_list(readers);
    let text = format!(
        "SELECT s.generation, b.node, b.epoch, s.basis, s.user_id FROM inbox_states s{by_key} \
         JOIN inbox_buckets b ON b.bucket = s.user_id % {INBOX_BUCKETS} \
         WHERE s.user_id IN {list} AND s.tier = {OUTSIDE} AND b.node IS NOT NULL",
        by_key = dialect.force_index("PRIMARY"),
    );
    Fragment::with(text, values)
}

/// A row of [`fences`].
pub(super) fn fenced(row: &Row) -> Result<FencedReader, StoreError> {
    let basis = row.get::<Option<i64>>(3)?.map(Basis);
    Ok(FencedReader { reader: row.user(4)?, fence: fences::fence(row, 0)?, basis })
}

/// The inboxes in SQL are off from then on, so that deliveries pass over them, pages trust nothing of them, and their
/// rows go.
pub(super) async fn enter(tx: &Tx, readers: &[(UserId, Generation)]) -> Result<Vec<UserId>, StoreError> {
    let ids: Vec<UserId> = readers.iter().map(|(reader, _)| *reader).collect();
    let states = state::lock_all(tx, &ids).await?;
    let in_sql: Vec<_> =
        readers.iter().filter(|(reader, _)| states.get(reader).is_some_and(|state| !state.is_outside)).collect();
    if in_sql.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "UPDATE inbox_states SET tier = {OUTSIDE}, generation = ?, basis = NULL WHERE user_id = ? \
         AND EXISTS (SELECT 1 FROM inbox_buckets b WHERE b.bucket = ? AND b.node IS NOT NULL)"
    );
    let enter = |(reader, generation): &&(UserId, Generation)| {
        Fragment::new(sql.clone(), [generation.0, reader.get(), i64::from(Bucket::of(*reader).number())])
    };
    let changed = tx.all(in_sql.iter().map(enter)).await?;
    let entered = in_sql.into_iter().enumerate().filter(|(at, _)| changed.affected(*at) > 0);
    let entered: Vec<UserId> = entered.map(|(_, (reader, _))| *reader).collect();
    if !entered.is_empty() {
        tx.all(entered.iter().map(|reader| state::saving(*reader, Floor::Off))).await?;
    }
    Ok(entered)
}

/// The inbox in SQL is open from then on: deliveries reach it, and it claims nothing until it is extended.
pub(super) async fn leave(tx: &Tx, reader: UserId) -> Result<bool, StoreError> {
    if !state::lock(tx, reader).await?.is_outside {
        return Ok(false);
    }
    let sql = "UPDATE inbox_states SET tier = 0, basis = NULL WHERE user_id = ?";
    tx.execute(sql, [reader.get().into()]).await?;
    state::save(tx, reader, Floor::OPEN).await?;
    Ok(true)
}
