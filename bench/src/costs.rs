//! Measures what one of each operation costs: processor time by server, statements and round trips, and the rows and
//! bytes that it leaves in each table. `make costs` writes it into the file on which `tidefeed plan` stands.

use std::{collections::BTreeMap, path::Path, rc::Rc};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Map, Value, json};

use crate::{
    cassandra::Cassandra,
    client::{Client, request},
    database::Database,
    figure::line,
    load::{self, Refusal, burst},
    metrics::Metrics,
    node::{Settings, set},
    options::Options,
    people::{self, PAGE, Person},
    processes,
    rows::{
        delivery::{MANY, OPEN, PUBLISH},
        inboxes::{bytes_an_inbox, move_back, move_out},
        live::{self, Ask, SILENCE_MS},
        pages::{SIZE, page_requests},
        writes::{self, Write},
    },
    scratch::Scratch,
    site::Site,
    world::Engine,
};

/// Clients that write at once.
const WRITERS: usize = 8;
/// Operations of a kind of which the rows are counted.
const ONE_WAY: (usize, usize) = (200, 10);
/// Publishes of an author whom many hear.
const PUBLISHES: (usize, usize) = (20, 2);
/// Sockets that hear an author, ten of a viewer.
const SOCKETS: (usize, usize) = (2_000, 20);
/// Readers whose pages are read.
const READERS: (usize, usize) = (500, 3);
/// Tables with fewer rows have pages that are all but empty.
const LEAST_ROWS: i64 = 1_000;
const STATEMENTS: &str =
    "SELECT CAST(variable_value AS SIGNED) FROM information_schema.global_status WHERE variable_name = 'QUESTIONS'";
/// The node's metric of what it asks the primary.
const TRIPS: &str = "tidefeed_store_round_trips_total{server=\"primary\"} ";
const REGISTER: &str = "mutation($input: RegisterUserInput!) { registerUser(input: $input) { userErrors { code } } }";
const FOLLOW: &str = "mutation($id: ID!) { followUser(input: { userId: $id }) { userErrors { code } } }";
const LIKE: &str = "mutation($id: ID!) { likeContent(input: { contentId: $id }) { userErrors { code } } }";

/// Measures on both engines, and on MariaDB also with inboxes in Redis and in Cassandra, with a replica, and with both;
/// writes JSON into `file`.
pub async fn write(options: &Options, file: &Path, (day, commit): (&str, &str)) -> Result<()> {
    processes::open_many_sockets();
    let mut folder = Scratch::within(&options.folder)?;
    let mut all = json!({ "day": day, "commit": commit, "machine": processes::machine(), "users": options.users() });
    let mut site = Site::open(Engine::Sqlite, options, &folder.folder()?).await?;
    all["sqlite"] = of_engine(&mut site).await?;
    site.close().await?;
    let mut site = Site::open(Engine::MariaDb, options, &folder.folder()?).await?;
    all["mariadb"] = of_engine(&mut site).await?;
    all["live"] = of_live(&mut site).await?;
    let writers = unfollowed(&site).await?;
    let (redis, cassandra) = of_outside_inboxes(&mut site, &writers).await?;
    all["mariadb_redis_inboxes"] = redis;
    all["mariadb_cassandra_inboxes"] = cassandra;
    let (replica, both) = of_replica(&mut site, &writers).await?;
    all["mariadb_replica"] = json!({ "operations": replica });
    all["mariadb_cassandra_replica"] = json!({ "operations": both });
    site.close().await?;
    std::fs::write(file, serde_json::to_string_pretty(&all)? + "\n")?;
    line(&format!("Written: {}", file.display()))
}

async fn of_engine(site: &mut Site) -> Result<Value> {
    let (readers, writers) = (readers(site)?, unfollowed(site).await?);
    let operations = operations(site, &Vec::new(), (&readers, &writers), Beside::default()).await?;
    let left = rows_left(site, &writers[0]).await?;
    let mut database = site.database().await?;
    let text_bytes = database.number("SELECT CAST(SUM(OCTET_LENGTH(text)) / COUNT(*) AS SIGNED) FROM contents").await?;
    Ok(json!({ "operations": operations, "tables": tables(&mut database, &left).await?, "text_bytes": text_bytes }))
}

