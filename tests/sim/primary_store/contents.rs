//! Contents in the model: publishing, removing, and reading them.

use std::sync::Arc;

use async_trait::async_trait;
use tidefeed::{
    domain::{
        Content, ContentId, Counters, EdgeMode, Entry, PageRequest, Run, UserId, account::external::ExternalId,
        content::Draft, delivery::rate,
    },
    store::{
        Contents, StoreError,
        contents::{NewContent, OutboxHead, OutboxPage, Published, Removed, VersionChange},
    },
};

use super::{
    exclusions::BLOCKS,
    outside_states::recipients,
    references::{self, Referred},
    tables::{self, Change, Head, Record, Row, Tables},
    timelines::Side,
    transaction::{PrimaryStore, Tx, transaction},
};
use crate::rules::Rule;

const FIRST_LOOK_MS: i64 = 10_000;

#[async_trait]
impl Contents for PrimaryStore {
    async fn publish(&self, new: NewContent) -> Result<Published, StoreError> {
        if self.breaks(Rule::DeliveredBeforeCommit) {
            let early = self.read(|tables| recipients(self, tables, new.author, (0, i64::MAX))).await?;
            self.base().early.recipients.insert(new.id, early);
        }
        let published = transaction!(self, tx => publish(self, tx, &new))?;
        if self.breaks(Rule::RecordInASecondTransaction) && matches!(published, Published::Created { .. }) {
            return transaction!(self, tx => record_only(tx, &new, published.clone()));
        }
        if self.breaks(Rule::VersionDrawnAfterwards) && matches!(published, Published::Created { .. }) {
            return transaction!(self, tx => renew_version_only(tx, &new));
        }
        Ok(published)
    }

    async fn remove(
        &self,
        author: UserId,
        content: ContentId,
        version: i64,
        _now_ms: i64,
    ) -> Result<Removed, StoreError> {
        transaction!(self, tx => remove(self, tx, (author, content), version))
    }

    async fn by_ids(&self, viewer: Option<UserId>, ids: &[ContentId]) -> Result<Vec<Content>, StoreError> {
        self.read_anywhere(|tables| {
            let there = ids.iter().filter_map(|id| content(*id, tables.contents.get(id)?));
            there.filter(|it| is_open(tables, viewer, it.author)).collect()
        })
        .await
    }

    async fn by_external_ids(&self, ids: &[ExternalId]) -> Result<Vec<(ExternalId, ContentId)>, StoreError> {
        self.read(|tables| {
            let given = tables.contents.iter().filter_map(|(id, it)| Some((it.draft.external_id()?.clone(), *id)));
            given.filter(|(external_id, _)| ids.contains(external_id)).collect()
        })
        .await
    }

    async fn was_published(&self, id: ContentId) -> Result<bool, StoreError> {
        self.read(|tables| tables.contents.contains_key(&id)).await
    }

    async fn counters(&self, ids: &[ContentId]) -> Result<Vec<(ContentId, Counters)>, StoreError> {
        self.read_anywhere(|tables| ids.iter().filter_map(|id| Some((*id, *tables.counters.get(id)?))).collect()).await
    }

    async fn outbox(
        &self,
        viewer: Option<UserId>,
        authors: &[UserId],
        request: &PageRequest,
    ) -> Result<Vec<OutboxPage>, StoreError> {
        let listed = |tables: &Tables, author: UserId| -> Vec<Entry> {
            tables.outbox(author).filter(|_| is_open(tables, viewer, author)).collect()
        };
        self.read_anywhere(|tables| authors.iter().map(|it| page(tables, request, &listed(tables, *it))).collect())
            .await
    }

    async fn with_media(
        &self,
        viewer: Option<UserId>,
        authors: &[UserId],
        request: &PageRequest,
    ) -> Result<Vec<OutboxPage>, StoreError> {
        let listed = |tables: &Tables, author: UserId| -> Vec<Entry> {
            let own = tables.outbox(author).filter(|_| is_open(tables, viewer, author));
            own.filter(|it| tables.contents.get(&it.content).is_some_and(|it| !it.draft.media.is_empty())).collect()
        };
        self.read_anywhere(|tables| authors.iter().map(|it| page(tables, request, &listed(tables, *it))).collect())
            .await
    }

    async fn subjects(&self, ids: &[ContentId]) -> Result<Vec<(ContentId, ContentId)>, StoreError> {
        let lost = self.breaks(Rule::LostContentShowsItself);
        let exist = |tables: &Tables, id: &ContentId| lost || tables.contents.contains_key(id);
        let subject = |tables: &Tables, id: &ContentId| (*id, tables.original(*id).unwrap_or(*id));
        self.read_anywhere(|tables| ids.iter().filter(|id| exist(tables, id)).map(|id| subject(tables, id)).collect())
            .await
    }

    async fn reposted_among(
        &self,
        author: UserId,
        originals: &[ContentId],
    ) -> Result<Vec<(ContentId, ContentId)>, StoreError> {
        let repost = |tables: &Tables, id: ContentId| Some((id, references::repost(tables, author, id)?));
        self.read_anywhere(|tables| originals.iter().filter_map(|id| repost(tables, *id)).collect()).await
    }

