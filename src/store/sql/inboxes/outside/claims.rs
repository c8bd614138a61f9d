//! The transactions that read the contents for a claim of an outside inbox. Each leaves a number in SQL. If SQL loses
//! the transaction, it loses the number, and the claim does not count.

use sql_driver::{Fragment, Tx};

use super::super::{
    super::{deliveries::fences, keyset::Columns, rows::DomainColumns as _, timelines},
    state,
};
use crate::{
    domain::{
        Direction, EdgeMode, Entry, Position, UserId,
        timeline::outside::{Basis, Bucket, Fence, Generation},
    },
    store::{StoreError, relations::Pair},
};

const CONTENT: Columns = Columns { time: "publish_time", id: "id" };

/// See [`crate::store::OutsideStates::read_for_builds`].
pub(super) async fn for_builds(
    tx: &Tx,
    builds: &[(UserId, Generation, Basis)],
    keep: u32,
) -> Result<Vec<(UserId, Vec<Position>)>, StoreError> {
    let readers: Vec<UserId> = builds.iter().map(|(reader, ..)| *reader).collect();
    let states = state::lock_all(tx, &readers).await?;
    let outside: Vec<_> =
        builds.iter().filter(|(reader, ..)| states.get(reader).is_some_and(|state| state.is_outside)).collect();
    if outside.is_empty() {
        return Ok(Vec::new());
    }
    let sql = "UPDATE inbox_states SET basis = ? WHERE user_id = ? AND generation = ?";
    let draw = |(reader, generation, basis): &&(UserId, Generation, Basis)| {
        Fragment::new(sql, [basis.0, reader.get(), generation.0])
    };
    let drawn = tx.all(outside.iter().map(draw)).await?;
    let of_stay = outside.into_iter().enumerate().filter(|(at, _)| drawn.affected(*at) > 0);
    let of_stay: Vec<UserId> = of_stay.map(|(_, (reader, ..))| *reader).collect();
    if of_stay.is_empty() {
        return Ok(Vec::new());
    }
    let limit = usize::try_from(keep.max(1)).unwrap_or(usize::MAX);
    let everything: Vec<_> = of_stay.iter().map(|reader| (*reader, Position::NEWEST)).collect();
    let found = timelines::newest(tx, &everything, limit, timelines::followed_below).await?;
    let positions = |entries: Vec<Entry>| entries.iter().map(Entry::position).collect();
    Ok(of_stay.into_iter().zip(found.into_iter().map(positions)).collect())
}

/// See [`crate::store::OutsideStates::read_for_cover`].
pub(super) async fn for_cover(
    tx: &Tx,
    Pair { follower, author }: Pair,
    keep: u32,
    incarnation: i64,
) -> Result<Option<(Option<Fence>, Vec<Position>)>, StoreError> {
    if !state::lock(tx, follower).await?.is_outside {
        return Ok(None);
    }
    let sql = "UPDATE follows SET inc = ? WHERE follower_id = ? AND author_id = ? AND mode = ?";
    let fill = EdgeMode::Fill.code();
    if tx.execute(sql, [incarnation.into(), follower.get().into(), author.get().into(), fill.into()]).await? == 0 {
        return Ok(None);
    }
    let sql = "SELECT s.generation, b.node, b.epoch FROM inbox_states s JOIN inbox_buckets b ON b.bucket = ? \
               WHERE s.user_id = ? AND b.node IS NOT NULL";
    let bucket = i64::from(Bucket::of(follower).number());
    let row = tx.query_one(sql, [bucket.into(), follower.get().into()]).await?;
    let fence = row.as_ref().map(|row| fences::fence(row, 0)).transpose()?;
    let sql = format!(
        "SELECT publish_time, id, author_id FROM contents WHERE author_id = ? AND removed_at IS NULL{} LIMIT ?",
        CONTENT.order(Direction::Older)
    );
    let rows = tx.query(&sql, [author.get().into(), i64::from(keep.max(1)).into()]).await?;
    let rows = rows.iter().map(|row| Ok(row.entry(0)?.position())).collect::<Result<_, StoreError>>()?;
    Ok(Some((fence, rows)))
}

/// See [`crate::store::OutsideStates::trust`]. The state is locked, so that the reader cannot leave the tier
/// meanwhile: an inbox in SQL that was extended before the edge is trusted would claim an author whom it does not
/// hold.
pub(super) async fn trust(tx: &Tx, Pair { follower, author }: Pair, incarnation: i64) -> Result<bool, StoreError> {
    if !state::lock(tx, follower).await?.is_outside {
        return Ok(false);
    }
    let sql = "UPDATE follows SET mode = ? WHERE follower_id = ? AND author_id = ? AND mode = ? AND inc = ?";
    let [push, fill] = [EdgeMode::Push, EdgeMode::Fill].map(|mode| mode.code().into());
    let values = [push, follower.get().into(), author.get().into(), fill, incarnation.into()];
    Ok(tx.execute(sql, values).await? > 0)
}
