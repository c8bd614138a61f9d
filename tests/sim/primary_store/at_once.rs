//! Small deliveries in the model: cut, served and ended in one transaction.

use tidefeed::{
    domain::{
        ContentId, Entry, UserId,
        delivery::{AuthorFacts, DeliveryPolicy, subtask::END},
    },
    store::{StoreError, deliveries::AtOnce},
};

use super::{
    deliveries::{delete_with_subtasks, served},
    follows::facts,
    outside_states::expect_unused,
    tables::{Change, Row, Tables},
    transaction::{PrimaryStore, Tx},
};
use crate::rules::Rule;

/// How the transaction ends.
pub enum Ended {
    AtOnce(AtOnce),
    /// The record is deleted and no follower is served; only while that rule is broken.
    RowsLater(Entry),
}

/// What is read once the record is locked.
pub struct DeliveryState {
    pub entry: Entry,
    pub removed: bool,
    pub author: AuthorFacts,
    pub is_cut: bool,
    /// The last one that has read the recipients outside SQL.
    attempt: Option<i64>,
}

impl DeliveryState {
    /// Whether one transaction may serve all followers.
    pub fn is_small(&self, most: u32, policy: &DeliveryPolicy) -> bool {
        !self.is_cut && self.author.followers < u64::from(most) && !policy.is_selective(&self.author)
    }
}

/// See `Deliveries::deliver_at_once`.
pub async fn deliver(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    content: ContentId,
    (most, policy): (u32, &DeliveryPolicy),
    attempt: Option<i64>,
) -> Result<Ended, StoreError> {
    let ended = |rows| Ended::AtOnce(AtOnce::Ended { rows });
    let counted = match primary_store.breaks(Rule::SmallEndsAtItsCount) {
        true => tx.read(|tables| state_of(tables, content).map(|it| it.author.followers + 1)).await?,
        false => None,
    };
    if !tx.lock(Row::Delivery(content)).await? {
        return tx.commit(ended(0)).await;
    }
    let Some(state) = tx.read(|tables| state_of(tables, content)).await? else { return tx.commit(ended(0)).await };
    let (entry, author) = (state.entry, state.entry.author);
    if state.removed {
        delete_with_subtasks(&mut tx, content).await?;
        return tx.commit(ended(0)).await;
    }
    if !state.is_small(most, policy) {
        return tx.roll_back(Ended::AtOnce(AtOnce::ToBeCut)).await;
    }
    match attempt {
        None => tx.look(expect_unused)?,
        Some(_) if state.attempt != attempt && !primary_store.breaks(Rule::ProgressOfAnyAttempt) => {
            return tx.roll_back(ended(0)).await;
        }
        Some(_) => {}
    }
    let now = primary_store.injector.now();
    let last = match counted {
        Some(counted) => tx.read(|tables| last_counted(tables, author, counted)).await?,
        None => END,
    };
    let rows_later = attempt.is_none() && primary_store.breaks(Rule::SmallRecordGoesFirst);
    let rows = match rows_later {
        true => 0,
        false => tx.insert_selected(|it| served(primary_store, it, entry, (0, last), now)).await?,
    };
    tx.write(|_| vec![Change::Delivery(content, None, None)]).await?;
    tx.commit(if rows_later { Ended::RowsLater(entry) } else { ended(rows) }).await
}

pub fn state_of(tables: &Tables, content: ContentId) -> Option<DeliveryState> {
    let record = tables.deliveries.get(&content)?;
    let entry = Entry { publish_time: record.publish_time, content, author: record.author };
    let nobody = AuthorFacts { author: record.author, followers: 0, publish_every_ms: None };
    Some(DeliveryState {
        entry,
        removed: !tables.is_visible(content),
        author: facts(tables, record.author).unwrap_or(nobody),
        is_cut: tables.chain(content).next().is_some(),
        attempt: record.attempt,
    })
}

/// The id of the last follower if exactly the counted number is served: a new follower with a lower id displaces one.
fn last_counted(tables: &Tables, author: UserId, counted: u64) -> i64 {
    let counted = usize::try_from(counted).unwrap_or(usize::MAX);
    tables.fans(author, 0, END).take(counted).last().map_or(0, UserId::get)
}

/// The rows of a delivery whose record has gone.
pub async fn rows_only(primary_store: &PrimaryStore, mut tx: Tx, entry: Entry) -> Result<u64, StoreError> {
    let now = primary_store.injector.now();
    let rows = tx.insert_selected(|it| served(primary_store, it, entry, (0, END), now)).await?;
    tx.commit(rows).await
}