/// What a meter counts: microseconds of processor time by server, and what the primary was asked.
const COUNTED: [&str; 7] = ["node_us", "sql_us", "redis_us", "cassandra_us", "replica_us", "statements", "trips"];

/// Processes beside the servers of the site.
#[derive(Debug, Clone, Copy, Default)]
struct Beside {
    cassandra: Option<u32>,
    replica: Option<u32>,
}

/// Counts what servers do for operations.
struct Meter<'a> {
    site: &'a Site,
    beside: Beside,
    before: [f64; COUNTED.len()],
}

impl<'a> Meter<'a> {
    /// Begins to count when nothing is left to deliver.
    async fn begin(site: &'a Site, beside: Beside) -> Result<Self> {
        let mut meter = Self { site, beside, before: Default::default() };
        meter.before = meter.now().await?;
        Ok(meter)
    }

    /// What was counted until everything was delivered, for each operation: `operations` is their number.
    async fn each_of(self, operations: u64) -> Result<[f64; COUNTED.len()]> {
        let now = self.now().await?;
        let operations = load::count(operations.max(1));
        Ok(std::array::from_fn(|at| (now[at] - self.before[at]) / operations))
    }

    async fn now(&self) -> Result<[f64; COUNTED.len()]> {
        let mut database = self.site.database().await?;
        people::wait_for_none(&mut database, OPEN, "deliveries").await?;
        let mut counted = [0.0; COUNTED.len()];
        let servers = self.site.pids();
        for (at, pid) in servers.into_iter().enumerate() {
            counted[at] = processes::cpu_us(pid)?;
        }
        for (at, pid) in [(3, self.beside.cassandra), (4, self.beside.replica)] {
            if let Some(pid) = pid {
                counted[at] = processes::cpu_us(pid)?;
            }
        }
        if database.engine() == Engine::MariaDb {
            counted[5] = load::count(u64::try_from(database.number(STATEMENTS).await?)?);
            counted[6] = Metrics::of(self.site.address()).await?.number(TRIPS).context("no round trips")?;
        }
        Ok(counted)
    }
}

fn named(counted: &[f64; COUNTED.len()]) -> Value {
    let rounded = counted.iter().map(|it| json!((it.max(0.0) * 100.0).round() / 100.0));
    COUNTED.into_iter().map(str::to_owned).zip(rounded).collect::<Map<_, _>>().into()
}

/// The same readers in every store.
fn readers(site: &Site) -> Result<Vec<Person>> {
    let mut readers = site.readers()?;
    readers.truncate(site.options.size(READERS.0, READERS.1));
    Ok(readers)
}

/// Each operation alone on a node with these settings that remembers nobody yet, by enough clients to keep the servers
/// busy. A delivery is what one more follower adds to a publish.
async fn operations(
    site: &mut Site,
    settings: &Settings,
    (readers, writers): (&[Person], &[Person]),
    beside: Beside,
) -> Result<Value> {
    site.restart(settings).await?;
    let site = &*site;
    let mut all = Map::new();
    all.insert("first_page".to_owned(), named(&first_pages(site, readers, beside).await?));
    let length = site.options.length();
    let mut pages = page_requests(site.address(), readers, json!({ "first": SIZE })).await?;
    burst(&mut pages, &[], length / 4, Refusal::Fails).await?;
    let meter = Meter::begin(site, beside).await?;
    let seen = burst(&mut pages, &[], length, Refusal::Fails).await?;
    all.insert("page".to_owned(), named(&meter.each_of(seen.accepted).await?));
    for (name, write) in [("like", Write::Like), ("follow", Write::Follow), ("publish", Write::Publish)] {
        let mut all_clients = writes::clients(site, write, writers).await?;
        let meter = Meter::begin(site, beside).await?;
        let seen = burst(&mut all_clients, &[], length, Refusal::Fails).await?;
        let each = meter.each_of(seen.accepted).await?;
        all.insert(name.to_owned(), named(&each));
        if write == Write::Publish {
            all.insert("delivery".to_owned(), named(&delivery(site, beside, &each).await?));
        }
    }
    Ok(all.into())
}

