//! Tests API and workers as separate processes, with MariaDB and Redis between them. Together they are one service,
//! even when one of them is killed.

use anyhow::{Context as _, Result, ensure};
use scylla::client::session_builder::SessionBuilder;
use sea_orm::DatabaseConnection;
use tidefeed::{
    clock::{Clock as _, SystemClock},
    domain::{UserId, account::profile::Registration, limits::MAX_WAIT_MS},
    store::{
        Seeding as _,
        seeding::{SeedAuthor, SeedFollow},
    },
};

use super::{
    CommandLine,
    process::{Node, Peer, until},
    seeding::{pages_equal_the_oracle, user},
};
use crate::{
    harness::{CacheBackend, TestApp},
    servers::{self, Backend, MigratedDatabase, cassandra, connect_sql, execute, numbers},
};

const SERVE: &[&str] = &["serve", "--no-workers"];
const UNFINISHED: &str = "tidefeed_deliveries_unfinished";
const FAILING: &str = "tidefeed_deliveries_failing";
/// Followers of the author whose contents are delivered while workers are killed.
const FOLLOWERS: i64 = 3_000;
/// Contents in delivery then.
const CONTENTS: i64 = 6;

/// What the processes share: the database, and a key prefix on Redis.
async fn place(database_url: &str) -> Result<CommandLine> {
    let keys = servers::fresh_keys().await?;
    let it = CommandLine::on(database_url)?
        .with("TIDEFEED__REDIS__URL", &keys.url)
        .with("TIDEFEED__REDIS__PREFIX", &keys.prefix)
        .with("TIDEFEED__REDIS__COMMAND_TIMEOUT_MS", "20000")
        .with("TIDEFEED__SERVER__LISTEN", "127.0.0.1:0")
        .with("TIDEFEED__UPKEEP__SWEEP_MS", "100")
        .with("TIDEFEED__LOG__FORMAT", "json");
    Ok(it)
}

async fn migrated() -> Result<(MigratedDatabase, CommandLine)> {
    let database = Backend::MariaDb.migrated_database().await?;
    let it = place(&database.url).await?;
    Ok((database, it))
}

async fn count(database: &DatabaseConnection, what: &str) -> Result<i64> {
    let counted = numbers(database, &format!("SELECT COUNT(*) FROM {what}")).await?;
    counted.first().copied().context("no count")
}

