//! Contents in SQL: publishing, removing, and reading them by id. Outboxes are read in `outbox`, replies and
//! reposts in [`references`].

pub(super) mod outbox;
mod references;
pub(super) mod rows;

use async_trait::async_trait;
use sql_driver::{Tx, Value};

use self::{
    outbox::Listed,
    references::Referred,
    rows::{COLUMNS, content, reference},
};
use super::{
    SqlStore,
    rows::{DomainColumns as _, MAX_LIST, id_list},
    search::{self, task_terms::Kind},
    spread_counts::{self, COUNTER_COLUMNS},
    visibility::not_blocked,
};
use crate::{
    domain::{
        Content, ContentId, Counters, Entry, PageRequest, UserId,
        delivery::rate,
        limits::MAX_INDEXED_TERMS,
        search::terms::{Term, terms_of},
    },
    store::{
        Contents, StoreError,
        contents::{NewContent, OutboxHead, OutboxPage, Published, Removed, VersionChange},
    },
};

/// Delay after the publish time at which the sweeper first looks at a delivery. By then a dispatcher that got the
/// message is done.
const FIRST_LOOK_MS: i64 = 10_000;

#[async_trait]
impl Contents for SqlStore {
    async fn publish(&self, new: NewContent) -> Result<Published, StoreError> {
        let media = serde_json::to_string(&new.draft.media).map_err(|error| StoreError::Refused(Box::new(error)))?;
        let terms = terms_of(&new.draft.text);
        let (new, media, terms) = (&new, media.as_str(), terms.as_slice());
        self.brief_transaction(move |tx| async move {
            let versions = renew_version(&tx, new.author, new.version, Some(new.publish_time)).await?;
            if !add_to_count(&tx, new.author, 1).await? {
                return tx.roll_back(Published::UnknownAuthor).await;
            }
            let repost_author = match references::find(&tx, new).await? {
                Referred::Nothing => None,
                Referred::To(author) => new.draft.reference.repost_of().map(|_| author),
                Referred::Reposted(earlier) => return tx.roll_back(Published::Duplicate(Some(earlier))).await,
                Referred::Missing => {
                    let earlier = with_key(&tx, new).await?;
                    return tx.roll_back(earlier.unwrap_or(Published::UnknownReference)).await;
                }
            };
            if !insert_content(&tx, new, media, repost_author).await? {
                let earlier = what_is_there(&tx, new).await?;
                return tx.roll_back(earlier).await;
            }
            insert_companions(&tx, new).await?;
            if !index(&tx, new, terms).await? {
                return tx.roll_back(Published::TooManyUnindexed).await;
            }
            references::count(&tx, new.draft.reference, new.author, 1).await?;
            tx.commit(Published::Created { versions }).await
        })
        .await
    }

    async fn remove(
        &self,
        author: UserId,
        content: ContentId,
        version: i64,
        now_ms: i64,
    ) -> Result<Removed, StoreError> {
        self.transaction(move |tx| async move {
            let versions = renew_version(&tx, author, version, None).await?;
            let sql = "UPDATE contents SET removed_at = ? WHERE id = ? AND author_id = ? AND removed_at IS NULL";
            let marked = tx.execute(sql, [now_ms.into(), content.get().into(), author.get().into()]).await?;
            let found = tx
                .query_one(
                    "SELECT publish_time, id, author_id, removed_at, reply_to, repost_of, text FROM contents WHERE id = ?",
                    [content.get().into()],
                )
                .await?;
            let Some(row) = found else { return tx.roll_back(Removed::Unknown).await };
            if marked == 0 {
                let outcome =
                    if row.get::<Option<i64>>(3)?.is_some() { Removed::Unknown } else { Removed::NotTheAuthor };
                return tx.roll_back(outcome).await;
            }
            add_to_count(&tx, author, -1).await?;
            let reference = reference(&row, 4)?;
            references::count(&tx, reference, author, -1).await?;
            tx.execute("DELETE FROM counters WHERE content_id = ?", [content.get().into()]).await?;
            let (entry, text) = (row.entry(0)?, row.get::<String>(6)?);
            search::tasks::remove(&tx, entry, &text).await?;
            tx.commit(Removed::Gone { entry, versions, counted: reference.content() }).await
        })
        .await
    }

