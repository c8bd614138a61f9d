//! Reactions in SQL. Each transaction writes the content's counters first, so reactions to one content queue there and
//! cannot deadlock.

use std::collections::HashMap;

use async_trait::async_trait;
use sea_orm::Value;

use super::{
    SqlStore,
    account_deletions::{account_exists, author_remains},
    dialect::Dialect,
    fragment::Fragment,
    keyset::Columns,
    listing::List,
    rows::{MAX_LIST, Row, id_list},
    transaction::Tx,
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
        now_ms: i64,
    ) -> Result<Reacted, StoreError> {
        self.transaction(move |tx| async move {
            add_to_counter(&tx, content, reaction, 1).await?;
            if !is_there(&tx, content, user).await? {
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

    async fn take_back(&self, user: UserId, content: ContentId, reaction: Reaction) -> Result<Reacted, StoreError> {
        self.transaction(move |tx| async move {
            add_to_counter(&tx, content, reaction, -1).await?;
            if !is_there(&tx, content, user).await? {
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
            for row in self.read(&sql, ids.into_iter().chain([Value::from(user.get())])).await? {
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

/// Also locks the content's counters. They never fall below zero, whatever older versions have counted.
async fn add_to_counter(tx: &Tx, content: ContentId, reaction: Reaction, more: i64) -> Result<(), StoreError> {
    let column = match reaction {
        Reaction::Like => "likes",
        Reaction::Bookmark => "bookmarks",
    };
    let greatest = tx.dialect().greatest();
    let sql = format!("UPDATE counters SET {column} = {greatest}({column} + ?, 0) WHERE content_id = ?");
    tx.execute(&sql, [more.into(), content.get().into()]).await.map(|_| ())
}

/// Whether the content exists for this user. Neither exists for a deleted account.
async fn is_there(tx: &Tx, content: ContentId, user: UserId) -> Result<bool, StoreError> {
    let (author, own) = (account_exists("contents.author_id"), account_exists("?"));
    let sql = format!("SELECT 1 FROM contents WHERE id = ? AND removed_at IS NULL{author}{own}");
    Ok(tx.query_one(&sql, [content.get().into(), user.get().into()]).await?.is_some())
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
