//! Runs the drills of docs/operations.md as they stand there: a node is backed up while it runs, the backup is restored
//! and checked, much happens, and the backup is put back. Then every page is that of the backup, and of what follows.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use redis::{AsyncCommands as _, cmd};
use serde_json::Value;
use tokio::process::Command;

use super::{
    CommandLine, Ended,
    process::{Node, Peer, until},
};
use crate::servers::{self, Backend, Kind, connect_redis, connect_sql, execute, numbers, on_each_backend};

/// So quick that inboxes outside SQL are built at once; one of two authors is pulled.
const SETTINGS: &str = "[server]\nlisten = \"127.0.0.1:0\"\n[log]\nformat = \"json\"\n[delivery]\npush_threshold = 1\nactive_days = 0\n\
                        [upkeep]\nsweep_ms = 99\nseen_every_ms = 1000\n";

/// A service in production, in the folder that the documentation means.
struct Production {
    it: CommandLine,
    node: Node,
    api: Peer,
}

struct User {
    id: String,
    token: String,
}

impl Production {
    /// With the configuration of this place, and the programs that the drills call.
    async fn start(place: &Place) -> Result<Self> {
        let it = CommandLine::embedded()?;
        let bin = it.path().join("bin");
        std::fs::create_dir(&bin)?;
        let binary = it.command(&[]).as_std().get_program().to_owned();
        std::os::unix::fs::symlink(Path::new(&binary), bin.join("tidefeed"))?;
        std::fs::write(it.path().join("tidefeed.toml"), format!("{}{SETTINGS}", place.configuration))?;
        std::fs::write(it.path().join(".my.cnf"), &place.clients)?;
        it.done(&["migrate"]).await?;
        let (node, api) = Node::listening(&it, &["serve"], "Serving the API.").await?;
        Ok(Self { it, node, api })
    }

    /// Runs the example of this name, and returns what it printed. What systemd does is done here.
    async fn run(&mut self, name: &str) -> Result<String> {
        let document =
            tokio::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operations.md")).await?;
        let (_, rest) = document.split_once(&format!("```sh {name}\n")).with_context(|| format!("no {name}"))?;
        let (steps, _) = rest.split_once("```").context("no end")?;
        let (mut script, mut printed) = (String::new(), String::new());
        for step in steps.lines() {
            match step {
                "systemctl stop tidefeed" => {
                    self.node.signal("TERM").await?;
                    ensure!(self.node.code().await? == Some(0), "{name}: the node");
                }
                "systemctl start tidefeed" => {
                    printed += &self.bash(&std::mem::take(&mut script)).await.context(name.to_owned())?;
                    (self.node, self.api) = Node::listening(&self.it, &["serve"], "Serving the API.").await?;
                }
                step => script = format!("{script}{step}\n"),
            }
        }
        printed += &self.bash(&script).await.context(name.to_owned())?;
        Ok(printed)
    }

    async fn bash(&self, script: &str) -> Result<String> {
        let path = format!("{}:{}", self.it.path().join("bin").display(), std::env::var("PATH")?);
        let mut bash = Command::new("bash");
        bash.args(["-euc", script]).current_dir(self.it.path()).kill_on_drop(true);
        let output = bash.env_clear().env("PATH", path).env("HOME", self.it.path()).output().await?;
        let ended = Ended::of(&output);
        ensure!(ended.code == Some(0), "{script}{ended:?}; scripts/install-servers.sh installs the programs");
        Ok(ended.out)
    }

    async fn ask(&self, user: Option<&User>, document: &str) -> Result<Value> {
        let answer = self.api.query(user.map(|user| user.token.as_str()), document).await?;
        ensure!(answer.get("errors").is_none(), "{document}: {answer}");
        Ok(answer["data"].clone())
    }

