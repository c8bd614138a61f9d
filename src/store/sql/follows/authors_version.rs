//! The version of the authors of a timeline: docs/protocol.md#authors.

use sql_driver::{Tx, Value};

use super::super::rows::id_list;
use crate::{domain::UserId, store::StoreError};

/// Gives the authors of these readers' timelines a new version, in the transaction that changes whose contents they
/// show or which edges are `Push`. It locks the readers' counts, so it comes before their states and edges. At most
/// [`super::super::rows::MAX_LIST`] readers.
pub(in super::super) async fn renew_authors(tx: &Tx, readers: &[UserId], version: i64) -> Result<(), StoreError> {
    let (list, values) = id_list(readers);
    let sql = format!("UPDATE user_counts SET authors_version = ? WHERE user_id IN {list}");
    tx.execute(&sql, std::iter::once(Value::from(version)).chain(values)).await.map(|_| ())
}
