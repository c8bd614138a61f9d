//! Measures how fast a file is loaded into an empty database, against raw inserts of the same rows into another one;
//! and pages while a file is loaded.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Result, ensure};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{
    client::request,
    database::{self, Database},
    figure::{Figure, Target, number},
    load::{Asking, Burst, Refusal, burst, repeating},
    node::{self, Settings, set},
    people::PAGE,
    rounds::Rounds,
    rows::pages::SIZE,
    servers::Server,
    site::Site,
    world::Engine,
};

/// Contents, follows and reactions of the file, each; a tenth as many users.
const EACH: (usize, usize) = (1_000_000, 300);
/// The same of a file that is loaded beside readers. Nobody waits for its end.
const EACH_BESIDE: (usize, usize) = (300_000, 3_000);
/// Clients who read pages meanwhile, one after the other.
const CLIENTS: (usize, usize) = (8, 2);
/// Longer than a file is read for its name, and than a process waits for the lease of a former one.
const PATIENCE: Duration = Duration::from_mins(3);
/// Rows of a raw insert, and lines of a transaction.
const AT_ONCE: usize = 500;
/// Words that texts are made of, and words of a text.
const WORDS: (u64, usize) = (20_000, 12);
/// Every table of which the import has rows in the end.
const TABLES: [&str; 12] = [
    "users",
    "external_identities",
    "user_names",
    "user_counts",
    "inbox_states",
    "outbox_heads",
    "contents",
    "content_objects",
    "counters",
    "search_terms",
    "follows",
    "reactions",
];

/// Lines a second of a file and of raw inserts, and what loading costs those who read meanwhile.
pub async fn measure(site: &mut Site) -> Result<Vec<Figure>> {
    let mut figures = alone(site).await?;
    figures.extend(beside(site).await?);
    Ok(figures)
}

/// Lines a second of each side, alone.
async fn alone(site: &Site) -> Result<Vec<Figure>> {
    let each = site.options.imported.unwrap_or(site.options.size(EACH.0, EACH.1));
    let path = site.store.folder().join("import.ndjson");
    let lines = f64::from(u32::try_from(write_file(&path, each)?)?);
    let (mut loaded, settings) = empty(site, "loaded").await?;
    let log = site.store.folder().join("import.log");
    let begun = Instant::now();
    let load = ["import", "load", "--full-speed", &path.display().to_string()];
    node::run(&site.options.tidefeed, &load, &settings, &log)?;
    let ours = lines / begun.elapsed().as_secs_f64();
    let (mut raw, _) = empty(site, "raw").await?;
    let theirs = lines / copied(&mut loaded, &mut raw).await?;
    for database in [loaded, raw] {
        database.close().await?;
    }
    fs::remove_file(path)?;
    let what = format!("{each} contents, follows and reactions each, and {} users", each / 10);
    Ok(vec![Figure::rates(what, (ours, theirs), "lines/s", Target::AtLeast(0.3, 0.3))])
}

/// p99 of pages while a file is loaded into the same store, against before; and the rate at which it is loaded.
async fn beside(site: &Site) -> Result<Vec<Figure>> {
    let path = site.store.folder().join("beside.ndjson");
    write_file(&path, site.options.size(EACH_BESIDE.0, EACH_BESIDE.1))?;
    let mut all = Vec::new();
    for reader in site.readers()?.iter().take(site.options.size(CLIENTS.0, CLIENTS.1)) {
        let asked = request(Some(&reader.token), PAGE, &json!({ "first": SIZE }));
        all.push(repeating(site.address(), "page", asked).await?);
    }
    burst(&mut all, &[], site.options.length(), Refusal::Fails).await?;
    let (mut medians, mut slowest, mut rates) = (Rounds::default(), Rounds::default(), Vec::new());
    for _ in 0..site.options.rounds() {
        let alone = burst(&mut all, &[], site.options.length(), Refusal::Fails).await?;
        let (beside, rate) = while_loading(site, &path, &mut all).await?;
        for (rounds, share) in [(&mut medians, 0.5), (&mut slowest, 0.99)] {
            rounds.ours.push(beside.quantile("page", share) / 1e3);
            rounds.theirs.push(alone.quantile("page", share) / 1e3);
        }
        rates.push(rate);
    }
    fs::remove_file(path)?;
    let clients = all.len();
    let what =
        |share: &str| format!("{share} of the pages of {clients} readers while a file is loaded, against before");
    let (least, most) =
        rates.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), it| (least.min(*it), most.max(*it)));
    let rate = format!("{} to {}", number(least, "lines/s"), number(most, "lines/s"));
    Ok(vec![
        Figure::multiple(what("p50"), &medians, ("ms", "ms"), Target::Free),
        Figure::multiple(what("p99"), &slowest, ("ms", "ms"), Target::AtMost(2.0, 2.0)),
        Figure::reported("loaded meanwhile", rate),
    ])
}

/// Begins to load the file, or goes on; reads pages for a while, and ends the process. Has lines a second, too.
async fn while_loading(site: &Site, path: &Path, all: &mut [Asking]) -> Result<(Burst, f64)> {
    const COME_TO: &str = "SELECT COALESCE(MAX(through_line), 0) FROM imports";
    let (mut database, begun) = (site.database().await?, Instant::now());
    let log = site.store.folder().join("beside.log");
    let before = database.number(COME_TO).await?;
    let arguments = ["import", "load", &path.display().to_string()];
    let mut loading =
        Server::start(&mut node::command(&site.options.tidefeed, &arguments, &site.store.settings()), 0, &log)?;
    while database.number(COME_TO).await? == before {
        loading.check()?;
        ensure!(begun.elapsed() < PATIENCE, "Loading does not begin; its log is {}", log.display());
        sleep(Duration::from_millis(20)).await;
    }
    let before = database.number(COME_TO).await?;
    let seen = burst(all, &[], site.options.length(), Refusal::Fails).await?;
    let lines = database.number(COME_TO).await? - before;
    loading.check()?;
    loading.stop().await?;
    let rate = f64::from(u32::try_from(lines)?) / seen.seconds;
    Ok((seen, rate))
}