/// Registers a user; returns their id and token.
async fn register(api: &Peer, handle: &str) -> Result<(String, String)> {
    let input = format!(r#"{{ handle: "{handle}", name: "{handle}", password: "correct horse battery" }}"#);
    let asked = format!("mutation {{ registerUser(input: {input}) {{ user {{ id }} token }} }}");
    let answer = api.query(None, &asked).await?;
    let registered = &answer["data"]["registerUser"];
    let text = |it: &serde_json::Value| it.as_str().map(str::to_owned).with_context(|| answer.to_string());
    Ok((text(&registered["user"]["id"])?, text(&registered["token"])?))
}

async fn publish(api: &Peer, token: &str, number: i64) -> Result<()> {
    let asked =
        format!(r#"mutation {{ publishContent(input: {{ text: "{number}" }}) {{ timelineEdge {{ cursor }} }} }}"#);
    let answer = api.query(Some(token), &asked).await?;
    ensure!(answer["data"]["publishContent"]["timelineEdge"]["cursor"].is_string(), "{answer}");
    Ok(())
}

/// The newest page over the API, as the published numbers.
async fn timeline(api: &Peer, token: &str) -> Result<Vec<i64>> {
    let answer = api.query(Some(token), "{ timeline(first: 50) { edges { node { text } } } }").await?;
    let edges = answer["data"]["timeline"]["edges"].as_array().with_context(|| answer.to_string())?;
    edges.iter().map(|edge| Ok(edge["node"]["text"].as_str().unwrap_or_default().parse()?)).collect()
}

/// The same page by its definition.
async fn naive_timeline(database: &DatabaseConnection, handle: &str) -> Result<Vec<i64>> {
    let sql = format!(
        "SELECT CAST(c.text AS SIGNED) FROM users u JOIN follows f ON f.follower_id = u.id \
         JOIN contents c ON c.author_id = f.author_id WHERE u.handle = '{handle}' AND c.removed_at IS NULL \
         ORDER BY c.publish_time DESC, c.id DESC LIMIT 50"
    );
    numbers(database, &sql).await
}

mod cassandra {
    use super::*;

    /// Its pages connect to nothing. The tables show that somebody has.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_process_without_workers_connects_to_cassandra_by_itself() -> Result<()> {
        let options = cassandra().await?.fresh_keyspace(1);
        let (_place, it) = migrated().await?;
        let it = it
            .with("TIDEFEED__INBOX__STORE", "cassandra")
            .with("TIDEFEED__CASSANDRA__CONTACT_POINTS", &options.contact_points[0])
            .with("TIDEFEED__CASSANDRA__KEYSPACE", &options.keyspace)
            .with("TIDEFEED__CASSANDRA__REPLICATION", "1");
        let (_serving, _api) = Node::listening(&it, SERVE, "Serving the API.").await?;
        let session = SessionBuilder::new().known_nodes(&options.contact_points).build().await?;
        let asked = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?";
        until("it has created the tables", async || {
            let found = session.query_unpaged(asked, (&options.keyspace,)).await?.into_rows_result()?;
            Ok(found.rows_num() == 3)
        })
        .await
    }
}

/// Readers 1 to [`FOLLOWERS`], and `bob`, follow `author`. Deliveries include all of them, and no inbox is trusted
/// yet.
async fn add_followers(app: &TestApp, author: UserId, bob: UserId) -> Result<()> {
    let now = SystemClock.now_ms();
    let seeded = |id: i64| -> Result<SeedAuthor> {
        let registration = Registration::try_new(&format!("reader{id}"), "Reader", "", None)?;
        Ok(SeedAuthor {
            id: UserId::try_new(id)?,
            registration,
            created_at: now,
            last_seen: now,
            incarnation: id,
            contents: Vec::new(),
        })
    };
    let readers = (1..=FOLLOWERS).map(seeded).collect::<Result<Vec<_>>>()?;
    let followers = readers.iter().map(|reader| reader.id).chain([bob]);
    let follow = |follower: UserId| SeedFollow { follower, author, incarnation: follower.get(), followed_at: now };
    let follows: Vec<_> = followers.map(follow).collect();
    for some in readers.chunks(500) {
        app.store.add_authors(some).await?;
    }
    for some in follows.chunks(500) {
        app.store.add_follows(some).await?;
    }
    let on = format!("UPDATE inbox_states SET floor_time = {0}, floor_content = {0}", i64::MAX);
    execute(&connect_sql(app.database_url()).await?, &on).await
}

/// Use cases over the same database, independent of both processes, and the checks of the tests.
struct Witness {
    app: std::sync::Arc<TestApp>,
    database: DatabaseConnection,
    api: Peer,
    bobs: String,
}

impl Witness {
    /// Checks pages of readers who are served, of readers who are not served yet, and of one over the API.
    async fn pages_are_right(&self) -> Result<()> {
        let author = user(&self.app, "ann").await?;
        for id in [1, FOLLOWERS / 2, FOLLOWERS, author.get()] {
            let entries = pages_equal_the_oracle(&self.app, UserId::try_new(id)?).await?;
            ensure!(i64::try_from(entries)? == CONTENTS, "reader {id} has {entries} entries");
        }
        let (page, naive) = (timeline(&self.api, &self.bobs).await?, naive_timeline(&self.database, "bob").await?);
        ensure!(page == naive && i64::try_from(page.len())? == CONTENTS, "{page:?}, not {naive:?}");
        Ok(())
    }

    /// Checks that each content has one row for each follower, and that there are no others.
    async fn everything_is_delivered_once(&self) -> Result<()> {
        let at = "i.user_id = f.follower_id AND i.publish_time = c.publish_time AND i.content_id = c.id";
        let due = "contents c JOIN follows f ON f.author_id = c.author_id";
        let missing =
            count(&self.database, &format!("{due} LEFT JOIN inboxes i ON {at} WHERE i.user_id IS NULL")).await?;
        ensure!(missing == 0, "{missing} rows are missing");
        let (rows, needed) = (count(&self.database, "inboxes").await?, count(&self.database, due).await?);
        ensure!(rows == needed && needed == (FOLLOWERS + 2) * CONTENTS, "{rows} rows, not {needed}");
        ensure!(count(&self.database, "subtasks").await? == 0, "subtasks are left");
        Ok(())
    }
}

mod mariadb {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn one_process_publishes_and_another_delivers_and_measures() -> Result<()> {
        let (place, it) = migrated().await?;
        let database = connect_sql(&place.url).await?;
        let (_serving, api) = Node::listening(&it, SERVE, "Serving the API.").await?;
        let (mut working, worker) = Node::listening(&it, &["work"], "Running the workers.").await?;
        let ((ann, anns), (_, bobs)) = (register(&api, "ann").await?, register(&api, "bob").await?);
        let follow =
            format!(r#"mutation {{ followUser(input: {{ userId: "{ann}" }}) {{ viewer {{ followingCount }} }} }}"#);
        let answer = api.query(Some(&bobs), &follow).await?;
        ensure!(answer["data"]["followUser"]["viewer"]["followingCount"] == 1, "{answer}");
        until("the follow has reached the inbox", async || Ok(count(&database, "relations").await? == 0)).await?;

        publish(&api, &anns, 7).await?;
        until("the delivery is finished", async || Ok(count(&database, "deliveries").await? == 0)).await?;
        let delivered =
            "inboxes i JOIN users u ON u.id = i.user_id JOIN contents c ON c.id = i.content_id WHERE c.text = '7'";
        ensure!(count(&database, delivered).await? == 2, "ann and bob each have a row");
        ensure!(timeline(&api, &bobs).await? == [7]);

        until("the worker shows its deliveries", async || {
            Ok(worker.metric(UNFINISHED).await? == Some(0.0) && worker.metric(FAILING).await? == Some(0.0))
        })
        .await?;
        ensure!(worker.metric("tidefeed_inbox_rows_pushed_total").await? == Some(2.0), "not this worker's work");
        ensure!(api.metric(UNFINISHED).await?.is_none(), "who does not sweep cannot know");
        for (path, expected) in [("healthz", 200), ("readyz", 200), ("graphql", 404), ("", 404), ("graphiql", 404)] {
            let (status, text) = worker.get(path).await?;
            ensure!(status == expected, "/{path}: {status} {text}");
        }
        working.signal("TERM").await?;
        working.said("Stopped.").await?;
        ensure!(working.code().await? == Some(0));
        Ok(())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_workers_metrics_count_a_failing_delivery_until_it_recovers() -> Result<()> {
        let (place, it) = migrated().await?;
        let (_working, worker) = Node::listening(&it, &["work"], "Running the workers.").await?;
        until("nothing fails", async || Ok(worker.metric(FAILING).await? == Some(0.0))).await?;
        let database = connect_sql(&place.url).await?;
        let content =
            "INSERT INTO contents (id, author_id, kind, text, media, publish_time) VALUES (11, 5, 1, 'x', '[]', 1000)";
        execute(&database, content).await?;
        let later = SystemClock.now_ms() + MAX_WAIT_MS / 2;
        let delivery = format!(
            "INSERT INTO deliveries (content_id, author_id, publish_time, attempts, last_error, look_at) \
             VALUES (11, 5, 1000, 9, 'the disk is full', {later})"
        );
        execute(&database, &delivery).await?;
        until("one fails", async || Ok(worker.metric(FAILING).await? == Some(1.0))).await?;
        ensure!(worker.metric(UNFINISHED).await? == Some(1.0));
        execute(&database, "UPDATE deliveries SET attempts = 4").await?;
        until("none fails often", async || Ok(worker.metric(FAILING).await? == Some(0.0))).await?;
        ensure!(worker.metric(UNFINISHED).await? == Some(1.0));
        Ok(())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn another_worker_finishes_the_subtasks_of_a_killed_one() -> Result<()> {
        let app = TestApp::start(Backend::MariaDb, CacheBackend::NoCache).await?;
        let it = place(app.database_url()).await?;
        let (_serving, api) = Node::listening(&it, SERVE, "Serving the API.").await?;
        // Many small transactions. A dead worker's messages and subtasks are free again soon.
        let it = it.with("TIDEFEED__DELIVERY__SUBTASK_SIZE", "250").with("TIDEFEED__DELIVERY__BATCH_SIZE", "10");
        // No follower is served before the subtasks.
        let it = it.with("TIDEFEED__DELIVERY__FIRST_SERVED", "0");
        let it = it.with("TIDEFEED__STORE__STATEMENT_TIMEOUT_MS", "5000").with("TIDEFEED__DELIVERY__LEASE_MS", "5000");
        let it = it.with("TIDEFEED__REDIS__REDELIVERY_MS", "6000");
        let ((_, anns), (_, bobs)) = (register(&api, "ann").await?, register(&api, "bob").await?);
        add_followers(&app, user(&app, "ann").await?, user(&app, "bob").await?).await?;
        for number in 1..=CONTENTS {
            publish(&api, &anns, number).await?;
        }
        let database = connect_sql(app.database_url()).await?;
        let witness = Witness { app, database, api, bobs };
        witness.pages_are_right().await?;
        ensure!(count(&witness.database, "inboxes").await? == 0, "nobody works yet");

        let (first, _) = Node::listening(&it, &["work"], "Running the workers.").await?;
        until("subtasks are under way", async || Ok(count(&witness.database, "inboxes").await? > 200)).await?;
        first.crash().await?;
        let (rows, open) = (count(&witness.database, "inboxes").await?, count(&witness.database, "subtasks").await?);
        ensure!(
            rows < FOLLOWERS * CONTENTS && open > 1,
            "the worker was killed too late: {rows} rows, {open} subtasks"
        );
        ensure!(count(&witness.database, "subtasks WHERE lease_until > 0 AND pushed_through < last_fan").await? > 0);
        witness.pages_are_right().await?;

        let (_second, worker) = Node::listening(&it, &["work"], "Running the workers.").await?;
        until("everything is delivered", async || {
            witness.pages_are_right().await?;
            Ok(count(&witness.database, "deliveries").await? == 0)
        })
        .await?;
        witness.everything_is_delivered_once().await?;
        witness.pages_are_right().await?;
        until("the worker shows it", async || Ok(worker.metric(UNFINISHED).await? == Some(0.0))).await?;
        Ok(())
    }
}
