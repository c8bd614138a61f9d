//! Cards in SQL: one row for each card, and a probe of a key for each of its parts.

use std::sync::Arc;

use async_trait::async_trait;
use sql_driver::{Dialect, Fragment};

use super::{
    SqlStore,
    accounts::{self, profile_at},
    contents::{self, rows::content},
    existing_accounts::account_exists,
    rows::{MAX_LIST, Row, id_list},
    spread_counts::{COUNTER_COLUMNS, COUNTER_WIDTH, FOLLOWERS, counters},
    visibility::not_blocked,
};
use crate::{
    domain::{
        ContentId, Reaction, UserId, ViewerReactions,
        account::profile::ProfileCounts,
        timeline::exclusion::{ExclusionKind, ExclusionState},
    },
    store::{
        StoreError,
        cards::{Cards, ContentCard, ContentParts, UserCard, UserParts},
    },
};

#[async_trait]
impl Cards for SqlStore {
    async fn content_cards(
        &self,
        viewer: Option<UserId>,
        ids: &[ContentId],
        parts: ContentParts,
    ) -> Result<Vec<ContentCard>, StoreError> {
        let asked = CardColumns { dialect: self.dialect, viewer };
        let mut cards = Vec::with_capacity(ids.len());
        for ids in ids.chunks(MAX_LIST) {
            let Fragment { text, values } = asked.contents(ids, parts);
            for row in self.read_few_anywhere(&text, values).await? {
                cards.push(asked.content_card(&mut Cursor { row: &row, column: 0 }, parts)?);
            }
        }
        Ok(cards)
    }

    async fn user_cards(
        &self,
        viewer: Option<UserId>,
        ids: &[UserId],
        parts: UserParts,
    ) -> Result<Vec<UserCard>, StoreError> {
        let asked = CardColumns { dialect: self.dialect, viewer };
        let mut cards = Vec::with_capacity(ids.len());
        for ids in ids.chunks(MAX_LIST) {
            let Fragment { text, values } = asked.users(ids, parts);
            for row in self.read_few_anywhere(&text, values).await? {
                cards.push(asked.user_card(&mut Cursor { row: &row, column: 0 }, parts)?);
            }
        }
        Ok(cards)
    }
}

const WHOLE_USER: UserParts = UserParts { counts: true, following: true, exclusions: true };

/// The statement that reads everything about these contents.
pub(super) fn whole_contents(dialect: Dialect, viewer: Option<UserId>, ids: &[ContentId]) -> Fragment {
    let parts = ContentParts { counters: true, reactions: true, author: Some(WHOLE_USER) };
    CardColumns { dialect, viewer }.contents(ids, parts)
}

/// The statement that reads everything about these users.
pub(super) fn whole_users(dialect: Dialect, viewer: Option<UserId>, ids: &[UserId]) -> Fragment {
    CardColumns { dialect, viewer }.users(ids, WHOLE_USER)
}

/// A row, read from left to right.
struct Cursor<'a> {
    row: &'a Row,
    column: usize,
}

impl Cursor<'_> {
    /// Where the next `columns` begin.
    fn next(&mut self, columns: &str) -> usize {
        self.skip(names(columns).count())
    }

    fn skip(&mut self, width: usize) -> usize {
        let column = self.column;
        self.column += width;
        column
    }

    fn number(&mut self) -> Result<i64, StoreError> {
        let column = self.skip(1);
        self.row.get(column)
    }

    /// Whether a probe has found a row.
    fn is_found(&mut self) -> Result<bool, StoreError> {
        let column = self.skip(1);
        Ok(self.row.get::<Option<i64>>(column)?.is_some())
    }
}

fn names(columns: &str) -> impl Iterator<Item = &str> {
    columns.split(", ")
}

/// `columns` of the table that the statement calls `table`.
fn columns_of(table: &str, columns: &str) -> String {
    names(columns).map(|name| format!("{table}.{name}")).collect::<Vec<_>>().join(", ")
}

/// The engine and the viewer. Each method ending in `columns` writes the columns that the method ending in `card` with
/// the same beginning reads, in the same order.
#[derive(Clone, Copy)]
struct CardColumns {
    dialect: Dialect,
    viewer: Option<UserId>,
}

impl CardColumns {
    /// The primary key, which each part is probed by. MariaDB otherwise reads a range of another index for each row.
    fn by_key(self) -> String {
        self.dialect.force_index("PRIMARY")
    }

