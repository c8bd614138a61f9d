//! Tests `tidefeed seed`: through the API its data cannot be distinguished from data that the services wrote.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use tidefeed::{
    app::{open_for_bulk_inserts, open_store},
    config::{Config, Environment, Sources},
    domain::{Handle, PageRequest, PageSize, UserId},
    store::{Seeding as _, accounts::PasswordHash, contents::NewContent, contents::Published},
};
use tokio::time::timeout;

use super::{
    CommandLine, Ended,
    process::{LIMIT, Node, send_signal, until},
};
use crate::{
    harness::{CacheBackend, TestApp},
    servers::{Backend, on_each_backend},
};

pub async fn user(app: &TestApp, handle: &str) -> Result<UserId> {
    let profile = app.ports.accounts.by_handle(&Handle::try_new(handle)?).await?;
    Ok(profile.with_context(|| format!("{handle} is not there"))?.id)
}

/// Walks through the whole timeline of a reader, and compares every page, before it is folded, with the oracle's.
/// Returns the number of entries.
pub async fn pages_equal_the_oracle(app: &TestApp, reader: UserId) -> Result<usize> {
    let (mut request, mut seen) = (PageRequest::newest(PageSize::try_new(50)?), 0);
    loop {
        let page = app.reader.read_raw(reader, &request).await?;
        let mut expected = app.ports.timelines.oracle(reader, &request).await?;
        expected.truncate(50);
        ensure!(page.entries == expected, "after {:?}: {:?}, not {expected:?}", request.bound, page.entries);
        seen += page.entries.len();
        match page.entries.last() {
            Some(last) if page.has_older => request.bound = Some(last.position()),
            _ => return Ok(seen),
        }
    }
}

const SEED: [&str; 5] = ["seed", "--users", "60", "--contents-per-user", "8"];