/// A page of each reader, whom the node does not know yet.
async fn first_pages(site: &Site, readers: &[Person], beside: Beside) -> Result<[f64; COUNTED.len()]> {
    let mut client = Client::to(site.address()).await?;
    let meter = Meter::begin(site, beside).await?;
    for reader in readers {
        client.data(Some(&reader.token), PAGE, json!({ "first": SIZE })).await?;
    }
    meter.each_of(readers.len() as u64).await
}

/// People whom hardly anybody follows, so that their publishes are delivered to hardly anybody.
async fn unfollowed(site: &Site) -> Result<Vec<Person>> {
    let fewest = format!(
        "SELECT u.handle FROM users u JOIN user_counts c ON c.user_id = u.id JOIN credentials p ON p.user_id = u.id \
         WHERE c.following >= 10 ORDER BY c.followers, u.id LIMIT {WRITERS}"
    );
    let handles = site.database().await?.texts(&fewest).await?;
    let people = people::sign_in(site, &handles).await?;
    people::make_active(site, &people).await?;
    Ok(people)
}

/// What each follower of the most followed author adds to a publish, which costs `publish` without them.
async fn delivery(site: &Site, beside: Beside, publish: &[f64; COUNTED.len()]) -> Result<[f64; COUNTED.len()]> {
    let (star, followers) = site.author(MANY).await?;
    let asked: Rc<[u8]> = live::publish(&star).into();
    let mut client = Client::to(site.address()).await?;
    let times = site.options.size(PUBLISHES.0, PUBLISHES.1);
    let meter = Meter::begin(site, beside).await?;
    for _ in 0..times {
        client.ask(&asked).await?;
        ensure!(client.succeeded(), "{}", String::from_utf8_lossy(client.body()));
        people::wait_for_none(&mut site.database().await?, OPEN, "deliveries").await?;
    }
    let each = meter.each_of(times as u64).await?;
    let followers = load::count(u64::try_from(followers.max(1))?);
    Ok(std::array::from_fn(|at| (each[at] - publish[at]) / followers))
}

/// Rows that one of each operation leaves in each table, when nothing is under way any more.
async fn rows_left(site: &Site, person: &Person) -> Result<BTreeMap<String, Map<String, Value>>> {
    let count = site.options.size(ONE_WAY.0, ONE_WAY.1);
    let mut left: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for (name, requests) in one_way(site, person, count).await? {
        let before = row_counts(site).await?;
        let mut client = Client::to(site.address()).await?;
        for asked in &requests {
            client.ask(asked).await?;
            ensure!(client.succeeded(), "{name}: {}", String::from_utf8_lossy(client.body()));
        }
        for (table, rows) in row_counts(site).await? {
            let more = rows - before.get(&table).copied().unwrap_or_default();
            let each = load::count(u64::try_from(more).unwrap_or_default()) / load::count(requests.len() as u64);
            left.entry(table).or_default().insert(name.to_owned(), json!((each * 100.0).round() / 100.0));
        }
    }
    Ok(left)
}