    async fn by_ids(&self, viewer: Option<UserId>, ids: &[ContentId]) -> Result<Vec<Content>, StoreError> {
        let mut contents = Vec::with_capacity(ids.len());
        for ids in ids.chunks(MAX_LIST) {
            let (list, values) = id_list(ids);
            let unblocked = not_blocked(viewer, "contents.author_id");
            let sql =
                format!("SELECT {COLUMNS} FROM contents WHERE id IN {list} AND removed_at IS NULL{}", unblocked.text);
            for row in self.read_few(&sql, values.into_iter().chain(unblocked.values)).await? {
                contents.push(content(&row)?);
            }
        }
        Ok(contents)
    }

    async fn was_published(&self, id: ContentId) -> Result<bool, StoreError> {
        let rows = self.read_few("SELECT 1 FROM contents WHERE id = ?", [id.get().into()]).await?;
        Ok(!rows.is_empty())
    }

    async fn counters(&self, ids: &[ContentId]) -> Result<Vec<(ContentId, Counters)>, StoreError> {
        let mut counters = Vec::with_capacity(ids.len());
        for ids in ids.chunks(MAX_LIST) {
            let (list, values) = id_list(ids);
            let sql = format!("SELECT k.content_id, {COUNTER_COLUMNS} FROM counters k WHERE k.content_id IN {list}");
            for row in self.read_few(&sql, values).await? {
                counters.push((row.content(0)?, spread_counts::counters(&row, 1)?.unwrap_or_default()));
            }
        }
        Ok(counters)
    }

    async fn outbox(
        &self,
        viewer: Option<UserId>,
        authors: &[UserId],
        request: &PageRequest,
    ) -> Result<Vec<OutboxPage>, StoreError> {
        self.listed_pages(viewer, authors.iter().copied().map(Listed::By), request).await
    }

    async fn with_media(
        &self,
        viewer: Option<UserId>,
        authors: &[UserId],
        request: &PageRequest,
    ) -> Result<Vec<OutboxPage>, StoreError> {
        self.listed_pages(viewer, authors.iter().copied().map(Listed::WithMediaBy), request).await
    }

    async fn subjects(&self, ids: &[ContentId]) -> Result<Vec<(ContentId, ContentId)>, StoreError> {
        self.subjects_of(ids).await
    }

    async fn reposted_among(
        &self,
        author: UserId,
        originals: &[ContentId],
    ) -> Result<Vec<(ContentId, ContentId)>, StoreError> {
        self.reposts_of(author, originals).await
    }

    async fn replies(
        &self,
        viewer: Option<UserId>,
        contents: &[ContentId],
        request: &PageRequest,
    ) -> Result<Vec<OutboxPage>, StoreError> {
        self.listed_pages(viewer, contents.iter().copied().map(Listed::RepliesTo), request).await
    }

    async fn ancestors(&self, contents: &[ContentId], limit: usize) -> Result<Vec<Vec<ContentId>>, StoreError> {
        self.upward_from(contents, limit).await
    }

    async fn outbox_heads(&self, authors: &[UserId], limit: usize) -> Result<Vec<OutboxHead>, StoreError> {
        self.heads_of_outboxes(authors, limit).await
    }
}

/// Sets the outbox's new version and, at a publish, smooths the publish interval. It always takes the first lock. The
/// lock delays every other publish and removal of this author until the transaction ends, so versions follow each
/// other and idempotency keys are looked up one after the other.
async fn renew_version(
    tx: &Tx,
    author: UserId,
    after: i64,
    published: Option<i64>,
) -> Result<VersionChange, StoreError> {
    let sql = format!(
        "SELECT stamp, published_at, publish_every_ms FROM outbox_heads WHERE author_id = ? {}",
        tx.dialect().for_update()
    );
    let author = Value::from(author.get());
    let Some(row) = tx.query_one(&sql, [author.clone()]).await? else {
        let sql = "INSERT INTO outbox_heads (stamp, published_at, author_id) VALUES (?, ?, ?)";
        if !tx.insert(sql, [after.into(), published.into(), author]).await? {
            return Err(StoreError::Contended("an author's first two changes at once".into()));
        }
        return Ok(VersionChange { before: 0, after });
    };
    let (last, every): (Option<i64>, Option<i64>) = (row.get(1)?, row.get(2)?);
    let every = published.map_or(every, |at| rate::smoothed(every, last, at, 0));
    let sql = "UPDATE outbox_heads SET stamp = ?, published_at = ?, publish_every_ms = ? WHERE author_id = ?";
    tx.execute(sql, [after.into(), published.or(last).into(), every.into(), author]).await?;
    Ok(VersionChange { before: row.get(0)?, after })
}

