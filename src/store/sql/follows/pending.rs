//! What writers of pending relations have in common.

use sql_driver::{Dialect, Value};

/// Delay after an operation at which the sweeper first looks at a pending relation. By then a worker that got the
/// message is done.
const FIRST_LOOK_MS: i64 = 5_000;

/// Ends an insert of pending relations: each takes the place of an earlier one of its pair.
pub(super) fn over_earlier_relation(dialect: Dialect) -> String {
    let conflict = dialect.on_conflict_update("follower_id, author_id");
    let (version, look_at) = (dialect.incoming("version"), dialect.incoming("look_at"));
    format!("{conflict} version = {version}, attempts = 0, look_at = {look_at}")
}

/// When the sweeper first looks at a relation of now.
pub(super) fn look_at(now_ms: i64) -> Value {
    now_ms.saturating_add(FIRST_LOOK_MS).into()
}
