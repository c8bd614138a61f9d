//! Contents in SQL: publishing, removing, and reading them by id. Outboxes are read in `outbox`, replies and reposts
//! in [`references`], threads upwards in `ancestors`; what products say of contents is in `objects`.

mod ancestors;
pub(super) mod objects;
pub(super) mod outbox;
mod references;
pub(super) mod rows;

use async_trait::async_trait;
use sql_driver::{Dialect, Fragment, Tx, Value};

use self::{
    outbox::Listed,
    references::Referred,
    rows::{COLUMNS, TABLES, WIDTH, content, reference},
};
use super::{
    SqlStore,
    rows::{DomainColumns as _, MAX_LIST, Row, id_list},
    search::{self, task_terms::Kind},
    spread_counts::{self, COUNTER_COLUMNS, COUNTERS},
    visibility::not_blocked,
};
use crate::{
    domain::{
        Content, ContentId, Counters, Entry, PageRequest, UserId, account::external::ExternalId, delivery::rate,
        limits::MAX_INDEXED_TERMS, search::terms::terms_of,
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
            let dialect = tx.dialect();
            let author = [lock_head(dialect, new.author), add_to_count(new.author, 1)];
            let found = tx.all(author.into_iter().chain(references::look_up(tx.dialect(), new))).await?;
            if found.affected(1) == 0 {
                return tx.roll_back(Published::UnknownAuthor).await;
            }
            let (repost_author, is_spread) = match references::found(new, found.row(2), found.row(3))? {
                Referred::Nothing => (None, false),
                Referred::To(author, is_spread) => (new.draft.reference.repost_of().map(|_| author), is_spread),
                Referred::Reposted(earlier) => return tx.roll_back(new.repeats(earlier)).await,
                Referred::Missing => {
                    let earlier = earlier(&tx, new).await?;
                    return tx.roll_back(earlier.unwrap_or(Published::UnknownReference)).await;
                }
            };
            let (head, versions) = renew_head(found.row(0), (new.author, new.version), Some(new.publish_time))?;
            let position = Entry { publish_time: new.publish_time, content: new.id, author: new.author }.position();
            let is_long = terms.len() > MAX_INDEXED_TERMS;
            let rows = [head, insert_content(new, media, repost_author)].into_iter();
            let rows = rows.chain(objects::insert(new)).chain(companions(new));
            let rows = rows.chain(search::terms::rows(dialect, position, if is_long { &[] } else { terms }));
            let counted = references::change(new.draft.reference, new.author, 1);
            let counted =
                counted.map(|it| if is_spread { COUNTERS.beside(dialect, it) } else { COUNTERS.in_row(dialect, it) });
            match tx.all_unless_there(rows.chain(counted)).await?.stopped_at() {
                None => {}
                Some(0) => return Err(StoreError::Contended("an author's first two changes at once".into())),
                Some(_) => {
                    let earlier = what_is_there(&tx, new).await?;
                    return tx.roll_back(earlier).await;
                }
            }
            if is_long && !leave_to_the_indexer(&tx, new).await? {
                return tx.roll_back(Published::TooManyUnindexed).await;
            }
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
            let head = tx.all([lock_head(tx.dialect(), author)]).await?;
            let (head, versions) = renew_head(head.row(0), (author, version), None)?;
            if tx.all_unless_there([head]).await?.stopped_at().is_some() {
                return Err(StoreError::Contended("an author's first two changes at once".into()));
            }
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
            tx.all([add_to_count(author, -1)]).await?;
            let reference = reference(&row, 4)?;
            if let Some(change) = references::change(reference, author, -1) {
                COUNTERS.change(&tx, change).await?;
            }
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
            let unblocked = not_blocked(self.dialect, viewer, "c.author_id");
            let sql = format!(
                "SELECT {COLUMNS} FROM {TABLES} WHERE c.id IN {list} AND c.removed_at IS NULL{}",
                unblocked.text
            );
            for row in self.read_few_anywhere(&sql, values.into_iter().chain(unblocked.values)).await? {
                contents.push(content(&row)?);
            }
        }
        Ok(contents)
    }

    async fn by_external_ids(&self, ids: &[ExternalId]) -> Result<Vec<(ExternalId, ContentId)>, StoreError> {
        self.ids_of_external(ids).await
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
            for row in self.read_few_anywhere(&sql, values).await? {
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

/// The author's outbox. It is always the first lock, which delays every other publish and removal of this author until
/// the transaction ends, so versions follow each other and idempotency keys are looked up one after the other.
fn lock_head(dialect: Dialect, author: UserId) -> Fragment {
    let for_update = dialect.for_update();
    let text =
        format!("SELECT stamp, published_at, publish_every_ms FROM outbox_heads WHERE author_id = ? {for_update}");
    Fragment::new(text, [author.get()])
}

/// Sets the new version of the outbox that [`lock_head`] has found and, at a publish, smooths the publish interval. The
/// first change of an author finds its row there if another comes at once.
fn renew_head(
    found: Option<&Row>,
    (author, after): (UserId, i64),
    published: Option<i64>,
) -> Result<(Fragment, VersionChange), StoreError> {
    let Some(row) = found else {
        let sql = "INSERT INTO outbox_heads (stamp, published_at, author_id) VALUES (?, ?, ?)";
        let first = Fragment::with(sql, [after.into(), published.into(), author.get().into()]);
        return Ok((first, VersionChange { before: 0, after }));
    };
    let (last, every): (Option<i64>, Option<i64>) = (row.get(1)?, row.get(2)?);
    let every = published.map_or(every, |at| rate::smoothed(every, last, at, 0));
    let sql = "UPDATE outbox_heads SET stamp = ?, published_at = ?, publish_every_ms = ? WHERE author_id = ?";
    let values = [after.into(), published.or(last).into(), every.into(), author.get().into()];
    Ok((Fragment::with(sql, values), VersionChange { before: row.get(0)?, after }))
}

/// Affects no row if there is no such author.
fn add_to_count(author: UserId, more: i64) -> Fragment {
    Fragment::new("UPDATE user_counts SET contents = contents + ? WHERE user_id = ?", [more, author.get()])
}

fn insert_content(new: &NewContent, media: &str, repost_author: Option<UserId>) -> Fragment {
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
    Fragment::with(sql, values)
}

/// The counters and the delivery record.
fn companions(new: &NewContent) -> [Fragment; 2] {
    let (id, look_at) = (new.id.get(), new.publish_time.saturating_add(FIRST_LOOK_MS));
    let delivery = "INSERT INTO deliveries (content_id, author_id, publish_time, look_at) VALUES (?, ?, ?, ?)";
    [
        Fragment::new("INSERT INTO counters (content_id) VALUES (?)", [id]),
        Fragment::new(delivery, [id, new.author.get(), new.publish_time, look_at]),
    ]
}

/// `false` if too much waits for it.
async fn leave_to_the_indexer(tx: &Tx, new: &NewContent) -> Result<bool, StoreError> {
    if !search::tasks::has_room(tx, new.author).await? {
        return Ok(false);
    }
    let entry = Entry { publish_time: new.publish_time, content: new.id, author: new.author };
    search::tasks::add(tx, Kind::Index, entry, None).await.map(|()| true)
}

/// Finds which unique value of the new content exists already. A used external id or key comes first, because the
/// caller must not draw another id for it.
async fn what_is_there(tx: &Tx, new: &NewContent) -> Result<Published, StoreError> {
    if let Some(earlier) = earlier(tx, new).await? {
        return Ok(earlier);
    }
    match tx.query_one("SELECT 1 FROM contents WHERE id = ?", [new.id.get().into()]).await? {
        Some(_) => Ok(Published::IdTaken),
        None => Err(StoreError::Contended("a content with the same id was undone meanwhile".into())),
    }
}

/// What was published under the new content's external id, or else under its key.
async fn earlier(tx: &Tx, new: &NewContent) -> Result<Option<Published>, StoreError> {
    match objects::with_external_id(tx, new).await? {
        None => with_key(tx, new).await,
        found => Ok(found),
    }
}

/// The content published under the new content's key.
async fn with_key(tx: &Tx, new: &NewContent) -> Result<Option<Published>, StoreError> {
    let Some(key) = &new.draft.idempotency_key else { return Ok(None) };
    let sql = format!("SELECT {COLUMNS}, c.removed_at FROM {TABLES} WHERE c.author_id = ? AND c.idempotency_key = ?");
    let Some(row) = tx.query_one(&sql, [new.author.get().into(), key.as_str().into()]).await? else { return Ok(None) };
    let is_removed = row.get::<Option<i64>>(WIDTH)?.is_some();
    Ok(Some(if is_removed { Published::Duplicate(None) } else { new.repeats(content(&row)?) }))
}
