//! Serves a bounded number of the targets who were seen last, before the first range is cut. The ranges that follow
//! include everyone, so this decides when a row comes, and never whether it comes.

use sql_driver::{Dialect, Fragment, Tx};

use super::{at_once, chain};
use crate::{
    domain::{
        ContentId, EdgeMode, Entry,
        delivery::subtask::{END, Range},
        limits::MAX_LAST_SEEN,
    },
    store::{StoreError, deliveries::First},
};

/// See [`crate::store::Deliveries::serve_first`]. Nobody cuts or ends the delivery while its record is locked.
pub(super) async fn serve(tx: &Tx, content: ContentId, first: First) -> Result<u64, StoreError> {
    let Some(state) = at_once::lock(tx, content).await? else { return Ok(0) };
    if state.removed || state.is_cut {
        return Ok(0);
    }
    let all = Range { after: 0, through: END };
    let [beyond, _] = chain::targets_at(tx, state.entry.author, all, first.more_than.saturating_add(1)).await?;
    if beyond.is_none() {
        return Ok(0);
    }
    let few = state.author.followers < MAX_LAST_SEEN;
    let statement = statement(tx.dialect(), state.entry, first, few);
    tx.execute(&statement.text, statement.values).await
}

/// Skips the same readers as a batch does. The smaller side leads: an author's `few` targets, or else the readers who
/// were seen last of all. Rows are inserted by ascending reader, as everywhere.
pub(super) fn statement(dialect: Dialect, entry: Entry, first: First, few: bool) -> Fragment {
    let author = entry.author.get();
    let found = if few { of_targets(dialect, author, first) } else { of_the_last_seen(dialect, author, first) };
    let insert = format!(
        "{} inboxes (user_id, publish_time, content_id, author_id) SELECT p.user_id, ?, ?, ? FROM (",
        dialect.insert_ignore()
    );
    Fragment::new(insert, [entry.publish_time, entry.content.get(), author])
        .then(found)
        .add(" ORDER BY s.last_seen DESC, s.user_id DESC LIMIT ?) p ORDER BY p.user_id", [first.most.into()])
}

fn of_targets(dialect: Dialect, author: i64, first: First) -> Fragment {
    let text = format!(
        "SELECT s.user_id, s.last_seen FROM follows f{targets} {then} inbox_states s ON s.user_id = f.follower_id \
         WHERE f.author_id = ? AND f.mode IN ({modes}) AND s.floor_time IS NOT NULL AND s.last_seen >= ?",
        targets = dialect.in_order_of("targets"),
        then = dialect.join_in_order(),
        modes = targeted(),
    );
    Fragment::new(text, [author, first.seen_since_ms])
}

fn of_the_last_seen(dialect: Dialect, author: i64, first: First) -> Fragment {
    let text = format!(
        "SELECT s.user_id, s.last_seen FROM (SELECT user_id, last_seen, floor_time FROM inbox_states{seen} \
         WHERE last_seen >= ? ORDER BY last_seen DESC, user_id DESC LIMIT {MAX_LAST_SEEN}) s \
         {then} follows f{by_key} ON f.follower_id = s.user_id AND f.author_id = ? \
         WHERE f.mode IN ({modes}) AND s.floor_time IS NOT NULL",
        seen = dialect.in_order_of("seen"),
        then = dialect.join_in_order(),
        by_key = dialect.force_index("PRIMARY"),
        modes = targeted(),
    );
    Fragment::new(text, [first.seen_since_ms, author])
}

/// The modes of edges that deliveries go along.
fn targeted() -> String {
    format!("{}, {}", EdgeMode::Fill.code(), EdgeMode::Push.code())
}
