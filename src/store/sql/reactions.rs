//! Reactions in SQL. Each transaction writes the user's counts and then the content's counters, like a publish, so that
//! reactions queue there and cannot deadlock.

use std::collections::HashMap;

use async_trait::async_trait;
use sql_driver::{Dialect, Fragment, Tx, Value};

use super::{
    SqlStore,
    existing_accounts::{account_exists, author_remains},
    keyset::Columns,
    listing::List,
    rows::{DomainColumns as _, MAX_LIST, Row, id_list},
    spread_counts::{COUNTERS, Change},
    visibility::not_blocked,
};
use crate::{
    domain::{ContentId, Entry, Listing, PageRequest, Reaction, UserId, ViewerReactions},
    store::{Reactions, StoreError, reactions::Reacted},
};

#[async_trait]
impl Reactions for SqlStore {
    async fn react(
        &self,
        user: UserId,
        content: ContentId,
        reaction: Reaction,
        version: i64,
        now_ms: i64,
    ) -> Result<Reacted, StoreError> {
        self.brief_transaction(move |tx| async move {
            if !renew(&tx, user, version).await? || !count(&tx, (content, reaction, user), 1).await? {
                return tx.roll_back(Reacted::UnknownContent).await;
            }
            let sql = "INSERT INTO reactions (content_id, kind, user_id, created_at) VALUES (?, ?, ?, ?)";
            let [content, kind, user] = key(content, reaction, user);
            if !tx.insert(sql, [content, kind, user, now_ms.into()]).await? {
                return tx.roll_back(Reacted::Already).await;
            }
            tx.commit(Reacted::Done).await
        })
        .await
    }

    async fn take_back(
        &self,
        user: UserId,
        content: ContentId,
        reaction: Reaction,
        version: i64,
    ) -> Result<Reacted, StoreError> {
        self.brief_transaction(move |tx| async move {
            if !renew(&tx, user, version).await? || !count(&tx, (content, reaction, user), -1).await? {
                return tx.roll_back(Reacted::UnknownContent).await;
            }
            let sql = "DELETE FROM reactions WHERE content_id = ? AND kind = ? AND user_id = ?";
            if tx.execute(sql, key(content, reaction, user)).await? == 0 {
                return tx.roll_back(Reacted::Already).await;
            }
            tx.commit(Reacted::Done).await
        })
        .await
    }

    async fn of_user(
        &self,
        user: UserId,
        contents: &[ContentId],
    ) -> Result<Vec<(ContentId, ViewerReactions)>, StoreError> {
        let (like, bookmark) = (Reaction::Like.code(), Reaction::Bookmark.code());
        let mut found: HashMap<ContentId, ViewerReactions> = HashMap::new();
        for contents in contents.chunks(MAX_LIST) {
            let (list, ids) = id_list(contents);
            let sql = format!(
                "SELECT content_id, kind FROM reactions{by_key} \
                 WHERE content_id IN {list} AND kind IN ({like}, {bookmark}) AND user_id = ?",
                by_key = self.dialect.force_index("PRIMARY"),
            );
            for row in self.read_few(&sql, ids.into_iter().chain([Value::from(user.get())])).await? {
                let (own, kind) = (found.entry(row.content(0)?).or_default(), row.get::<i32>(1)?);
                own.liked |= kind == like;
                own.bookmarked |= kind == bookmark;
            }
        }
        Ok(found.into_iter().collect())
    }

    async fn likers(
        &self,
        viewer: Option<UserId>,
        contents: &[ContentId],
        request: &PageRequest,
    ) -> Result<Vec<Listing<UserId>>, StoreError> {
        let lists: Vec<List> = contents.iter().map(|content| likers(self.dialect, viewer, *content)).collect();
        self.listings(&lists, request, |row| row.user(2)).await
    }

    async fn reacted_to(
        &self,
        user: UserId,
        reaction: Reaction,
        request: &PageRequest,
    ) -> Result<Listing<Entry>, StoreError> {
        let mut page = self.listings(&[reacted_to(self.dialect, user, reaction)], request, entry).await?;
        page.pop().ok_or_else(|| StoreError::Unreadable("a list without its page".into()))
    }
}

fn key(content: ContentId, reaction: Reaction, user: UserId) -> [Value; 3] {
    [content.get().into(), reaction.code().into(), user.get().into()]
}

/// Gives the user's reactions a new version; `false` if the user has no account.
async fn renew(tx: &Tx, user: UserId, version: i64) -> Result<bool, StoreError> {
    let sql = "UPDATE user_counts SET reactions_version = ? WHERE user_id = ?";
    Ok(tx.execute(sql, [version.into(), user.get().into()]).await? == 1)
}

/// `false` if the content does not exist, as for a deleted author.
async fn count(
    tx: &Tx,
    (content, reaction, user): (ContentId, Reaction, UserId),
    more: i64,
) -> Result<bool, StoreError> {
    let exists = format!(
        " AND EXISTS (SELECT 1 FROM contents c WHERE c.id = ? AND c.removed_at IS NULL{author})",
        author = account_exists("c.author_id"),
    );
    let change = Change { column: column(reaction.code()), id: content.get(), more, by: user };
    COUNTERS.change(tx, change, &Fragment::new(exists, [content.get()])).await
}

/// The counter of reactions of a kind.
pub(super) fn column(kind: i32) -> &'static str {
    if kind == Reaction::Like.code() { "likes" } else { "bookmarks" }
}

fn entry(row: &Row) -> Result<Entry, StoreError> {
    Ok(Entry { publish_time: row.get(3)?, content: row.content(2)?, author: row.user(4)? })
}

/// The users who like the content.
pub(super) fn likers(dialect: Dialect, viewer: Option<UserId>, content: ContentId) -> List {
    let (index, like) = (dialect.in_order_of("reactions_of_content"), Reaction::Like.code());
    let text = format!("SELECT created_at, user_id FROM reactions{index} WHERE content_id = ? AND kind = {like}");
    let rows = Fragment::new(text, [content.get()]).then(not_blocked(viewer, "reactions.user_id"));
    List { rows, columns: Columns { time: "created_at", id: "user_id" } }
}

/// The contents to which the user has reacted in this way. Skips removed ones, so that pages are full.
pub(super) fn reacted_to(dialect: Dialect, user: UserId, reaction: Reaction) -> List {
    let (index, then) = (dialect.in_order_of("reactions_of_user"), dialect.join_in_order());
    let kind = reaction.code();
    let text = format!(
        "SELECT r.created_at, r.content_id, c.publish_time, c.author_id FROM reactions r{index} \
         {then} contents c ON c.id = r.content_id WHERE r.user_id = ? AND r.kind = {kind} AND c.removed_at IS NULL{}",
        author_remains("c.author_id"),
    );
    List { rows: Fragment::new(text, [user.get()]), columns: Columns { time: "r.created_at", id: "r.content_id" } }
}
