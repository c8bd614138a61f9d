//! Ends the deliveries of many contents in one transaction: each in one range with all followers, one batch, and the
//! end, as a small delivery is. docs/protocol.md#deliveries-of-a-batch says why this is the same.

use std::collections::{HashMap, HashSet};

use sql_driver::{Dialect, Fragment, Runs, Tx};

use super::super::{
    inboxes::state::OUTSIDE,
    rows::{DomainColumns as _, Row, id_list},
    spread_counts::FOLLOWERS,
};
use crate::{
    domain::{ContentId, EdgeMode, Entry, UserId},
    store::{StoreError, deliveries::Together},
};

/// A record that is locked, with what else must be known of it.
struct Record {
    entry: Entry,
    /// Whether nothing else has begun with it.
    is_whole: bool,
}

/// Nobody else cuts or ends the deliveries while their records are locked, so everything else is read after that.
/// `most`: targets of an author's contents.
pub(super) async fn deliver(tx: &Tx, contents: &[ContentId], most: u64) -> Result<Together, StoreError> {
    let (list, values) = id_list(contents);
    let lock = format!(
        "SELECT content_id FROM deliveries{by_key} WHERE content_id IN {list} ORDER BY content_id {for_update}",
        by_key = tx.dialect().force_index("PRIMARY"),
        for_update = tx.dialect().for_update(),
    );
    tx.query(&lock, values.clone()).await?;
    let state = format!(
        "SELECT d.publish_time, d.content_id, d.author_id, c.removed_at, c.id, \
         EXISTS (SELECT 1 FROM subtasks s WHERE s.content_id = d.content_id) \
         FROM deliveries d LEFT JOIN contents c ON c.id = d.content_id WHERE d.content_id IN {list} \
         ORDER BY d.content_id"
    );
    let records = tx.query(&state, values).await?.iter().map(record).collect::<Result<Vec<_>, _>>()?;
    let mut authors: HashMap<UserId, u64> = HashMap::new();
    for record in &records {
        *authors.entry(record.entry.author).or_default() += 1;
    }
    if authors.is_empty() {
        return Ok(Together::default());
    }
    let with_many = with_many_targets(tx, &authors, most).await?;
    let outside = with_targets_outside(tx, &authors).await?;
    let mut together = Together::default();
    let mut ended = Vec::new();
    for Record { entry, is_whole } in records {
        match entry.author {
            author if with_many.contains(&author) => together.too_many.push(entry),
            author if is_whole && !outside.contains(&author) => ended.push(entry.content),
            _ => together.left.push(entry),
        }
    }
    if ended.is_empty() {
        return Ok(together);
    }
    let (list, values) = id_list(&ended);
    let rows = Fragment::with(rows(tx.dialect(), &list), values.clone());
    let delete = Fragment::with(format!("DELETE FROM deliveries WHERE content_id IN {list}"), values);
    together.rows = tx.all_on(Runs::HandedOver, [rows, delete]).await?.affected(0);
    Ok(together)
}

fn record(row: &Row) -> Result<Record, StoreError> {
    let is_there = row.get::<Option<i64>>(4)?.is_some() && row.get::<Option<i64>>(3)?.is_none();
    Ok(Record { entry: row.entry(0)?, is_whole: is_there && row.get::<i64>(5)? == 0 })
}