    async fn replies(
        &self,
        viewer: Option<UserId>,
        contents: &[ContentId],
        request: &PageRequest,
    ) -> Result<Vec<OutboxPage>, StoreError> {
        let replies = |tables: &Tables, content| page(tables, request, &references::replies(tables, viewer, content));
        self.read_anywhere(|tables| contents.iter().map(|it| replies(tables, *it)).collect()).await
    }

    async fn ancestors(&self, contents: &[ContentId], limit: usize) -> Result<Vec<Vec<ContentId>>, StoreError> {
        self.read_anywhere(|tables| contents.iter().map(|it| references::ancestors(tables, *it, limit)).collect()).await
    }

    async fn outbox_heads(&self, authors: &[UserId], limit: usize) -> Result<Vec<OutboxHead>, StoreError> {
        let heads = |tables: &Tables| authors.iter().map(|author| head(tables, *author, limit)).collect::<Vec<_>>();
        if self.breaks(Rule::RefillOfTwoSnapshots) {
            let earlier = self.read(heads).await?;
            let later: Vec<i64> = self.read(|tables| authors.iter().map(|it| tables.version(*it)).collect()).await?;
            return Ok(earlier.into_iter().zip(later).map(|(head, version)| OutboxHead { version, ..head }).collect());
        }
        self.read_anywhere(heads).await
    }
}

/// Whether no block stands between the two.
pub fn is_open(tables: &Tables, viewer: Option<UserId>, author: UserId) -> bool {
    viewer.is_none_or(|viewer| !tables.is_excluded(viewer, author, BLOCKS))
}

/// The page of a list, whose entries come in any order.
fn page(tables: &Tables, request: &PageRequest, listed: &[Entry]) -> OutboxPage {
    let rows = |side: Side| {
        let of_kinds = listed.iter().copied().filter(|it| tables.is_of(it.content, side.kinds));
        Run::from_limited_query(side.direction, side.first(of_kinds.collect()), side.limit)
    };
    OutboxPage { ahead: rows(Side::ahead(request)), behind: Side::behind(request).map(rows) }
}

fn head(tables: &Tables, author: UserId, limit: usize) -> OutboxHead {
    let mut entries: Vec<Entry> = tables.outbox(author).rev().take(limit + 1).collect();
    let whole = entries.len() <= limit;
    entries.truncate(limit);
    OutboxHead { author, version: tables.version(author), entries, whole }
}

/// As it is shown; `None` if it was removed.
pub fn content(id: ContentId, it: &tables::Published) -> Option<Content> {
    let Draft { text, media, object, .. } = (*it.draft).clone();
    let (author, publish_time) = (it.author, it.publish_time);
    (!it.removed).then_some(Content {
        id,
        author,
        kind: it.kind,
        reference: it.draft.reference,
        text,
        media,
        publish_time,
        object,
    })
}

/// The first lock of all that change an outbox.
async fn renew_version(
    tx: &mut Tx,
    author: UserId,
    after: i64,
    published: Option<i64>,
) -> Result<VersionChange, StoreError> {
    if !tx.lock(Row::Head(author)).await? {
        let head = Head { version: after, published_at: published, publish_every: None };
        if !tx.insert(Change::Head(author, Some(head), None)).await? {
            return Err(StoreError::Contended("an author's first two changes at once".into()));
        }
        return Ok(VersionChange { before: 0, after });
    }
    let before = tx.look(|tables| tables.heads.get(&author).copied());
    let Some(before) = before else { return Err(StoreError::Contended("a locked row is gone".into())) };
    let (last, every) = (before.published_at, before.publish_every);
    let publish_every = published.map_or(every, |at| rate::smoothed(every, last, at, 0));
    let head = Head { version: after, published_at: published.or(last), publish_every };
    tx.write(|_| vec![Change::Head(author, Some(head), None)]).await?;
    Ok(VersionChange { before: before.version, after })
}

/// The change of versions that is reported if the outbox keeps the one that it has.
fn unchanged(tx: &mut Tx, author: UserId) -> VersionChange {
    let version = tx.look(|tables| tables.version(author));
    VersionChange { before: version, after: version }
}

async fn count(tx: &mut Tx, author: UserId, more: i64) -> Result<bool, StoreError> {
    let changed = |tables: &Tables| {
        let mut counts = *tables.counts.get(&author)?;
        counts.contents += more;
        Some(Change::Counts(author, Some(counts), None))
    };
    Ok(tx.write(|tables| changed(tables).into_iter().collect()).await? == 1)
}