/// Requests none of which undoes another.
async fn one_way(site: &Site, person: &Person, count: usize) -> Result<Vec<(&'static str, Vec<Vec<u8>>)>> {
    let mut database = site.database().await?;
    let token = Some(person.token.as_str());
    let texts =
        database.texts(&format!("SELECT text FROM contents WHERE text <> '' ORDER BY id LIMIT {count}")).await?;
    let strangers = format!(
        "SELECT user_id FROM user_counts WHERE user_id NOT IN (SELECT author_id FROM follows WHERE follower_id = {}) \
         ORDER BY user_id LIMIT {count}",
        person.number
    );
    let strangers = people::global_ids(site, &database.numbers(&strangers).await?).await?;
    let mut client = Client::to(site.address()).await?;
    let mut liked = Vec::new();
    let register = (0..count).map(|number| {
        let input =
            json!({ "handle": format!("counted_{number}"), "name": "Somebody New", "password": "a long password" });
        request(None, REGISTER, &json!({ "input": input }))
    });
    let publish = texts.iter().map(|text| request(token, PUBLISH, &json!({ "text": text })));
    let follow = strangers.iter().map(|id| request(token, FOLLOW, &json!({ "id": id })));
    let mut after = Value::Null;
    while liked.len() < count {
        let page = client.data(token, PAGE, json!({ "first": count.min(100), "after": after })).await?;
        let edges = page["timeline"]["edges"].as_array().context("no page")?;
        ensure!(!edges.is_empty(), "{} contents to like, not {count}", liked.len());
        liked.extend(edges.iter().map(|edge| request(token, LIKE, &json!({ "id": edge["node"]["id"] }))));
        after = page["timeline"]["pageInfo"]["endCursor"].clone();
    }
    Ok(vec![
        ("user", register.collect()),
        ("publish", publish.collect()),
        ("follow", follow.collect()),
        ("like", liked),
    ])
}

async fn table_names(database: &mut Database) -> Result<Vec<String>> {
    database
        .texts(match database.engine() {
            Engine::Sqlite => "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
            Engine::MariaDb => {
                "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name"
            }
        })
        .await
}

async fn row_counts(site: &Site) -> Result<BTreeMap<String, i64>> {
    let mut database = site.database().await?;
    people::wait_for_none(&mut database, OPEN, "deliveries").await?;
    people::wait_for_none(&mut database, "SELECT COUNT(*) FROM relations", "changed relations").await?;
    let mut counts = BTreeMap::new();
    for table in table_names(&mut database).await? {
        let rows = database.number(&format!("SELECT COUNT(*) FROM {table}")).await?;
        counts.insert(table, rows);
    }
    Ok(counts)
}

/// Bytes of a row with its index entries, and the rows that operations leave, of each table that has enough rows.
async fn tables(database: &mut Database, left: &BTreeMap<String, Map<String, Value>>) -> Result<Value> {
    let mut all = Map::new();
    for (table, rows_of) in left {
        let rows = database.number(&format!("SELECT COUNT(*) FROM {table}")).await?;
        let grows = rows_of.values().any(|rows| rows.as_f64() > Some(0.0));
        if !grows || rows < LEAST_ROWS {
            continue;
        }
        let bytes = match database.engine() {
            Engine::Sqlite => format!(
                "SELECT SUM(d.pgsize) FROM dbstat d JOIN sqlite_master m ON m.name = d.name WHERE m.tbl_name = '{table}'"
            ),
            Engine::MariaDb => {
                database.texts(&format!("SELECT 'ok' FROM {table} LIMIT 1")).await?;
                database.execute(&format!("ANALYZE TABLE {table}")).await?;
                format!(
                    "SELECT CAST(data_length + index_length AS SIGNED) FROM information_schema.tables \
                     WHERE table_schema = DATABASE() AND table_name = '{table}'"
                )
            }
        };
        let bytes = load::count(u64::try_from(database.number(&bytes).await? / 1024)?) * 1024.0;
        let each = (bytes / load::count(u64::try_from(rows)?)).round();
        all.insert(table.clone(), json!({ "bytes_of_row": each, "rows": rows_of }));
    }
    Ok(all.into())
}