/// A database with tables, and the configuration of a process on it.
async fn empty(site: &Site, name: &str) -> Result<(Database, Settings)> {
    let log = site.store.folder().join("import.log");
    let file: PathBuf = site.store.folder().join(format!("{name}.db"));
    let url = match site.store.mariadb_port() {
        None => format!("sqlite://{}", file.display()),
        Some(port) => {
            let mut server = Database::MariaDb(database::connect(port, None).await?);
            server.execute(&format!("CREATE DATABASE import_{name} CHARACTER SET utf8mb4")).await?;
            format!("mysql://root@127.0.0.1:{port}/import_{name}")
        }
    };
    let settings = [site.store.settings(), vec![set("store.url", &url)]].concat();
    node::run(&site.options.tidefeed, &["migrate"], &settings, &log)?;
    let database = match site.store.mariadb_port() {
        None => Database::sqlite(&file)?,
        Some(port) => Database::MariaDb(database::connect(port, Some(&format!("import_{name}"))).await?),
    };
    Ok((database, settings))
}

/// Inserts the rows of one database into the other. Has the seconds that inserting has taken.
async fn copied(from: &mut Database, to: &mut Database) -> Result<f64> {
    let mut seconds = 0.0;
    if to.engine() == Engine::Sqlite {
        // As our own connections.
        to.execute("PRAGMA synchronous = FULL").await?;
    }
    for table in TABLES {
        to.execute(&format!("DELETE FROM {table}")).await?;
        let columns = from.columns(table).await?;
        let rows = from.texts(&literals(&columns, table, from.engine())).await?;
        // A content has some ten terms, which are inserted in its transaction.
        let inserts = if table == "search_terms" { WORDS.1 } else { 1 };
        let begun = Instant::now();
        for transaction in rows.chunks(inserts * AT_ONCE) {
            to.execute("BEGIN").await?;
            for rows in transaction.chunks(AT_ONCE) {
                to.execute(&format!("INSERT INTO {table} VALUES {}", rows.join(","))).await?;
            }
            to.execute("COMMIT").await?;
        }
        seconds += begun.elapsed().as_secs_f64();
    }
    Ok(seconds)
}

/// A statement that reads each row as it is written in an insert. Terms come content by content, as they are written.
fn literals(columns: &[String], table: &str, engine: Engine) -> String {
    let quoted = columns.iter().map(|column| format!("QUOTE({column})"));
    let row = match engine {
        Engine::Sqlite => format!("'(' || {} || ')'", quoted.collect::<Vec<_>>().join(" || ',' || ")),
        Engine::MariaDb => {
            let row = format!("CONCAT('(', {}, ')')", quoted.collect::<Vec<_>>().join(", ',', "));
            format!("CONVERT({row} USING utf8mb4)")
        }
    };
    let order = if table == "search_terms" { " ORDER BY content_id, term" } else { "" };
    format!("SELECT {row} FROM {table}{order}")
}

/// Draws a file; returns how many lines it has.
fn write_file(path: &Path, each: usize) -> Result<usize> {
    let (users, mut draw) = (u64::try_from(each / 10)?, Draw(1));
    let mut text = String::from("{\"type\":\"header\",\"data\":{\"format\":\"tidefeed\",\"version\":1}}\n");
    for user in 0..users {
        writeln!(text, r#"{{"type":"user","data":{{"externalId":"u{user}","handle":"user_{user}"}}}}"#)?;
    }
    for content in 0..each {
        let (author, seconds) = (draw.below(users), content * 31_000_000 / each);
        let at = format!(
            "2019-{:02}-{:02}T{:02}:00:00Z",
            1 + seconds / 2_600_000,
            1 + seconds / 86_400 % 28,
            seconds / 3_600 % 24
        );
        let words: Vec<String> = (0..WORDS.1).map(|_| format!("word{}", draw.skewed(WORDS.0))).collect();
        let words = words.join(" ");
        writeln!(
            text,
            r#"{{"type":"content","data":{{"externalId":"p{content}","author":"u{author}","text":"{words}","createdAt":"{at}"}}}}"#
        )?;
    }
    for number in 0..u64::try_from(each)? {
        // Nobody follows anybody twice.
        let (follower, author) = (number % users, (number % users + 1 + number / users * 7) % users);
        writeln!(text, r#"{{"type":"follow","data":{{"follower":"u{follower}","author":"u{author}"}}}}"#)?;
    }
    for number in 0..each {
        let (user, kind) = (draw.below(users), if number % 10 == 0 { "BOOKMARK" } else { "LIKE" });
        writeln!(text, r#"{{"type":"reaction","data":{{"user":"u{user}","content":"p{number}","kind":"{kind}"}}}}"#)?;
    }
    let lines = text.lines().count();
    fs::write(path, text)?;
    Ok(lines)
}

/// Numbers that are the same in every run (a linear congruence).
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    /// Small ones are more frequent.
    fn skewed(&mut self, bound: u64) -> u64 {
        self.below(bound) * self.below(bound) / bound
    }
}