async fn publish(primary_store: &PrimaryStore, mut tx: Tx, new: &NewContent) -> Result<Published, StoreError> {
    let stale = !primary_store.breaks(Rule::RecordOnlyIfPushed) || is_pushed(&mut tx, new.author).await?;
    let versions = match primary_store.breaks(Rule::VersionDrawnAfterwards) {
        true => unchanged(&mut tx, new.author),
        false => renew_version(&mut tx, new.author, new.version, Some(new.publish_time)).await?,
    };
    if !count(&mut tx, new.author, 1).await? {
        return tx.roll_back(Published::UnknownAuthor).await;
    }
    let referred = references::find(primary_store, &mut tx, new).await?;
    if let Referred::Reposted(earlier) = referred {
        return tx.roll_back(new.repeats(earlier)).await;
    }
    let earlier = |tables: &Tables| earlier(tables, new).filter(|_| !primary_store.breaks(Rule::KeysMayRepeat));
    if let Some(earlier) = tx.read(earlier).await? {
        return tx.roll_back(earlier).await;
    }
    let repost_author = match referred {
        Referred::Missing => return tx.roll_back(Published::UnknownReference).await,
        Referred::To(author) => new.draft.reference.repost_of().map(|_| author),
        Referred::Nothing | Referred::Reposted(_) => None,
    };
    let row = tables::Published {
        author: new.author,
        draft: Arc::new(new.draft.clone()),
        publish_time: new.publish_time,
        kind: new.draft.reference.kind(),
        repost_author,
        removed: false,
    };
    if !tx.insert(Change::Content(new.id, Some(row), None)).await? {
        return tx.roll_back(Published::IdTaken).await;
    }
    let none = Counters { replies: 0, likes: 0, reposts: 0, bookmarks: 0 };
    tx.insert(Change::Counters(new.id, Some(none), None)).await?;
    if stale && !primary_store.breaks(Rule::NoRecord) && !primary_store.breaks(Rule::RecordInASecondTransaction) {
        record(&mut tx, new).await?;
    }
    references::count(&mut tx, new.draft.reference, 1).await?;
    tx.commit(Published::Created { versions }).await
}

async fn is_pushed(tx: &mut Tx, author: UserId) -> Result<bool, StoreError> {
    tx.read(|tables| tables.fans(author, 0, i64::MAX).any(|fan| tables.mode(fan, author) == Some(EdgeMode::Push))).await
}

/// Publishes of one author take turns at the author's version, so that keys are looked up one after the other. Those of
/// different authors do not; external ids are given by the differential test alone, which makes one call at a time.
fn earlier(tables: &Tables, new: &NewContent) -> Option<Published> {
    let all = || tables.contents.iter();
    let of_id = |it: &tables::Published| new.draft.external_id().is_some_and(|id| it.draft.external_id() == Some(id));
    let of_key = |it: &tables::Published| {
        let key = new.draft.idempotency_key.as_ref();
        it.author == new.author && key.is_some() && it.draft.idempotency_key.as_ref() == key
    };
    let (id, it) = all().find(|(_, it)| of_id(it)).or_else(|| all().find(|(_, it)| of_key(it)))?;
    Some(content(*id, it).map_or(Published::Duplicate(None), |earlier| new.repeats(earlier)))
}

async fn record(tx: &mut Tx, new: &NewContent) -> Result<(), StoreError> {
    let record = Record {
        author: new.author,
        publish_time: new.publish_time,
        attempts: 0,
        last_error: String::new(),
        look_at: new.publish_time.saturating_add(FIRST_LOOK_MS),
        look_count: 0,
        attempt: None,
    };
    tx.insert(Change::Delivery(new.id, Some(record), None)).await.map(|_| ())
}

async fn record_only(mut tx: Tx, new: &NewContent, published: Published) -> Result<Published, StoreError> {
    record(&mut tx, new).await?;
    tx.commit(published).await
}

async fn renew_version_only(mut tx: Tx, new: &NewContent) -> Result<Published, StoreError> {
    let versions = renew_version(&mut tx, new.author, new.version, Some(new.publish_time)).await?;
    tx.commit(Published::Created { versions }).await
}

async fn remove(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    (author, content): (UserId, ContentId),
    after: i64,
) -> Result<Removed, StoreError> {
    let versions = match primary_store.breaks(Rule::RemovalKeepsTheVersion) {
        true => unchanged(&mut tx, author),
        false => renew_version(&mut tx, author, after, None).await?,
    };
    let mark = |tables: &Tables| {
        let row = tables.contents.get(&content).filter(|row| row.author == author && !row.removed)?;
        Some(Change::Content(content, Some(tables::Published { removed: true, ..row.clone() }), None))
    };
    let marked = tx.write(|tables| mark(tables).into_iter().collect()).await?;
    let Some(row) = tx.read(|tables| tables.contents.get(&content).cloned()).await? else {
        return tx.roll_back(Removed::Unknown).await;
    };
    if marked == 0 {
        let outcome = if row.removed { Removed::Unknown } else { Removed::NotTheAuthor };
        return tx.roll_back(outcome).await;
    }
    count(&mut tx, author, -1).await?;
    references::count(&mut tx, row.draft.reference, -1).await?;
    if !primary_store.breaks(Rule::RemovalLeavesCounters) {
        tx.write(|_| vec![Change::Counters(content, None, None)]).await?;
    }
    let entry = Entry { publish_time: row.publish_time, content, author: row.author };
    tx.commit(Removed::Gone { entry, versions, counted: row.draft.reference.content() }).await
}
