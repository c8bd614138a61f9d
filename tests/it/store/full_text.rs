//! Shows what the servers' full-text indexes cannot do, and so why search has its own terms
//! (docs/decisions/2026-11-21-search-terms.md).

use anyhow::{Context as _, Result, ensure};
use sea_orm::{ConnectionTrait as _, DatabaseConnection, Statement};

use crate::servers::{Backend, EmptyDatabase, connect_sql, execute, numbers};

const CHINESE: &str = "今天看潮汐";

/// An empty database, which exists as long as the first value.
async fn fresh(backend: Backend) -> Result<(EmptyDatabase, DatabaseConnection)> {
    let database = backend.empty_database().await?;
    let connection = connect_sql(&database.url).await?;
    Ok((database, connection))
}

/// Whether a query that returns 1 for a match finds something.
async fn finds(database: &DatabaseConnection, query: &str) -> Result<bool> {
    Ok(!numbers(database, query).await?.is_empty())
}

mod mariadb {
    use super::*;

    #[tokio::test]
    async fn mariadb_has_no_ngram_parser_and_does_not_find_chinese_words() -> Result<()> {
        let (_kept, database) = fresh(Backend::MariaDb).await?;
        let table = "CREATE TABLE posts (id BIGINT PRIMARY KEY, body TEXT, FULLTEXT (body)";
        let refused = database.execute_unprepared(&format!("{table} WITH PARSER ngram) ENGINE=InnoDB")).await;
        let refused = refused.err().context("it has one now: think again")?.to_string();
        ensure!(refused.contains("ngram"), "{refused}");
        execute(&database, &format!("{table}) ENGINE=InnoDB")).await?;
        execute(&database, &format!("INSERT INTO posts VALUES (1, '{CHINESE}'), (2, 'low tide')")).await?;
        let matching =
            |words: &str| format!("SELECT id FROM posts WHERE MATCH(body) AGAINST('{words}' IN BOOLEAN MODE)");
        ensure!(finds(&database, &matching("tide")).await? && finds(&database, &matching(CHINESE)).await?);
        ensure!(!finds(&database, &matching("潮汐")).await?, "a sentence without spaces is one word");
        Ok(())
    }
}

mod mysql {
    use super::*;

    #[tokio::test]
    async fn the_full_text_index_misses_uncommitted_rows_and_sorts_all_matches() -> Result<()> {
        let (_kept, database) = fresh(Backend::Mysql).await?;
        execute(
            &database,
            "CREATE TABLE posts (id BIGINT PRIMARY KEY, at BIGINT, body TEXT, KEY newest (at, id), FULLTEXT (body) WITH PARSER ngram) ENGINE=InnoDB",
        )
        .await?;
        let matching =
            "SELECT id FROM posts WHERE MATCH(body) AGAINST('潮汐' IN BOOLEAN MODE) ORDER BY at DESC, id DESC LIMIT 2";
        execute(&database, "BEGIN").await?;
        execute(&database, &format!("INSERT INTO posts VALUES (1, 1, '{CHINESE}')")).await?;
        ensure!(!finds(&database, matching).await?, "the transaction that publishes sees its own row now: think again");
        execute(&database, "COMMIT").await?;
        ensure!(finds(&database, matching).await?);
        for step in 0..5 {
            let rows: Vec<String> =
                (0..200).map(|row| step * 200 + row + 2).map(|id| format!("({id}, {id}, '{CHINESE}')")).collect();
            execute(&database, &format!("INSERT INTO posts VALUES {}", rows.join(", "))).await?;
        }
        ensure!(numbers(&database, matching).await? == [1001, 1000]);
        let explained = Statement::from_string(database.get_database_backend(), format!("EXPLAIN ANALYZE {matching}"));
        let plan: String = database.query_one_raw(explained).await?.context("no plan")?.try_get_by_index(0)?;
        let search = plan.lines().find(|line| line.contains("Full-text index search")).context(plan.clone())?;
        ensure!(
            search.contains("rows=1001"),
            "two of a thousand do not cost all of them any more: think again: {plan}"
        );
        Ok(())
    }
}

#[tokio::test]
async fn sqlite_finds_no_chinese_words_of_two_characters() -> Result<()> {
    let (_kept, database) = fresh(Backend::Sqlite).await?;
    for (tokenizer, finds_three) in [("unicode61", false), ("trigram", true)] {
        execute(&database, &format!("CREATE VIRTUAL TABLE {tokenizer} USING fts5(body, tokenize = '{tokenizer}')"))
            .await?;
        execute(&database, &format!("INSERT INTO {tokenizer} VALUES ('{CHINESE}')")).await?;
        let matching = |words: &str| format!("SELECT rowid FROM {tokenizer} WHERE {tokenizer} MATCH '{words}'");
        ensure!(finds(&database, &matching(CHINESE)).await?);
        ensure!(finds(&database, &matching("看潮汐")).await? == finds_three, "{tokenizer}");
        ensure!(!finds(&database, &matching("潮汐")).await?, "{tokenizer} finds two characters now: think again");
    }
    Ok(())
}