/// The same readers' pages, deliveries and bytes with their inboxes in Redis and in Cassandra.
async fn of_outside_inboxes(site: &mut Site, writers: &[Person]) -> Result<(Value, Value)> {
    let readers = readers(site)?;
    let all = everybody(&readers, writers);
    let settings = vec![set("inbox.store", &"redis")];
    move_out(site, &all, &settings).await?;
    let operations_there = operations(site, &settings, (&readers, writers), Beside::default()).await?;
    let bytes = bytes_an_inbox(site.store.redis_port().context("no Redis")?)?;
    let redis = json!({ "operations": operations_there, "inbox_bytes": bytes.round() });
    move_back(site).await?;
    let running = cassandra(site.store.folder()).await?;
    let settings = running.settings();
    move_out(site, &all, &settings).await?;
    let beside = Beside { cassandra: Some(running.pid()), replica: None };
    let operations_there = operations(site, &settings, (&readers, writers), beside).await?;
    move_back(site).await?;
    let (running, bytes) = running.bytes().await?;
    running.stop().await?;
    let moved = load::count(all.len() as u64);
    let cassandra =
        json!({ "operations": operations_there, "inbox_bytes": (load::count(bytes / 1024) * 1024.0 / moved).round() });
    Ok((redis, cassandra))
}

/// Reads on a replica, with inboxes in SQL and in Cassandra.
async fn of_replica(site: &mut Site, writers: &[Person]) -> Result<(Value, Value)> {
    site.replicate(1).await?;
    let reading = site.store.reading_on(1);
    let readers = readers(site)?;
    let all = everybody(&readers, writers);
    let beside = Beside { cassandra: None, replica: site.store.replica_pids().first().copied() };
    let alone = operations(site, &reading, (&readers, writers), beside).await?;
    let running = cassandra(&site.store.folder().join("beside-a-replica")).await?;
    let settings: Settings = running.settings().into_iter().chain(reading).collect();
    move_out(site, &all, &settings).await?;
    let beside = Beside { cassandra: Some(running.pid()), ..beside };
    let both = operations(site, &settings, (&readers, writers), beside).await?;
    running.stop().await?;
    Ok((alone, both))
}

async fn cassandra(folder: &Path) -> Result<Cassandra> {
    let Some(running) = Cassandra::start(folder).await? else { bail!("run scripts/fetch-cassandra.sh") };
    Ok(running)
}

/// Those who read and those who write, each once.
fn everybody(readers: &[Person], writers: &[Person]) -> Vec<Person> {
    let only_writes = |writer: &&Person| readers.iter().all(|reader| reader.number != writer.number);
    readers.iter().chain(writers.iter().filter(only_writes)).cloned().collect()
}

/// Memory of a socket with a subscription, and the node's time for an event on it.
async fn of_live(site: &mut Site) -> Result<Value> {
    site.restart(&vec![set("websocket.ping_ms", &SILENCE_MS), set("websocket.pong_timeout_ms", &SILENCE_MS)]).await?;
    let sockets = site.options.size(SOCKETS.0, SOCKETS.1);
    let author = unfollowed(site).await?.into_iter().next().context("nobody")?;
    let mut viewers = site.people((1, 1_000), sockets / 10 + 1).await?;
    // Nobody gets events of what they publish themselves.
    viewers.retain(|viewer| viewer.number != author.number);
    live::follow(site, &viewers, &author).await?;
    // What the node allocates for its first sockets does not count.
    live::warm_up(site, &viewers).await?;
    let before = processes::resident_bytes(site.node_pid())?;
    let mut all = live::subscribed(site, &viewers, sockets).await?;
    let after = processes::resident_bytes(site.node_pid())?;
    let ask = Ask { address: site.address(), publish: live::publish(&author), times: 1, events: 1 };
    let meter = Meter::begin(site, Beside::default()).await?;
    for _ in 0..PUBLISHES.0 {
        live::broadcast(&ask, &mut all).await?;
    }
    let [node_us, ..] = meter.each_of((sockets * PUBLISHES.0) as u64).await?;
    drop(all);
    site.restart(&Vec::new()).await?;
    let socket_bytes = (after - before) / load::count(sockets as u64);
    Ok(
        json!({ "node_bytes": before, "socket_bytes": socket_bytes.round(), "event_us": (node_us * 100.0).round() / 100.0 }),
    )
}
