//! Tokens of buckets, and which readers are in the outside tier.

use sql_driver::Tx;

use super::super::{
    super::{deliveries::fences, existing_accounts::account_exists, rows::Row},
    state::{self, OUTSIDE},
};
use crate::{
    domain::{
        Floor, UserId,
        timeline::outside::{Bucket, BucketToken, Generation},
    },
    store::StoreError,
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

/// The inbox in SQL is off from then on, so that deliveries pass over it, pages trust nothing of it, and its rows go.
pub(super) async fn enter(tx: &Tx, reader: UserId, generation: Generation) -> Result<bool, StoreError> {
    if state::lock(tx, reader).await?.is_outside {
        return Ok(false);
    }
    let sql = format!(
        "UPDATE inbox_states SET tier = {OUTSIDE}, generation = ?, basis = NULL WHERE user_id = ? \
         AND EXISTS (SELECT 1 FROM inbox_buckets b WHERE b.bucket = ? AND b.node IS NOT NULL){exists}",
        exists = account_exists("inbox_states.user_id"),
    );
    let bucket = i64::from(Bucket::of(reader).number());
    if tx.execute(&sql, [generation.0.into(), reader.get().into(), bucket.into()]).await? == 0 {
        return Ok(false);
    }
    state::save(tx, reader, Floor::Off).await?;
    Ok(true)
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