async fn seeded(backend: Backend) -> Result<(Arc<TestApp>, CommandLine, String)> {
    let app = TestApp::start(backend, CacheBackend::NoCache).await?;
    let it = CommandLine::on(app.database_url())?;
    let output = it.done(&SEED).await?;
    Ok((app, it, output))
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    async fn timelines_of_seeded_readers_equal_the_oracle_before_and_after_reactivation(
        backend: Backend,
    ) -> Result<()> {
        let (app, _, output) = seeded(backend).await?;
        ensure!(output.contains("61 users") && output.contains("sign in as `demo` with the password `demo-tidefeed`"), "{output}");
        let demo = user(&app, "demo").await?;
        let before = pages_equal_the_oracle(&app, demo).await?;
        ensure!(before > 100, "the timeline of demo has {before} entries");
        let author = app
            .ports
            .follows
            .followed_by(demo)
            .await?
            .into_iter()
            .find(|id| *id != demo)
            .context("demo follows nobody")?;
        app.reactivator.visit(demo, None).await?;
        let draft = tidefeed::domain::content::Draft::try_new("fresh", Vec::new(), None)?;
        let publish_time = 1_900_000_000_000;
        let id = tidefeed::domain::ContentId::try_new(42)?;
        let published = app.ports.contents.publish(NewContent { id, author, draft, publish_time, version: 7 }).await?;
        ensure!(matches!(published, Published::Created { .. }));
        ensure!(pages_equal_the_oracle(&app, demo).await? == before + 1);
        app.sweep().await?;
        ensure!(pages_equal_the_oracle(&app, demo).await? == before + 1);
        for other in app.ports.follows.followed_by(demo).await?.into_iter().take(5) {
            pages_equal_the_oracle(&app, other).await?;
        }
        Ok(())
    }

    async fn a_database_with_people_is_left_alone_unless_more_are_asked_for(backend: Backend) -> Result<()> {
        let (app, it, _) = seeded(backend).await?;
        let refused = it.run(&["seed"]).await?;
        ensure!(refused.code == Some(1) && refused.err.contains("`--add`"), "{refused:?}");
        ensure!(it.done(&["seed", "--if-empty"]).await?.contains("Nothing to do."));
        ensure!(app.ports.accounts.count().await? == 61);
        it.done(&["seed", "--add", "--users", "30"]).await?;
        ensure!(app.ports.accounts.count().await? == 91);
        Ok(())
    }

    async fn the_planner_knows_of_a_seeded_world_at_once(backend: Backend) -> Result<()> {
        let own = backend.empty_database().await?.migrated().await?;
        CommandLine::on(&own.url)?.done(&SEED).await?;
        let database = crate::servers::connect_sql(&own.url).await?;
        let known = match backend {
            Backend::Sqlite => "SELECT COUNT(*) FROM sqlite_stat1 WHERE tbl = 'contents'",
            _ => "SELECT CAST(n_rows AS SIGNED) FROM mysql.innodb_table_stats WHERE database_name = DATABASE() AND table_name = 'contents'",
        };
        let rows = crate::servers::numbers(&database, known).await?;
        ensure!(rows.first().is_some_and(|rows| *rows > 0), "{rows:?}");
        database.close().await?;
        Ok(())
    }

    async fn counts_are_those_of_the_rows(backend: Backend) -> Result<()> {
        let (app, ..) = seeded(backend).await?;
        let database = crate::servers::connect_sql(app.database_url()).await?;
        for wrong in [
            "SELECT user_id FROM user_counts c WHERE followers <> (SELECT COUNT(*) FROM follows f WHERE f.author_id = c.user_id) - 1",
            "SELECT user_id FROM user_counts c WHERE following <> (SELECT COUNT(*) FROM follows f WHERE f.follower_id = c.user_id) - 1",
            "SELECT user_id FROM user_counts c WHERE contents <> (SELECT COUNT(*) FROM contents t WHERE t.author_id = c.user_id)",
            "SELECT author_id FROM outbox_heads h WHERE (stamp = 0) = EXISTS (SELECT 1 FROM contents t WHERE t.author_id = h.author_id)",
            "SELECT id FROM contents WHERE id NOT IN (SELECT content_id FROM counters)",
            "SELECT id FROM users WHERE id NOT IN (SELECT user_id FROM credentials)",
            "SELECT user_id FROM inbox_states WHERE floor_time IS NOT NULL",
            "SELECT content_id FROM deliveries",
            "SELECT content_id FROM counters c WHERE replies <> (SELECT COUNT(*) FROM contents t WHERE t.reply_to = c.content_id)",
            "SELECT content_id FROM counters c WHERE reposts <> (SELECT COUNT(*) FROM contents t WHERE t.repost_of = c.content_id)",
            "SELECT content_id FROM counters c WHERE likes <> (SELECT COUNT(*) FROM reactions r WHERE r.content_id = c.content_id AND r.kind = 1)",
            "SELECT content_id FROM counters c WHERE bookmarks <> (SELECT COUNT(*) FROM reactions r WHERE r.content_id = c.content_id AND r.kind = 2)",
            "SELECT r.content_id FROM reactions r LEFT JOIN users u ON u.id = r.user_id LEFT JOIN contents t ON t.id = r.content_id \
             WHERE u.id IS NULL OR t.id IS NULL OR t.repost_of IS NOT NULL OR t.publish_time > r.created_at",
            "SELECT t.id FROM contents t LEFT JOIN contents o ON o.id = COALESCE(t.reply_to, t.repost_of) WHERE t.kind <> 1 \
             AND (o.id IS NULL OR o.repost_of IS NOT NULL OR o.publish_time > t.publish_time)",
            "SELECT t.id FROM contents t LEFT JOIN contents o ON o.id = t.repost_of WHERE NOT COALESCE(t.repost_author_id, 0) = COALESCE(o.author_id, 0)",
        ] {
            let rows = crate::servers::numbers(&database, wrong).await?;
            ensure!(rows.is_empty(), "{wrong}: {rows:?}");
        }
        for there in [
            "SELECT id FROM contents WHERE reply_to IN (SELECT id FROM contents WHERE kind = 2)",
            "SELECT id FROM contents WHERE kind = 3",
            "SELECT user_id FROM reactions WHERE kind = 1",
            "SELECT user_id FROM reactions WHERE kind = 2",
        ] {
            ensure!(!crate::servers::numbers(&database, there).await?.is_empty(), "none: {there}");
        }
        database.close().await?;
        Ok(())
    }
}

#[tokio::test]
async fn a_seed_that_is_interrupted_leaves_people_who_can_sign_in() -> Result<()> {
    let app = TestApp::start(Backend::Sqlite, CacheBackend::NoCache).await?;
    let it = CommandLine::on(app.database_url())?;
    let seed = it.command(&["seed", "--users", "1000000"]).stdout(std::process::Stdio::piped()).spawn()?;
    until("people are there", async || Ok(app.ports.accounts.count().await? > 0)).await?;
    send_signal("INT", seed.id().context("the seed has ended by itself")?).await?;
    let ended = timeout(LIMIT, seed.wait_with_output()).await.context("the seed does not end")?;
    let ended = Ended::of(&ended?);
    ensure!(ended.code == Some(130) && ended.out.starts_with("Interrupted after"), "{ended:?}");
    let count = app.ports.accounts.count().await?;
    ensure!((1..1_000_000).contains(&count), "{count}");
    let stored: Option<(UserId, PasswordHash)> = app.ports.accounts.credential(&Handle::try_new("demo")?).await?;
    ensure!(stored.is_some(), "demo cannot sign in");
    let database = crate::servers::connect_sql(app.database_url()).await?;
    let without = "SELECT id FROM users WHERE id NOT IN (SELECT user_id FROM credentials)";
    ensure!(crate::servers::numbers(&database, without).await?.is_empty());
    Ok(())
}