    fn contents(self, ids: &[ContentId], parts: ContentParts) -> Fragment {
        let (then, by_key) = (self.dialect.join_in_order(), self.by_key());
        let mut from = Fragment::new(format!(" FROM {}", contents::rows::TABLES), []);
        if parts.counters {
            from = from.add(&format!(" {then} counters k{by_key} ON k.content_id = c.id"), []);
        }
        if let Some(of_author) = parts.author {
            from = from.add(&format!(" {then} users u{by_key} ON u.id = c.author_id"), []);
            if of_author.counts {
                from = from.add(&format!(" {then} user_counts n{by_key} ON n.user_id = c.author_id"), []);
            }
        }
        let (list, values) = id_list(ids);
        Fragment::new(format!("SELECT {}", contents::rows::COLUMNS), [])
            .then(self.content_columns(parts))
            .then(from)
            .then(Fragment { text: format!(" WHERE c.id IN {list} AND c.removed_at IS NULL"), values })
            .then(not_blocked(self.dialect, self.viewer, "c.author_id"))
    }

    fn users(self, ids: &[UserId], parts: UserParts) -> Fragment {
        let by_key = self.by_key();
        let counts = if parts.counts {
            format!(" {} user_counts n{by_key} ON n.user_id = u.id", self.dialect.join_in_order())
        } else {
            String::new()
        };
        let (list, values) = id_list(ids);
        let from = format!(" FROM users u{by_key}{counts} WHERE u.id IN {list}{}", account_exists("u.id"));
        Fragment::new(format!("SELECT {}", columns_of("u", accounts::COLUMNS)), [])
            .then(self.user_columns(parts))
            .then(Fragment { text: from, values })
    }

    fn content_columns(self, parts: ContentParts) -> Fragment {
        let mut columns = Fragment::default();
        if parts.counters {
            columns = columns.add(&format!(", {COUNTER_COLUMNS}"), []);
        }
        if let Some(viewer) = self.viewer.filter(|_| parts.reactions) {
            for reaction in [Reaction::Like, Reaction::Bookmark] {
                let probe = format!(
                    ", (SELECT 1 FROM reactions r{by_key} WHERE r.content_id = c.id AND r.kind = {kind} AND r.user_id = ?)",
                    by_key = self.by_key(),
                    kind = reaction.code(),
                );
                columns = columns.add(&probe, [viewer.get()]);
            }
        }
        match parts.author {
            Some(parts) => {
                columns.add(&format!(", {}", columns_of("u", accounts::COLUMNS)), []).then(self.user_columns(parts))
            }
            None => columns,
        }
    }

    fn content_card(self, row: &mut Cursor<'_>, parts: ContentParts) -> Result<ContentCard, StoreError> {
        row.next(contents::rows::COLUMNS);
        Ok(ContentCard {
            content: Arc::new(content(row.row)?),
            counters: if parts.counters { counters(row.row, row.skip(COUNTER_WIDTH))? } else { None },
            reactions: if parts.reactions && self.viewer.is_some() {
                Some(ViewerReactions { liked: row.is_found()?, bookmarked: row.is_found()? })
            } else {
                None
            },
            author: parts.author.map(|parts| self.user_card(row, parts)).transpose()?,
        })
    }

    fn user_columns(self, parts: UserParts) -> Fragment {
        let mut columns = Fragment::default();
        if parts.counts {
            columns = columns.add(&format!(", {}, n.following, n.contents", FOLLOWERS.whole("followers", "n")), []);
        }
        let Some(viewer) = self.viewer.map(UserId::get) else { return columns };
        let by_key = self.by_key();
        if parts.following {
            let probe = format!(", (SELECT 1 FROM follows f{by_key} WHERE f.follower_id = ? AND f.author_id = u.id)");
            columns = columns.add(&probe, [viewer]);
        }
        if parts.exclusions {
            for (reader, author, cause) in [
                ("?", "u.id", ExclusionKind::Muted),
                ("?", "u.id", ExclusionKind::BlockedByReader),
                ("u.id", "?", ExclusionKind::Hidden),
            ] {
                let probe = format!(
                    ", (SELECT 1 FROM exclusions x{by_key} WHERE x.reader_id = {reader} AND x.author_id = {author} AND x.cause = {})",
                    cause.code(),
                );
                columns = columns.add(&probe, [viewer]);
            }
        }
        columns
    }

    fn user_card(self, row: &mut Cursor<'_>, parts: UserParts) -> Result<UserCard, StoreError> {
        let has_viewer = self.viewer.is_some();
        Ok(UserCard {
            profile: Arc::new(profile_at(row.row, row.next(accounts::COLUMNS))?),
            counts: if parts.counts {
                let [followers, following, contents] = [row.number()?, row.number()?, row.number()?];
                Some(ProfileCounts { followers, following, contents })
            } else {
                None
            },
            is_followed: if parts.following && has_viewer { Some(row.is_found()?) } else { None },
            exclusions: if parts.exclusions && has_viewer {
                let [has_muted, has_blocked, is_hiding] = [row.is_found()?, row.is_found()?, row.is_found()?];
                Some(ExclusionState { has_muted, has_blocked, is_hiding })
            } else {
                None
            },
        })
    }
}
