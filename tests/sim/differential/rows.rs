//! Reads every row of the model's tables, from the model and from SQLite, as numbers.

use anyhow::{Context as _, Result};
use sea_orm::{ConnectionTrait as _, DatabaseConnection, DbBackend, Statement};
use tidefeed::domain::{ContentId, Floor, UserId};

use crate::primary_store::tables::Tables;

/// Columns of the widest table.
const WIDTH: usize = 8;

/// A table's name and a row of it.
pub type Row = (&'static str, Vec<Option<i64>>);

/// Each table with the columns that are compared, its key first.
const COMPARED: [(&str, &str); 14] = [
    ("content_objects", "content_id, external_id IS NOT NULL"),
    ("contents", "id, author_id, kind, publish_time, removed_at IS NOT NULL, reply_to, repost_of, repost_author_id"),
    ("counters", "content_id, replies, likes, reposts, bookmarks"),
    ("deliveries", "content_id, author_id, publish_time, attempts, look_at, looks"),
    ("exclusions", "reader_id, author_id, cause"),
    ("follows", "follower_id, author_id, mode, inc"),
    ("inboxes", "user_id, publish_time, content_id, author_id"),
    ("inbox_states", "user_id, floor_time, floor_content, rev, last_seen, read_every_ms, deep_until"),
    ("outbox_heads", "author_id, stamp, published_at, publish_every_ms"),
    ("reactions", "content_id, kind, user_id"),
    ("relations", "follower_id, author_id, version, attempts, look_at"),
    ("subtasks", "content_id, first_fan, task_no, last_fan, pushed_through, lease_until"),
    ("user_counts", "user_id, followers, following, contents, authors_version, reactions_version"),
    ("users", "id, profile_version"),
];

/// All rows of the database, in one statement.
pub async fn of_database(database: &DatabaseConnection) -> Result<Vec<Row>> {
    let branch = |(place, (table, columns)): (usize, &(&str, &str))| {
        let missing = WIDTH - columns.split(", ").count();
        format!("SELECT {place}, {columns}{} FROM {table}", ", NULL".repeat(missing))
    };
    let branches: Vec<String> = COMPARED.iter().enumerate().map(branch).collect();
    let statement = Statement::from_string(DbBackend::Sqlite, branches.join(" UNION ALL "));
    let mut rows = Vec::new();
    for row in database.query_all_raw(statement).await? {
        let place: i64 = row.try_get_by_index(0)?;
        let (table, columns) = COMPARED.get(usize::try_from(place)?).context("a table of the list")?;
        let width = columns.split(", ").count();
        let values = (1..=width).map(|column| row.try_get_by_index(column)).collect::<Result<_, _>>()?;
        rows.push((*table, values));
    }
    rows.sort_unstable();
    Ok(rows)
}

/// Takes every row away, also of the tables that the model knows nothing of.
pub async fn clear(database: &DatabaseConnection) -> Result<()> {
    let tables = "SELECT name FROM sqlite_master WHERE type = 'table' \
                  AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name <> 'seaql_migrations'";
    for row in database.query_all_raw(Statement::from_string(DbBackend::Sqlite, tables)).await? {
        let table: String = row.try_get_by_index(0)?;
        database.execute_unprepared(&format!("DELETE FROM {table}")).await?;
    }
    Ok(())
}

/// All rows of the model.
pub fn of_model(tables: &Tables) -> Vec<Row> {
    let mut rows: Vec<Row> = of_contents(tables).collect();
    rows.extend(of_deliveries(tables));
    rows.extend(of_people(tables));
    rows.sort_unstable();
    rows
}

fn row<const N: usize>(table: &'static str, values: [i64; N]) -> Row {
    (table, values.map(Some).to_vec())
}

fn of_contents(tables: &Tables) -> impl Iterator<Item = Row> + '_ {
    let contents = tables.contents.iter().map(|(id, it)| {
        let reference = it.draft.reference;
        let (reply_to, repost_of) = (reference.reply_to(), reference.repost_of());
        let mut values =
            vec![Some(id.get()), Some(it.author.get()), Some(it.kind.code().into()), Some(it.publish_time)];
        values.push(Some(i64::from(it.removed)));
        values.extend([reply_to.map(ContentId::get), repost_of.map(ContentId::get), it.repost_author.map(UserId::get)]);
        ("contents", values)
    });
    let counters = tables.counters.iter();
    let counters = counters.map(|(id, it)| row("counters", [id.get(), it.replies, it.likes, it.reposts, it.bookmarks]));
    let heads = tables.heads.iter();
    let heads = heads.map(|(author, it)| {
        ("outbox_heads", vec![Some(author.get()), Some(it.version), it.published_at, it.publish_every])
    });
    let objects = tables.contents.iter().filter_map(|(id, it)| {
        let object = it.draft.object.as_ref()?;
        Some(row("content_objects", [id.get(), object.external_id.is_some().into()]))
    });
    contents.chain(objects).chain(counters).chain(heads)
}

fn of_deliveries(tables: &Tables) -> impl Iterator<Item = Row> + '_ {
    let records = tables.deliveries.iter().map(|(content, it)| {
        let (attempts, look_count) = (it.attempts.into(), it.look_count.into());
        row("deliveries", [content.get(), it.author.get(), it.publish_time, attempts, it.look_at, look_count])
    });
    let subtasks = tables.subtasks.iter().map(|((content, after), it)| {
        let number = it.number.into();
        row("subtasks", [content.get(), *after, number, it.last_fan, it.pushed_through, it.lease_until])
    });
    records.chain(subtasks)
}

fn of_people(tables: &Tables) -> Vec<Row> {
    let mut rows = Vec::new();
    rows.extend(
        tables
            .exclusions
            .keys()
            .map(|(reader, author, cause)| row("exclusions", [reader.get(), author.get(), (*cause).into()])),
    );
    rows.extend(tables.follows.iter().map(|((follower, author), it)| {
        row("follows", [follower.get(), author.get(), it.mode.code().into(), it.incarnation])
    }));
    rows.extend(tables.inboxes.iter().map(|((user, at), author)| {
        row("inboxes", [user.get(), at.publish_time(), at.content_number(), author.get()])
    }));
    rows.extend(tables.states.iter().map(|(user, it)| {
        let floor = match it.floor {
            Floor::At(at) => [Some(at.publish_time()), Some(at.content_number())],
            Floor::Off => [None, None],
        };
        let [time, content] = floor;
        let values = [Some(user.get()), time, content, Some(it.rev), it.last_seen, it.read_every, it.deep_until];
        ("inbox_states", values.to_vec())
    }));
    rows.extend(tables.relations.iter().map(|((follower, author), it)| {
        row("relations", [follower.get(), author.get(), it.version, it.attempts.into(), it.look_at])
    }));
    rows.extend(tables.counts.keys().filter_map(|user| Some((user, tables.whole_counts(*user)?))).map(|(user, it)| {
        let counted = [it.followers, it.following, it.contents, it.authors_version, it.reactions_version];
        ("user_counts", [user.get()].into_iter().chain(counted).map(Some).collect())
    }));
    rows.extend(tables.users.iter().map(|(user, it)| row("users", [user.get(), it.profile_version])));
    rows.extend(
        tables
            .reactions
            .keys()
            .map(|(content, kind, user)| row("reactions", [content.get(), (*kind).into(), user.get()])),
    );
    rows
}
