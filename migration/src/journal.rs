//! Remembers in the database which migrations have run, and runs the others. The table is the one that sea-orm's own
//! migrator keeps: databases made by it are migrated on.

use std::collections::HashSet;

use sea_orm::{ConnectionTrait, DatabaseTransaction, DbBackend, DbErr, Statement};

use crate::schema::{Migrate, Schema, is_there};

const CREATE: &str = "CREATE TABLE IF NOT EXISTS seaql_migrations (version VARCHAR(255) NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)";

/// Runs the first `most` of the migrations that have not run yet. `all` is in the order of names. The caller sees to it
/// that nobody else migrates this database meanwhile.
pub async fn apply(transaction: &DatabaseTransaction, all: &[Box<dyn Migrate>], most: usize) -> Result<(), DbErr> {
    transaction.execute_unprepared(CREATE).await?;
    let (applied, now) = (applied(transaction).await?, now(transaction.get_database_backend()));
    let remember = format!("INSERT INTO seaql_migrations (version, applied_at) VALUES (?, {now})");
    let schema = Schema::within(transaction).await?;
    for migration in pending_of(all, &applied)?.into_iter().take(most) {
        migration.up(&schema).await?;
        let values = [migration.name().into()];
        let backend = transaction.get_database_backend();
        transaction.execute_raw(Statement::from_sql_and_values(backend, &remember, values)).await?;
        tracing::debug!(migration = migration.name(), "The tables were migrated.");
    }
    Ok(())
}

/// Names of the migrations that have not run yet, oldest first. Only reads: a user without the right to create tables
/// may ask.
pub async fn pending<C: ConnectionTrait>(database: &C, all: &[Box<dyn Migrate>]) -> Result<Vec<&'static str>, DbErr> {
    let question = match database.get_database_backend() {
        DbBackend::Sqlite => "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?",
        _ => "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?",
    };
    let has_journal = is_there(database, question, &["seaql_migrations"]).await?;
    let applied = if has_journal { applied(database).await? } else { HashSet::new() };
    Ok(pending_of(all, &applied)?.iter().map(|migration| migration.name()).collect())
}

async fn applied<C: ConnectionTrait>(database: &C) -> Result<HashSet<String>, DbErr> {
    let question = Statement::from_string(database.get_database_backend(), "SELECT version FROM seaql_migrations");
    let rows = database.query_all_raw(question).await?;
    rows.iter().map(|row| row.try_get_by_index(0)).collect()
}

/// Fails if a migration has run that this version does not know: an older version must not write to newer tables.
fn pending_of<'a>(all: &'a [Box<dyn Migrate>], applied: &HashSet<String>) -> Result<Vec<&'a dyn Migrate>, DbErr> {
    let known: HashSet<&str> = all.iter().map(|migration| migration.name()).collect();
    let mut unknown: Vec<&str> = applied.iter().map(String::as_str).filter(|name| !known.contains(name)).collect();
    unknown.sort_unstable();
    if !unknown.is_empty() {
        return Err(DbErr::Custom(format!(
            "the tables are of a later version: {} has run here, and this version does not know it",
            unknown.join(", ")
        )));
    }
    Ok(all.iter().map(Box::as_ref).filter(|migration| !applied.contains(migration.name())).collect())
}

/// Seconds since 1970, as the engine says them.
fn now(backend: DbBackend) -> &'static str {
    match backend {
        DbBackend::Sqlite => "CAST(strftime('%s', 'now') AS INTEGER)",
        _ => "UNIX_TIMESTAMP()",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(applied: &[&str]) -> Result<usize, DbErr> {
        pending_of(&crate::all(), &applied.iter().map(|name| (*name).to_owned()).collect()).map(|pending| pending.len())
    }

    #[test]
    fn what_has_run_is_not_pending() -> Result<(), DbErr> {
        let all = crate::all();
        assert_eq!((names(&[])?, names(&[all[0].name()])?), (all.len(), all.len() - 1));
        Ok(())
    }

    #[test]
    fn tables_of_a_later_version_are_refused() {
        let refused = names(&["m20991231_000001_later"]).map_err(|error| error.to_string());
        assert!(refused.is_err_and(|text| text.contains("m20991231_000001_later")));
    }

    #[test]
    fn names_are_in_the_order_of_time_and_unlike() {
        let all = crate::all();
        assert!(all.is_sorted_by(|one, next| one.name() < next.name()));
    }
}
