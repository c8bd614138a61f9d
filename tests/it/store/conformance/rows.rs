//! Writes and reads rows directly, without the port, so that a suite can begin in any state that the protocol allows.

use anyhow::{Context as _, Result};
use sea_orm::{ConnectionTrait as _, DbBackend, QueryResult, Statement, TransactionTrait as _};
use tidefeed::domain::{ContentId, ContentKind, EdgeMode, Entry, Floor, UserId, timeline::exclusion::ExclusionKind};

use super::{World, content_id};

impl World {
    /// Makes direct writes faster: they need not survive the machine.
    pub async fn hurry(&self) -> Result<()> {
        if self.rows.get_database_backend() == DbBackend::Sqlite {
            self.run("PRAGMA synchronous = OFF").await?;
        }
        Ok(())
    }

    /// Updates the optimizer's statistics.
    pub async fn analyze(&self) -> Result<()> {
        if self.rows.get_database_backend() == DbBackend::Sqlite {
            return self.run("ANALYZE").await.map(|_| ());
        }
        let tables = "contents, content_objects, exclusions, follows, inboxes, inbox_states, deliveries, outbox_heads, reactions, search_terms, \
                      user_counts, user_names";
        self.answer(&format!("ANALYZE TABLE {tables}")).await.map(|_| ())
    }

    /// Rows of numbers; null reads as -1.
    pub async fn numbers(&self, sql: &str) -> Result<Vec<Vec<i64>>> {
        let number = |row: &QueryResult, place| Ok(row.try_get_by_index::<Option<i64>>(place)?.unwrap_or(-1));
        let rows = self.answer(sql).await?;
        rows.iter().map(|row| (0..row.column_names().len()).map(|place| number(row, place)).collect()).collect()
    }

    /// Rows as EXPLAIN and SHOW give them: every column as text.
    pub async fn texts(&self, sql: &str) -> Result<Vec<Vec<String>>> {
        Ok(texts(&self.answer(sql).await?))
    }

    /// The same in a session that has run another statement before.
    pub async fn texts_after(&self, before: &str, sql: &str) -> Result<Vec<Vec<String>>> {
        let session = self.rows.begin().await?;
        session.execute_unprepared(before).await?;
        let rows = session.query_all_raw(Statement::from_string(self.rows.get_database_backend(), sql)).await?;
        session.rollback().await?;
        Ok(texts(&rows))
    }

    async fn answer(&self, sql: &str) -> Result<Vec<QueryResult>> {
        let statement = Statement::from_string(self.rows.get_database_backend(), sql);
        self.rows.query_all_raw(statement).await.with_context(|| sql.to_owned())
    }

    /// The columns of a table in their order, each with its type.
    pub async fn columns(&self, table: &str) -> Result<Vec<String>> {
        let sql = if self.rows.get_database_backend() == DbBackend::Sqlite {
            format!("SELECT LOWER(name || ' ' || type) FROM pragma_table_info('{table}') ORDER BY cid")
        } else {
            format!(
                "SELECT LOWER(CONCAT(column_name, ' ', data_type)) FROM information_schema.columns \
                 WHERE table_schema = DATABASE() AND table_name = '{table}' ORDER BY ordinal_position"
            )
        };
        self.column(&sql).await
    }

    /// Inserts rows of numbers (or `NULL`) a thousand at a time.
    pub async fn insert(&self, table: &str, columns: &str, rows: &[String]) -> Result<()> {
        for rows in rows.chunks(1_000) {
            self.run(&format!("INSERT INTO {table} ({columns}) VALUES {}", rows.join(", "))).await?;
        }
        Ok(())
    }

    /// Contents and their counters, with neither delivery record nor inbox rows.
    pub async fn put_contents(&self, entries: &[Entry]) -> Result<()> {
        let rows: Vec<String> = entries
            .iter()
            .map(|it| format!("({}, {}, 1, '', '[]', {})", it.content, it.author, it.publish_time))
            .collect();
        self.insert("contents", "id, author_id, kind, text, media, publish_time", &rows).await?;
        let counters: Vec<String> = entries.iter().map(|it| format!("({})", it.content)).collect();
        self.insert("counters", "content_id", &counters).await
    }

    pub async fn remove(&self, content: ContentId) -> Result<()> {
        self.run(&format!("UPDATE contents SET removed_at = 1 WHERE id = {content}")).await?;
        self.run(&format!("DELETE FROM counters WHERE content_id = {content}")).await.map(|_| ())
    }