/// `false` if there is no such author.
async fn add_to_count(tx: &Tx, author: UserId, more: i64) -> Result<bool, StoreError> {
    let sql = "UPDATE user_counts SET contents = contents + ? WHERE user_id = ?";
    Ok(tx.execute(sql, [more.into(), author.get().into()]).await? == 1)
}

async fn insert_content(
    tx: &Tx,
    new: &NewContent,
    media: &str,
    repost_author: Option<UserId>,
) -> Result<bool, StoreError> {
    let sql = "INSERT INTO contents (id, author_id, kind, text, media, publish_time, idempotency_key, reply_to, repost_of, repost_author_id, media_author_id) \
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let reference = new.draft.reference;
    let with_media = !new.draft.media.is_empty();
    let values: [Value; 11] = [
        new.id.get().into(),
        new.author.get().into(),
        reference.kind().code().into(),
        new.draft.text.as_str().into(),
        media.into(),
        new.publish_time.into(),
        new.draft.idempotency_key.clone().into(),
        reference.reply_to().map(ContentId::get).into(),
        reference.repost_of().map(ContentId::get).into(),
        repost_author.map(UserId::get).into(),
        with_media.then_some(new.author.get()).into(),
    ];
    tx.insert(sql, values).await
}

/// Inserts the counters and the delivery record.
async fn insert_companions(tx: &Tx, new: &NewContent) -> Result<(), StoreError> {
    let id = Value::from(new.id.get());
    tx.execute("INSERT INTO counters (content_id) VALUES (?)", [id.clone()]).await?;
    let look_at = new.publish_time.saturating_add(FIRST_LOOK_MS);
    let values = [id, new.author.get().into(), new.publish_time.into(), look_at.into()];
    tx.execute("INSERT INTO deliveries (content_id, author_id, publish_time, look_at) VALUES (?, ?, ?, ?)", values)
        .await
        .map(|_| ())
}

/// Inserts the terms, or leaves them to the indexer if they are many. `false` if too much waits for it.
async fn index(tx: &Tx, new: &NewContent, terms: &[Term]) -> Result<bool, StoreError> {
    let entry = Entry { publish_time: new.publish_time, content: new.id, author: new.author };
    if terms.len() <= MAX_INDEXED_TERMS {
        return search::terms::insert(tx, entry.position(), terms).await.map(|()| true);
    }
    if !search::tasks::has_room(tx, new.author).await? {
        return Ok(false);
    }
    search::tasks::add(tx, Kind::Index, entry, None).await.map(|()| true)
}

/// Finds which unique value of the new content exists already. A used key comes first, because the caller must not
/// draw another id for it.
async fn what_is_there(tx: &Tx, new: &NewContent) -> Result<Published, StoreError> {
    if let Some(earlier) = with_key(tx, new).await? {
        return Ok(earlier);
    }
    match tx.query_one("SELECT 1 FROM contents WHERE id = ?", [new.id.get().into()]).await? {
        Some(_) => Ok(Published::IdTaken),
        None => Err(StoreError::Contended("a content with the same id was undone meanwhile".into())),
    }
}

/// The content published under the new content's key.
async fn with_key(tx: &Tx, new: &NewContent) -> Result<Option<Published>, StoreError> {
    let Some(key) = &new.draft.idempotency_key else { return Ok(None) };
    let sql = format!("SELECT {COLUMNS}, removed_at FROM contents WHERE author_id = ? AND idempotency_key = ?");
    let Some(row) = tx.query_one(&sql, [new.author.get().into(), key.as_str().into()]).await? else { return Ok(None) };
    let removed = row.get::<Option<i64>>(8)?.is_some();
    Ok(Some(Published::Duplicate(if removed { None } else { Some(content(&row)?) })))
}
