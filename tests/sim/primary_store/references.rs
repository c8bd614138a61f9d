//! Replies and reposts in the model: resolves the content that a new one refers to, counts it, and finds who replied or
//! reposted.

use tidefeed::{
    domain::{Content, ContentId, Entry, Reference, UserId},
    store::{StoreError, contents::NewContent},
};

use super::{
    contents::{content, is_open},
    tables::{Change, Tables},
    transaction::{PrimaryStore, Tx},
};
use crate::rules::Rule;

/// What a new content's reference leads to.
pub enum Referred {
    Nothing,
    /// A content of this author.
    To(UserId),
    /// The author has reposted it before.
    Reposted(Content),
    /// Nothing that is there for the author.
    Missing,
}

/// The author's outbox is locked: nobody else makes or takes back a repost of theirs meanwhile.
pub async fn find(primary_store: &PrimaryStore, tx: &mut Tx, new: &NewContent) -> Result<Referred, StoreError> {
    let Some(other) = new.draft.reference.content() else { return Ok(Referred::Nothing) };
    let author = |tables: &Tables| {
        let it = tables.contents.get(&other).filter(|it| !it.removed && it.draft.reference.repost_of().is_none())?;
        Some(it.author).filter(|author| is_open(tables, Some(new.author), *author))
    };
    let Some(author) = tx.read(author).await? else { return Ok(Referred::Missing) };
    if new.draft.reference.repost_of().is_some() && !primary_store.breaks(Rule::RepostsMayRepeat) {
        let earlier =
            |tables: &Tables| repost(tables, new.author, other).and_then(|id| content(id, tables.contents.get(&id)?));
        if let Some(earlier) = tx.read(earlier).await? {
            return Ok(Referred::Reposted(earlier));
        }
    }
    Ok(Referred::To(author))
}

/// Counts a reply or a repost, or no longer, at what it refers to.
pub async fn count(tx: &mut Tx, reference: Reference, more: i64) -> Result<(), StoreError> {
    let Some(other) = reference.content() else { return Ok(()) };
    let changed = |tables: &Tables| {
        let mut counters = *tables.counters.get(&other)?;
        *(if reference.repost_of().is_some() { &mut counters.reposts } else { &mut counters.replies }) += more;
        Some(Change::Counters(other, Some(counters), None))
    };
    tx.write(|tables| changed(tables).into_iter().collect()).await.map(|_| ())
}

/// The author's repost of the content, if it was not taken back.
pub fn repost(tables: &Tables, author: UserId, original: ContentId) -> Option<ContentId> {
    let mut own = tables.outbox(author).map(|it| it.content);
    own.find(|id| tables.original(*id) == Some(original))
}

/// The replies to a content that are not removed, of authors who stand in no block with the viewer.
pub fn replies(tables: &Tables, viewer: Option<UserId>, content: ContentId) -> Vec<Entry> {
    let all = tables.contents.iter();
    let replies = all.filter(|(_, it)| !it.removed && it.draft.reference.reply_to() == Some(content));
    let open = replies.filter(|(_, it)| is_open(tables, viewer, it.author));
    open.map(|(id, it)| Entry { publish_time: it.publish_time, content: *id, author: it.author }).collect()
}

/// What the content answers, what that answers, and so on: the farthest first.
pub fn ancestors(tables: &Tables, content: ContentId, limit: usize) -> Vec<ContentId> {
    let above = |id: &ContentId| {
        let above = tables.contents.get(id)?.draft.reference.reply_to()?;
        tables.contents.contains_key(&above).then_some(above)
    };
    let mut upward: Vec<ContentId> = std::iter::successors(Some(content), above).skip(1).take(limit).collect();
    upward.reverse();
    upward
}