    pub async fn set_kind(&self, content: ContentId, kind: ContentKind) -> Result<()> {
        self.run(&format!("UPDATE contents SET kind = {} WHERE id = {content}", kind.code())).await.map(drop)
    }

    /// Makes a content a repost of one of this author.
    pub async fn set_original_author(&self, content: ContentId, author: UserId) -> Result<()> {
        self.run(&format!("UPDATE contents SET repost_author_id = {author} WHERE id = {content}")).await.map(drop)
    }

    pub async fn exclude(&self, reader: UserId, author: UserId, cause: ExclusionKind) -> Result<()> {
        let row = format!("({reader}, {author}, {})", cause.code());
        self.insert("exclusions", "reader_id, author_id, cause", &[row]).await
    }

    /// Delivery records, due at their publish time.
    pub async fn deliver(&self, entries: &[Entry]) -> Result<()> {
        let rows: Vec<String> = entries
            .iter()
            .map(|it| format!("({}, {}, {}, {})", it.content, it.author, it.publish_time, it.publish_time))
            .collect();
        self.insert("deliveries", "content_id, author_id, publish_time, look_at", &rows).await
    }

    pub async fn fill_inbox(&self, reader: UserId, entries: &[Entry]) -> Result<()> {
        let rows: Vec<String> = entries
            .iter()
            .map(|it| format!("({reader}, {}, {}, {})", it.publish_time, it.content, it.author))
            .collect();
        self.insert("inboxes", "user_id, publish_time, content_id, author_id", &rows).await
    }

    pub async fn put_edge(&self, follower: UserId, author: UserId, mode: EdgeMode) -> Result<()> {
        self.drop_edge(follower, author).await?;
        self.run(&format!(
            "INSERT INTO follows (follower_id, author_id, mode, inc, followed_at) \
             VALUES ({follower}, {author}, {}, 1, 1)",
            mode.code()
        ))
        .await
        .map(|_| ())
    }

    pub async fn drop_edge(&self, follower: UserId, author: UserId) -> Result<()> {
        self.run(&format!("DELETE FROM follows WHERE follower_id = {follower} AND author_id = {author}"))
            .await
            .map(|_| ())
    }

    /// A state with this floor, never seen.
    pub async fn set_floor(&self, reader: UserId, floor: Floor) -> Result<()> {
        let (time, content) = match floor {
            Floor::Off => ("NULL".to_owned(), "NULL".to_owned()),
            Floor::At(at) => (at.publish_time().to_string(), at.content_number().to_string()),
        };
        self.run(&format!("DELETE FROM inbox_states WHERE user_id = {reader}")).await?;
        self.run(&format!(
            "INSERT INTO inbox_states (user_id, floor_time, floor_content) VALUES ({reader}, {time}, {content})"
        ))
        .await
        .map(|_| ())
    }

    /// Content ids of an inbox, newest first.
    pub async fn inbox(&self, reader: UserId) -> Result<Vec<i64>> {
        let sql = format!(
            "SELECT content_id FROM inboxes WHERE user_id = {reader} ORDER BY publish_time DESC, content_id DESC"
        );
        Ok(self.numbers(&sql).await?.concat())
    }

    pub async fn mode(&self, follower: UserId, author: UserId) -> Result<Option<EdgeMode>> {
        let sql = format!("SELECT mode FROM follows WHERE follower_id = {follower} AND author_id = {author}");
        let code = self.numbers(&sql).await?.concat().first().copied();
        Ok(code.map(|code| EdgeMode::from_code(i32::try_from(code).unwrap_or(-1))))
    }

    /// The revision of the reader's state: how often it claimed or gave up something.
    pub async fn rev(&self, reader: UserId) -> Result<i64> {
        self.number(&format!("SELECT rev FROM inbox_states WHERE user_id = {reader}")).await
    }
}

/// The content of this number, published by `author` at this time.
pub fn entry(content: i64, author: UserId, publish_time: i64) -> Entry {
    Entry { publish_time, content: content_id(content), author }
}

fn texts(rows: &[QueryResult]) -> Vec<Vec<String>> {
    let text = |row: &QueryResult, place| {
        let text = row.try_get_by_index::<Option<String>>(place).map(Option::unwrap_or_default);
        text.or_else(|_| row.try_get_by_index::<Option<i64>>(place).map(|it| it.unwrap_or(-1).to_string()))
            .unwrap_or_default()
    };
    rows.iter().map(|row| (0..row.column_names().len()).map(|place| text(row, place)).collect()).collect()
}
