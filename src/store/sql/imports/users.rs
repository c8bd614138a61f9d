//! Users of a batch: new ones are inserted together, the others changed one by one where they differ.

use std::collections::{HashMap, HashSet};

use sql_driver::{Tx, Value};

use super::super::{
    accounts::{
        identities::{change, columns},
        profiles::written,
    },
    bulk::{insert, insert_new},
    existing_accounts::account_exists,
    people,
    rows::{DomainColumns as _, Row, id_list, value_list},
};
use crate::{
    domain::{EdgeMode, Handle, UserId},
    store::{
        StoreError,
        imports::{AppliedBatch, ImportedUser, RowOutcome, RowRefusal},
    },
};

/// Changes those who are there, then inserts the others, whose handles may have become free. Whose account was deleted
/// does not come back by a file, which may be older than the deletion.
pub(super) async fn upsert(tx: &Tx, users: &[ImportedUser], now_ms: i64) -> Result<AppliedBatch, StoreError> {
    let known = known(tx, users).await?;
    expect_states(tx, users, &known).await?;
    let (identities, rows) = known;
    let mut outcomes = vec![RowOutcome::Unchanged; users.len()];
    let mut new = Vec::new();
    for (imported, outcome) in users.iter().zip(&mut outcomes) {
        match identities.get(&imported.identity.digest).map(|user| (*user, rows.get(user))) {
            Some((user, Some(present))) => *outcome = revise(tx, user, present, imported).await?,
            Some((_, None)) => *outcome = RowOutcome::Refused(RowRefusal::AccountDeleted),
            None => new.push((imported, outcome)),
        }
    }
    let mut taken = taken(tx, new.iter().map(|(imported, _)| *imported)).await?;
    let mut inserted = Vec::with_capacity(new.len());
    for (imported, outcome) in new {
        let wanted = std::iter::once(&imported.account.registration.handle).chain(&imported.other_handle);
        *outcome = match wanted.into_iter().find(|handle| !taken.contains(handle.as_str())) {
            Some(handle) => {
                taken.insert(handle.as_str().to_owned());
                inserted.push((imported, handle));
                RowOutcome::Created
            }
            None => RowOutcome::Refused(RowRefusal::HandleTaken),
        };
    }
    insert_users(tx, &inserted, now_ms).await?;
    Ok(AppliedBatch { outcomes, ..AppliedBatch::default() })
}

/// Users by digest, and their rows, locked in ascending ids.
type Known = (HashMap<String, UserId>, HashMap<UserId, Row>);

/// The users with these identities, and the rows of those who have an account.
async fn known(tx: &Tx, users: &[ImportedUser]) -> Result<Known, StoreError> {
    let (list, digests) = value_list(users.iter().map(|it| it.identity.digest.as_str().into()));
    let sql = format!("SELECT e.identity, e.user_id FROM external_identities e WHERE e.identity IN {list}");
    let found = tx.query(&sql, digests).await?;
    let found = found.iter().map(|row| Ok((row.get(0)?, row.user(1)?)));
    let identities = found.collect::<Result<HashMap<String, UserId>, StoreError>>()?;
    if identities.is_empty() {
        return Ok(Known::default());
    }
    let (list, ids) = id_list(&identities.values().copied().collect::<Vec<UserId>>());
    let sql = format!(
        "SELECT handle, name, bio, avatar_url, attributes, id FROM users WHERE id IN {list}{} ORDER BY id {}",
        account_exists("users.id"),
        tx.dialect().for_update(),
    );
    let rows = tx.query(&sql, ids).await?;
    let present = rows.into_iter().map(|row| Ok((row.user(5)?, row))).collect::<Result<HashMap<_, _>, StoreError>>()?;
    Ok((identities, present))
}

/// Refuses a batch with a line whose user has an account in another state. A batch changes no states, because a change
/// also ends sessions.
async fn expect_states(tx: &Tx, users: &[ImportedUser], (identities, present): &Known) -> Result<(), StoreError> {
    let stated = users.iter().filter_map(|it| Some((*identities.get(&it.identity.digest)?, it.is_deactivated?)));
    let stated: HashMap<UserId, bool> = stated.filter(|(user, _)| present.contains_key(user)).collect();
    if stated.is_empty() {
        return Ok(());
    }
    let (list, ids) = id_list(&stated.keys().copied().collect::<Vec<UserId>>());
    let rows = tx.query(&format!("SELECT user_id FROM deactivations WHERE user_id IN {list}"), ids).await?;
    let deactivated = rows.iter().map(|row| row.user(0)).collect::<Result<HashSet<_>, _>>()?;
    if stated.iter().any(|(user, is_deactivated)| deactivated.contains(user) != *is_deactivated) {
        return Err(StoreError::Contended("a user is not in the state of the line".into()));
    }
    Ok(())
}