    async fn register(&self, handle: &str) -> Result<User> {
        let input = format!(r#"{{ handle: "{handle}", name: "{handle}", password: "correct horse battery" }}"#);
        let asked = format!("mutation {{ registerUser(input: {input}) {{ user {{ id }} token }} }}");
        let data = self.ask(None, &asked).await?;
        let text = |it: &Value| it.as_str().map(str::to_owned).with_context(|| data.to_string());
        Ok(User { id: text(&data["registerUser"]["user"]["id"])?, token: text(&data["registerUser"]["token"])? })
    }

    /// Returns the content's id.
    async fn publish(&self, author: &User, text: &str) -> Result<String> {
        let asked = format!(
            r#"mutation {{ publishContent(input: {{ text: "{text}" }}) {{ timelineEdge {{ node {{ id }} }} }} }}"#
        );
        let data = self.ask(Some(author), &asked).await?;
        let id = data["publishContent"]["timelineEdge"]["node"]["id"].as_str();
        id.map(str::to_owned).with_context(|| data.to_string())
    }

    async fn follow(&self, reader: &User, author: &User, mutation: &str) -> Result<()> {
        let id = &author.id;
        let asked = format!(r#"mutation {{ {mutation}(input: {{ userId: "{id}" }}) {{ userErrors {{ code }} }} }}"#);
        self.ask(Some(reader), &asked).await.map(drop)
    }

    /// The newest page, as the texts of its contents: exactly these.
    async fn shows(&self, reader: &User, due: &[&str]) -> Result<()> {
        let data = self.ask(Some(reader), "{ timeline(first: 50) { edges { node { text } } } }").await?;
        let edges = data["timeline"]["edges"].as_array().with_context(|| data.to_string())?;
        let texts: Vec<&str> = edges.iter().filter_map(|edge| edge["node"]["text"].as_str()).collect();
        ensure!(texts == due, "{texts:?} in place of {due:?}");
        Ok(())
    }

    /// Waits until nothing is left to deliver, while the reader's pages are these; then they still are.
    async fn settles(&self, database: &str, reader: &User, due: &[&str]) -> Result<()> {
        let database = connect_sql(database).await?;
        until("all is delivered", async || {
            self.shows(reader, due).await?;
            let left = "SELECT (SELECT COUNT(*) FROM deliveries) + (SELECT COUNT(*) FROM relations)";
            Ok(numbers(&database, left).await? == [0])
        })
        .await?;
        database.close().await?;
        self.shows(reader, due).await
    }
}

/// What a drill is run on.
struct Place {
    /// What the examples are called.
    kind: &'static str,
    configuration: String,
    /// `~/.my.cnf`.
    clients: String,
    /// Of the database in production, and of the restored one once it is put back, for the test's own questions.
    databases: [String; 2],
    /// Address and prefix of the Redis with the inboxes.
    redis: Option<(String, String)>,
}

/// On the shared MariaDB, with what its programs read.
async fn on_mariadb() -> Result<Place> {
    let server = servers::shared(Kind::MariaDb).await?;
    let url = server.url();
    let root = connect_sql(&url).await?;
    execute(&root, "CREATE DATABASE tidefeed CHARACTER SET utf8mb4").await?;
    root.close().await?;
    let keys = servers::fresh_keys().await?;
    let port = server.port();
    let clients = format!("[client]\nhost = 127.0.0.1\nport = {port}\nprotocol = tcp\nuser = root\n");
    let configuration = format!(
        "[store]\nurl = \"{url}tidefeed\"\n[redis]\nurls = [\"{}\"]\nprefix = \"{}\"\ncommand_timeout_ms = 20000\n\
         [inbox]\nstore = \"redis\"\n[auth]\nsecret = \"a secret of the tests, and of nobody else\"\n",
        keys.url, keys.prefix
    );
    let databases = ["tidefeed", "tidefeed_restored"].map(|name| format!("{url}{name}"));
    Ok(Place { kind: "server", configuration, clients, databases, redis: Some((keys.url, keys.prefix)) })
}

/// The folder is known once the node runs.
fn on_sqlite() -> Place {
    Place {
        kind: "sqlite",
        configuration: String::new(),
        clients: String::new(),
        databases: [String::new(), String::new()],
        redis: None,
    }
}

/// Every key that holds an inbox, with its bytes.
async fn inboxes(redis: &(String, String)) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut connection = connect_redis(&redis.0).await?;
    let mut found = Vec::new();
    let keys: Vec<Vec<u8>> = connection.keys(format!("{}*inbox*", redis.1)).await?;
    for key in keys {
        if let Some(bytes) = cmd("DUMP").arg(&key).query_async::<Option<Vec<u8>>>(&mut connection).await? {
            found.push((key, bytes));
        }
    }
    Ok(found)
}

async fn set_back(redis: &(String, String), inboxes: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
    let mut connection = connect_redis(&redis.0).await?;
    for (key, bytes) in inboxes {
        let restore = cmd("RESTORE").arg(key).arg(0).arg(bytes.as_slice()).arg("REPLACE").to_owned();
        restore.query_async::<()>(&mut connection).await?;
    }
    Ok(())
}

on_each_backend! {
    on sqlite, mariadb;
    /// With Redis, its inboxes are set back too, to before the backup, as with a machine's snapshot: what the backup
    /// believes of them is no longer so.
    async fn the_drill_of_the_documentation_gives_exact_pages(backend: Backend) -> Result<()> {
        let mut place = if backend == Backend::Sqlite { on_sqlite() } else { on_mariadb().await? };
        let mut it = Production::start(&place).await?;
        if backend == Backend::Sqlite {
            let url = format!("sqlite://{}", it.it.path().join("data/tidefeed.db").display());
            place.databases = [url.clone(), url];
        }
        let [ann, bob, cat] = [it.register("ann").await?, it.register("bob").await?, it.register("cat").await?];
        for (reader, author) in [(&ann, &bob), (&ann, &cat), (&bob, &cat)] {
            it.follow(reader, author, "followUser").await?;
        }
        let first = it.publish(&bob, "1").await?;
        it.publish(&bob, "2").await?;
        it.publish(&cat, "3").await?;
        it.settles(&place.databases[0], &ann, &["3", "2", "1"]).await?;
        if place.redis.is_some() {
            let database = connect_sql(&place.databases[0]).await?;
            until("the inbox is in Redis", async || {
                it.shows(&ann, &["3", "2", "1"]).await?;
                Ok(numbers(&database, "SELECT COUNT(*) FROM inbox_states WHERE tier = 1 AND basis IS NOT NULL").await? != [0])
            })
            .await?;
            database.close().await?;
        }
        let early = match &place.redis {
            Some(redis) => inboxes(redis).await?,
            None => Vec::new(),
        };
        ensure!(early.is_empty() == place.redis.is_none(), "no inbox is in Redis");
        it.publish(&bob, "4").await?;
        it.settles(&place.databases[0], &ann, &["4", "3", "2", "1"]).await?;
        it.run(&format!("{}-backup", place.kind)).await?;

        let deleted = format!(r#"mutation {{ deleteContent(input: {{ contentId: "{first}" }}) {{ userErrors {{ code }} }} }}"#);
        it.ask(Some(&bob), &deleted).await?;
        it.publish(&bob, "lost").await?;
        it.publish(&cat, "lost, too").await?;
        it.follow(&ann, &cat, "unfollowUser").await?;
        it.settles(&place.databases[0], &ann, &["lost", "4", "2"]).await?;
        let said = it.run(&format!("{}-restore", place.kind)).await?;
        ensure!(said.ends_with("This backup would serve exact pages.\n"), "{said}");
        ensure!(said.contains("ok   contents: 4, and 3 users with 3 follows; the newest content is "), "{said}");
        ensure!(said.contains("warn inboxes") == place.redis.is_some(), "{said}");
        it.shows(&ann, &["lost", "4", "2"]).await?;

        if let Some(redis) = &place.redis {
            set_back(redis, &early).await?;
        }
        it.run(&format!("{}-put-back", place.kind)).await?;
        it.shows(&ann, &["4", "3", "2", "1"]).await?;
        it.publish(&bob, "5").await?;
        it.publish(&cat, "6").await?;
        it.settles(&place.databases[1], &ann, &["6", "5", "4", "3", "2", "1"]).await?;
        let audited = it.it.done(&["audit"]).await?;
        ensure!(audited.contains(": 0 timelines wrong") && audited.contains(": 0 counters wrong"), "{audited}");
        Ok(())
    }
}

/// Twenty users are seeded, and the demo user.
#[tokio::test]
async fn a_backup_that_is_not_whole_is_told_what_it_lacks() -> Result<()> {
    let it = CommandLine::embedded()?;
    let nothing = it.run(&["backup", "check"]).await?;
    ensure!(nothing.code == Some(1) && nothing.err.contains("There is no file data/tidefeed.db"), "{nothing:?}");
    ensure!(!it.path().join("data").exists(), "it makes nothing");
    let url = format!("sqlite://{}", it.path().join("data/tidefeed.db").display());
    std::fs::create_dir(it.path().join("data"))?;
    let past = connect_sql(&format!("{url}?mode=rwc")).await?;
    let empty = it.run(&["backup", "check"]).await?;
    ensure!(empty.code == Some(1) && empty.out.contains("FAIL tables: "), "{empty:?}");
    ensure!(empty.out.ends_with("This backup cannot be used as it is.\n"), "{empty:?}");
    it.done(&["migrate"]).await?;
    it.done(&["seed", "--users", "20", "--contents-per-user", "6"]).await?;
    let well = it.done(&["backup", "check"]).await?;
    for said in
        ["warn secret", "ok   file", "ok   rows", "and 21 users with", "0 timelines wrong", "would serve exact pages"]
    {
        ensure!(well.contains(said), "{said}: {well}");
    }
    ensure!(it.done(&["backup", "check", "--limit", "1"]).await?.ends_with("that were compared are exact.\n"));
    let reader = numbers(&past, "SELECT MIN(follower_id) FROM follows WHERE author_id <> follower_id").await?[0];
    execute(&past, &format!("UPDATE follows SET mode = 2 WHERE follower_id = {reader}")).await?;
    execute(&past, &format!("UPDATE inbox_states SET floor_time = 1, floor_content = 1 WHERE user_id = {reader}"))
        .await?;
    let torn = it.run(&["backup", "check"]).await?;
    ensure!(
        torn.code == Some(1) && torn.out.contains("WRONG reader") && torn.out.contains("is not of one moment"),
        "{torn:?}"
    );
    execute(&past, "DELETE FROM users WHERE id = (SELECT MAX(author_id) FROM contents)").await?;
    let cut = it.run(&["backup", "check"]).await?;
    ensure!(cut.code == Some(1) && cut.out.contains("contents without their author"), "{cut:?}");
    past.close().await?;
    Ok(())
}