/// The others wait once each, one after the other, so the insert waits at least twice as long as they may.
#[tokio::test]
async fn a_bulk_insert_waits_longer_for_the_store_than_other_writes() -> Result<()> {
    let app = TestApp::start(Backend::Sqlite, CacheBackend::NoCache).await?;
    let named = [("TIDEFEED__STORE__URL", app.database_url()), ("TIDEFEED__STORE__STATEMENT_TIMEOUT_MS", "100")];
    let named = named.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let config = Config::load(&Sources::new(None, Environment::of(named)))?;
    let other = crate::servers::connect_sql(app.database_url()).await?;
    crate::servers::execute(&other, "BEGIN IMMEDIATE").await?;
    let patient = open_for_bulk_inserts(&config).await?;
    let insert = tokio::spawn(async move { patient.prepare().await });
    let usual = open_store(&config).await?;
    for _ in 0..2 {
        ensure!(usual.prepare().await.is_err_and(|error| error.is_transient()));
    }
    ensure!(!insert.is_finished(), "{:?}", insert.await);
    crate::servers::execute(&other, "ROLLBACK").await?;
    insert.await??;
    Ok(())
}

#[tokio::test]
async fn a_database_without_tables_is_sent_to_migrate() -> Result<()> {
    let ended = CommandLine::embedded()?.run(&["seed"]).await?;
    ensure!(ended.code == Some(1) && ended.err.contains("run `tidefeed migrate` first"), "{ended:?}");
    Ok(())
}

#[tokio::test]
async fn the_help_shows_where_the_number_of_a_picture_goes() -> Result<()> {
    let help = CommandLine::embedded()?.done(&["seed", "--help"]).await?;
    ensure!(
        help.contains("--pictures <https://../{n}.jpg>") && help.contains("--avatars <https://../{n}.jpg>"),
        "{help}"
    );
    Ok(())
}

#[tokio::test]
async fn seed_live_seeds_an_empty_database_and_serves_it() -> Result<()> {
    let it = CommandLine::embedded()?.with("TIDEFEED__LOG__FORMAT", "json");
    let it = it.with("TIDEFEED__SERVER__LISTEN", "127.0.0.1:0");
    it.done(&["migrate"]).await?;
    let (mut node, peer) = Node::listening(&it, &["seed", "--users", "9", "--live"], "Serving the API.").await?;
    let clip = peer.get("clips/tide.jpg").await;
    ensure!(clip.is_ok_and(|(status, _)| status == 200) && peer.get("portraits/7.svg").await?.0 == 200);
    node.signal("TERM").await?;
    node.said("Stopped.").await?;
    ensure!(node.code().await? == Some(0));
    Ok(())
}

#[tokio::test]
async fn seed_live_acts_for_nobody_whom_it_has_not_written() -> Result<()> {
    let it = CommandLine::embedded()?.with("TIDEFEED__LOG__FORMAT", "json");
    let it = it.with("TIDEFEED__SERVER__LISTEN", "127.0.0.1:0");
    let (node, peer) = Node::listening(&it, &["serve"], "Serving the API.").await?;
    let register = r#"mutation { registerUser(input: { handle: "demo", password: "correct horse battery", name: "D" }) { token } }"#;
    let answer = peer.query(None, register).await?;
    ensure!(answer["data"]["registerUser"]["token"].is_string(), "{answer}");
    drop(node);
    let refused = it.run(&["seed", "--live"]).await?;
    ensure!(refused.code == Some(1) && refused.err.contains("nobody acts for them"), "{refused:?}");
    let (_node, peer) = Node::listening(&it, &["seed", "--if-empty", "--live"], "Serving the API.").await?;
    ensure!(peer.get("readyz").await?.0 == 200);
    Ok(())
}

#[tokio::test]
async fn seeded_pictures_are_below_the_address_of_the_node_that_serves_them() -> Result<()> {
    let it = CommandLine::embedded()?.with("TIDEFEED__LOG__FORMAT", "json");
    it.done(&["migrate"]).await?;
    it.done(&["seed", "--users", "3"]).await?;
    let shown = "{ user(handle: \"demo\") { avatarUrl mediaContents(first: 1) { edges { node { media { url } } } } } }";
    let (node, peer) = Node::listening(&it, &["serve", "--port", "0"], "Serving the API.").await?;
    let answer = peer.query(None, shown).await?;
    let avatar = answer["data"]["user"]["avatarUrl"].as_str().with_context(|| answer.to_string())?;
    let path = avatar.strip_prefix(&format!("http://{}/", peer.address())).with_context(|| avatar.to_owned())?;
    ensure!(path.starts_with("portraits/") && peer.get(path).await?.0 == 200, "{avatar}");
    drop(node);
    let behind = it.with("TIDEFEED__SERVER__PUBLIC_URL", "https://example.org/feed");
    let (_other, peer) = Node::listening(&behind, &["serve", "--port", "0"], "Serving the API.").await?;
    let answer = peer.query(None, shown).await?.to_string();
    ensure!(answer.contains("https://example.org/feed/portraits/") && !answer.contains("127.0.0.1"), "{answer}");
    Ok(())
}