async fn revise(tx: &Tx, user: UserId, present: &Row, imported: &ImportedUser) -> Result<RowOutcome, StoreError> {
    Ok(match change(tx, user, present, &imported.revision).await? {
        Some(is_changed) if is_changed || imported.is_restated_now => RowOutcome::Updated,
        Some(_) => RowOutcome::Unchanged,
        None => RowOutcome::Refused(RowRefusal::HandleTaken),
    })
}

/// Handles of these users that somebody has.
async fn taken<'a>(tx: &Tx, users: impl Iterator<Item = &'a ImportedUser>) -> Result<HashSet<String>, StoreError> {
    let handles = users.flat_map(|it| std::iter::once(&it.account.registration.handle).chain(&it.other_handle));
    let handles: Vec<Value> = handles.map(|handle| handle.as_str().into()).collect();
    if handles.is_empty() {
        return Ok(HashSet::new());
    }
    let (list, handles) = value_list(handles.into_iter());
    let rows = tx.query(&format!("SELECT handle FROM users WHERE handle IN {list}"), handles).await?;
    rows.iter().map(|row| row.get(0)).collect()
}

/// As [`super::super::accounts::insert_beginnings`], but the inbox has no floor, so that the reader is off, and nobody
/// has seen them.
async fn insert_users(tx: &Tx, new: &[(&ImportedUser, &Handle)], now_ms: i64) -> Result<(), StoreError> {
    let rows = new.iter().map(|(imported, handle)| {
        let (account, attributes) = (&imported.account, &imported.revision.edit.attributes);
        let attributes = attributes.as_ref().map(written).transpose()?.flatten();
        let profile = &account.registration;
        let (name, bio, avatar) = (profile.name.clone(), profile.bio.clone(), profile.avatar_url.clone());
        let [id, handle]: [Value; 2] = [account.id.get().into(), handle.as_str().into()];
        Ok([id, handle, name.into(), bio.into(), avatar.into(), account.now_ms.into(), attributes.into()])
    });
    let rows = rows.collect::<Result<Vec<_>, StoreError>>()?;
    insert_new(tx, "users (id, handle, name, bio, avatar_url, created_at, attributes)", rows).await?;
    let identities = new.iter().map(|(imported, _)| identity(imported));
    insert_new(tx, "external_identities (identity, user_id, issuer, subject, as_of)", identities.collect()).await?;
    let (deactivated, active): (Vec<_>, Vec<_>) = new.iter().partition(|(it, _)| it.is_deactivated == Some(true));
    let names = active
        .iter()
        .flat_map(|(it, handle)| people::names::rows(it.account.id, handle, &it.account.registration.name));
    insert(tx, people::names::COLUMNS, "", names.collect()).await?;
    let deactivated = deactivated.iter().map(|(it, _)| [it.account.id.get(), now_ms].map(Value::from));
    insert(tx, "deactivations (user_id, deactivated_at)", "", deactivated.collect()).await?;
    let ids = || new.iter().map(|(imported, _)| [Value::from(imported.account.id.get())]);
    insert(tx, "user_counts (user_id)", "", ids().collect()).await?;
    insert(tx, "inbox_states (user_id)", "", ids().collect()).await?;
    let heads = new.iter().map(|(imported, _)| [imported.account.id.get(), 0].map(Value::from));
    insert(tx, "outbox_heads (author_id, stamp)", "", heads.collect()).await?;
    let selves = new.iter().map(|(imported, _)| {
        let (account, push) = (&imported.account, EdgeMode::Push.code());
        let [id, incarnation, now] = [account.id.get(), account.incarnation, account.now_ms].map(Value::from);
        [id.clone(), id, push.into(), incarnation, now]
    });
    insert(tx, super::follows::EDGES, "", selves.collect()).await
}

fn identity(imported: &ImportedUser) -> [Value; 5] {
    let [digest, user, issuer, subject] = columns(imported.account.id, &imported.identity);
    [digest, user, issuer, subject, imported.revision.as_of.unwrap_or(0).into()]
}
