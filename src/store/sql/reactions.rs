//! Reactions in SQL. Each transaction writes the user's counts, the reaction and then the content's counters, which it
//! holds until its commit alone.

use std::collections::HashMap;

use async_trait::async_trait;
use sql_driver::{Dialect, Fragment, Value};

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
        let [id, kind, by] = key(content, reaction, user);
        let sql = "INSERT INTO reactions (content_id, kind, user_id, created_at) VALUES (?, ?, ?, ?)";
        let row = Fragment::with(sql, [id, kind, by, now_ms.into()]);
        self.change_reaction((user, version), (content, reaction, 1), row).await
    }

    async fn take_back(
        &self,
        user: UserId,
        content: ContentId,
        reaction: Reaction,
        version: i64,
    ) -> Result<Reacted, StoreError> {
        let sql = "DELETE FROM reactions WHERE content_id = ? AND kind = ? AND user_id = ?";
        let row = Fragment::with(sql, key(content, reaction, user));
        self.change_reaction((user, version), (content, reaction, -1), row).await
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
            for row in self.read_few_anywhere(&sql, ids.into_iter().chain([Value::from(user.get())])).await? {
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

impl SqlStore {
    /// Gives the user's reactions a new version, changes one of them by `row`, and counts it.
    async fn change_reaction(
        &self,
        (user, version): (UserId, i64),
        (content, reaction, more): (ContentId, Reaction, i64),
        row: Fragment,
    ) -> Result<Reacted, StoreError> {
        let (row, change) = (&row, Change { column: column(reaction.code()), id: content.get(), more, by: user });
        self.brief_transaction(move |tx| async move {
            let dialect = tx.dialect();
            let renew = "UPDATE user_counts SET reactions_version = ? WHERE user_id = ?";
            let renew = Fragment::new(renew, [version, user.get()]);
            let done = tx.all_unless_there([renew, counters_of(content), row.clone()]).await?;
            let Some(counters) = done.row(1).filter(|_| done.affected(0) == 1) else {
                return tx.roll_back(Reacted::UnknownContent).await;
            };
            if done.affected(2) == 0 {
                return tx.roll_back(Reacted::Already).await;
            }
            let is_spread = counters.get::<i64>(0)? == 1;
            let count = if is_spread { COUNTERS.beside(dialect, change) } else { COUNTERS.in_row(dialect, change) };
            // They go with the content.
            if tx.all([count]).await?.affected(0) == 0 {
                return tx.roll_back(Reacted::UnknownContent).await;
            }
            tx.commit(Reacted::Done).await
        })
        .await
    }
}

/// Whether the content's counters are spread; no row if the content does not exist, as for a deleted author.
fn counters_of(content: ContentId) -> Fragment {
    let text = format!(
        "SELECT k.spread FROM counters k WHERE k.content_id = ? \
         AND EXISTS (SELECT 1 FROM contents c WHERE c.id = k.content_id AND c.removed_at IS NULL{author})",
        author = account_exists("c.author_id"),
    );
    Fragment::new(text, [content.get()])
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
    let rows = Fragment::new(text, [content.get()]).then(not_blocked(dialect, viewer, "reactions.user_id"));
    List { rows, columns: Columns { time: "created_at", id: "user_id" } }
}

/// The contents to which the user has reacted in this way. Skips removed ones, so that pages are full.
pub(super) fn reacted_to(dialect: Dialect, user: UserId, reaction: Reaction) -> List {
    let (index, then) = (dialect.in_order_of("reactions_of_user"), dialect.join_in_order());
    let kind = reaction.code();
    let text = format!(
        "SELECT r.created_at, r.content_id, c.publish_time, c.author_id FROM reactions r{index} \
         {then} contents c ON c.id = r.content_id WHERE r.user_id = ? AND r.kind = {kind} AND c.removed_at IS NULL{}",
        author_remains(dialect, "c.author_id"),
    );
    List { rows: Fragment::new(text, [user.get()]), columns: Columns { time: "r.created_at", id: "r.content_id" } }
}