/// Those of the authors whose contents here, times their targets, are more than `most`. Targets are counted no further,
/// and not at all where all followers together would not be too many.
async fn with_many_targets(tx: &Tx, authors: &HashMap<UserId, u64>, most: u64) -> Result<HashSet<UserId>, StoreError> {
    let followers = followers(tx, authors).await?;
    // An author has an own inbox.
    let few = |author: &UserId| followers.get(author).map(|count| count.saturating_add(1));
    let may_be_many =
        |(author, contents): &(UserId, u64)| few(author).is_none_or(|few| few.saturating_mul(*contents) > most);
    let mut many = HashSet::new();
    let authors: Vec<(UserId, u64)> =
        authors.iter().map(|(author, contents)| (*author, *contents)).filter(may_be_many).collect();
    for authors in authors.chunks(AUTHORS) {
        let counts = authors.iter().map(|(author, contents)| counted(tx.dialect(), *author, most / contents + 1));
        let counts = tx.all(counts).await?;
        for (place, (author, contents)) in authors.iter().enumerate() {
            let Some(row) = counts.row(place) else { continue };
            if row.count(0)?.saturating_mul(*contents) > most {
                many.insert(*author);
            }
        }
    }
    Ok(many)
}

/// How many follow each of the authors; nothing of an author whose account is gone.
async fn followers(tx: &Tx, authors: &HashMap<UserId, u64>) -> Result<HashMap<UserId, u64>, StoreError> {
    let (list, values) = id_list(&authors.keys().copied().collect::<Vec<_>>());
    let sql = format!(
        "SELECT n.user_id, {followers} FROM user_counts n WHERE n.user_id IN {list}",
        followers = FOLLOWERS.whole("followers", "n"),
    );
    tx.query(&sql, values).await?.iter().map(|row| Ok((row.user(0)?, row.count(1)?))).collect()
}

/// Authors whose targets are counted in one round trip.
const AUTHORS: usize = 64;

/// How many targets an author has, counted up to `most`.
fn counted(dialect: Dialect, author: UserId, most: u64) -> Fragment {
    let text = format!(
        "SELECT COUNT(*) FROM (SELECT f.follower_id FROM follows f{targets} \
         WHERE f.author_id = ? AND f.mode IN ({fill}, {push}) LIMIT ?) t",
        targets = dialect.in_order_of("targets"),
        fill = EdgeMode::Fill.code(),
        push = EdgeMode::Push.code(),
    );
    Fragment::new(text, [author.get(), i64::try_from(most).unwrap_or(i64::MAX)])
}

/// Those of the authors with a target outside SQL, whose rows no transaction writes.
async fn with_targets_outside(tx: &Tx, authors: &HashMap<UserId, u64>) -> Result<HashSet<UserId>, StoreError> {
    let used = "SELECT 1 FROM inbox_buckets b WHERE b.node IS NOT NULL LIMIT 1";
    if tx.query_one(used, []).await?.is_none() {
        return Ok(HashSet::new());
    }
    let (list, values) = id_list(&authors.keys().copied().collect::<Vec<_>>());
    let text = format!(
        "SELECT DISTINCT f.author_id FROM follows f{targets} {then} inbox_states s ON s.user_id = f.follower_id \
         WHERE f.author_id IN {list} AND f.mode IN ({fill}, {push}) AND s.tier = {OUTSIDE}",
        targets = tx.dialect().in_order_of("targets"),
        then = tx.dialect().join_in_order(),
        fill = EdgeMode::Fill.code(),
        push = EdgeMode::Push.code(),
    );
    tx.query(&text, values).await?.iter().map(|row| row.user(0)).collect()
}

/// As [`super::batch::statement`], for all followers of all contents of the list.
fn rows(dialect: Dialect, list: &str) -> String {
    format!(
        "{insert} inboxes (user_id, publish_time, content_id, author_id) \
         SELECT f.follower_id, d.publish_time, d.content_id, d.author_id FROM deliveries d{by_key} \
         {then} follows f{targets} ON f.author_id = d.author_id \
         {then} inbox_states s ON s.user_id = f.follower_id \
         WHERE d.content_id IN {list} AND f.mode IN ({fill}, {push}) AND s.floor_time IS NOT NULL",
        insert = dialect.insert_ignore(),
        by_key = dialect.force_index("PRIMARY"),
        targets = dialect.in_order_of("targets"),
        then = dialect.join_in_order(),
        fill = EdgeMode::Fill.code(),
        push = EdgeMode::Push.code(),
    )
}
