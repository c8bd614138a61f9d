//! The product beside the clients: it loads files by processes that are killed and run again, renames its users through
//! a service, and revokes the service's key. What it did stands in the clients' history.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering::Relaxed},
};
use std::time::Duration;

use ::import::{time::rfc3339, write::HEADER};
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use tidefeed::{
    clock::{Clock as _, SystemClock},
    domain::Position,
    rng::SharedRng,
};
use tokio::time::{Instant, sleep};

use crate::api::{Answer, content_number};
use crate::binary::{CommandLine, Ended};
use crate::clients::{Clients, IMPORTED, USERS, below};
use crate::deployment::{Deployment, REVOCATION};
use crate::history::{Act, Content, Relation, Span, User};
use crate::servers::{connect_sql, numbers};

/// Contents of each imported author in a file. The oldest beyond [`KEPT`] go with it.
const NEW: usize = 5;
const KEPT: usize = 3;
/// Follows in a file.
const FOLLOWS: usize = 6;
/// How old imported contents are at most: so that they come between those of the clients.
const OLDEST_MS: i64 = 120_000;
/// Names of a cycle.
const RENAMES: usize = 3;
/// How long anything is tried; a load, since it last went on.
const PATIENCE: Duration = Duration::from_mins(5);
const PAUSE: Duration = Duration::from_millis(200);
/// How often it is looked how far a load has come.
const LOOK_EVERY: Duration = Duration::from_millis(30);
const THROUGH_LINE: &str = "SELECT through_line FROM imports WHERE state = 1";

const UPSERT: &str = "mutation($users: [UpsertUserInput!]!) { upsertUsers(input: { users: $users }) \
                      { results { outcome userErrors { code } } } }";
const REBIND: &str = "mutation($user: ID!, $id: String!) { rebindExternalId(input: { userId: $user, externalId: $id }) \
                      { user { id } userErrors { code } } }";

/// What the product has done, for the table.
#[derive(Debug, Default)]
pub struct Done {
    pub files: AtomicU64,
    pub lines: AtomicU64,
    pub killed: AtomicU64,
    /// Loads that went on in the middle of a file.
    pub went_on: AtomicU64,
    pub renamed: AtomicU64,
    pub revoked: AtomicU64,
}

pub struct Product {
    it: CommandLine,
    /// Where the database is, past the bad lines.
    database: String,
    /// It calls the first nodes: those that know all of its calls.
    nodes: usize,
    pub done: Done,
    /// By imported author, oldest file first: what is there of theirs.
    contents: Mutex<Vec<VecDeque<(String, Position)>>>,
    next: AtomicU64,
}

/// A file, and what each kind of its lines means.
struct File {
    text: String,
    /// Author, external id, publish time.
    contents: Vec<(User, String, i64)>,
    follows: Vec<(User, User)>,
    gone: Vec<(User, Position)>,
}

impl Product {
    /// Brings its users with their first contents, and gives the clients' users ids of its own. Nothing fails yet.
    pub async fn enter(deployment: &Deployment, clients: &mut Clients, rng: &SharedRng) -> Result<Self> {
        let (it, database) = (deployment.beside_nodes()?, deployment.database_url().to_owned());
        let contents = Mutex::new(vec![VecDeque::new(); IMPORTED]);
        let nodes = deployment.nodes_of_this_version();
        let product = Self { it, database, nodes, done: Done::default(), contents, next: AtomicU64::default() };
        let mut text = format!("{HEADER}\n");
        for user in USERS..USERS + IMPORTED {
            let id = external_id(user);
            writeln!(text, r#"{{"type":"user","data":{{"externalId":"{id}","name":"{id}"}}}}"#)?;
        }
        std::fs::write(product.it.path().join("users.ndjson"), text)?;
        product.it.done(&["import", "load", "users.ndjson"]).await?;
        let (_, reader) = product.key("act_as,read").await?;
        clients.api.act_with(reader, nodes);
        for user in USERS..USERS + IMPORTED {
            clients.adopt(&external_id(user)).await?;
        }
        let (_, key) = product.key("users").await?;
        for user in 0..USERS {
            let variables = json!({ "user": clients.api.id(user), "id": external_id(user) });
            let given = clients.api.call_with_key(0, &key, REBIND, variables).await?;
            let Some(Answer::Done(given)) = given else { bail!("user {user} has no id") };
            ensure!(given["rebindExternalId"]["user"].is_object(), "{given}");
        }
        product.load(0, clients, rng).await?;
        Ok(product)
    }

    /// Loads a file while a key is made, used and revoked.
    pub async fn act(&self, clients: &Clients, rng: &SharedRng) -> Result<()> {
        let (name, key) = self.key("users").await?;
        let kills = 1 + below(rng, 2);
        tokio::try_join!(self.load(kills, clients, rng), self.use_and_revoke((&name, &key), clients, rng))?;
        Ok(())
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Relaxed)
    }

    fn contents(&self) -> MutexGuard<'_, Vec<VecDeque<(String, Position)>>> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills the process so often, and runs it until it has ended with 0. Then everything is there; until then,
    /// each line may be.
    async fn load(&self, mut kills: usize, clients: &Clients, rng: &SharedRng) -> Result<()> {
        let number = self.number();
        let (file, name) = (self.file(number, rng)?, format!("{number}.ndjson"));
        std::fs::write(self.it.path().join(&name), &file.text)?;
        let (mut tries, begin) = (Tries::begin(), clients.now());
        let (lines, mut line, mut loaded) = (file.text.lines().count(), 0, 0);
        loop {
            let run = self.it.command(&["import", "load", &name, "--batch", "1"]).output();
            line += 1 + below(rng, lines.saturating_sub(line));
            let output = tokio::select! {
                output = run => output,
                // Its process is killed with the future that waits for it.
                () = self.until_line(line), if kills > 0 && line < lines => {
                    self.done.killed.fetch_add(1, Relaxed);
                    kills -= 1;
                    continue;
                }
            };
            let ended = Ended::of(&output?);
            if let Some(line) = goes_on_after(&ended) {
                self.done.went_on.fetch_add(1, Relaxed);
                if line > loaded {
                    (tries, loaded) = (Tries::begin(), line);
                }
            }
            let not_loaded = || format!("{name} is loaded up to line {loaded} of {lines}: {ended:?}");
            match ended.code {
                Some(0) => break,
                // Some store is away.
                Some(1) => tries.again().await.with_context(not_loaded)?,
                _ => bail!(not_loaded()),
            }
        }
        self.done.files.fetch_add(1, Relaxed);
        self.done.lines.fetch_add(lines as u64, Relaxed);
        self.note(file, Span { begin, end: clients.now() }, clients, rng).await
    }

    /// Waits until the load has come to this line, past the bad lines.
    async fn until_line(&self, line: usize) {
        loop {
            if let Ok(database) = connect_sql(&self.database).await {
                while let Ok(lines) = numbers(&database, THROUGH_LINE).await {
                    if lines.iter().any(|it| usize::try_from(*it).is_ok_and(|it| it >= line)) {
                        return;
                    }
                    sleep(LOOK_EVERY).await;
                }
            }
            sleep(PAUSE).await;
        }
    }

    /// Some contents of the past, some follows and likes, and the end of what is old.
    fn file(&self, number: u64, rng: &SharedRng) -> Result<File> {
        let (mut text, mut contents, mut follows) = (format!("{HEADER}\n"), Vec::new(), Vec::new());
        for author in USERS..USERS + IMPORTED {
            for content in 0..NEW {
                let id = format!("{number}-{author}-{content}");
                let time = SystemClock.now_ms() - i64::from(rng.u32()) % OLDEST_MS;
                let (of, at) = (external_id(author), rfc3339(time));
                writeln!(
                    text,
                    r#"{{"type":"content","data":{{"externalId":"{id}","author":"{of}","text":"{id}","createdAt":"{at}"}}}}"#
                )?;
                contents.push((author, id, time));
            }
        }
        while follows.len() < FOLLOWS {
            let (one, other) = (below(rng, USERS + IMPORTED), USERS + below(rng, IMPORTED));
            let (reader, author) = if below(rng, 2) == 0 { (one, other) } else { (other, one) };
            if reader != author {
                let ids = [reader, author].map(external_id);
                writeln!(text, r#"{{"type":"follow","data":{{"follower":"{}","author":"{}"}}}}"#, ids[0], ids[1])?;
                follows.push((reader, author));
            }
        }
        for (_, id, _) in &contents {
            let user = external_id(below(rng, USERS + IMPORTED));
            writeln!(text, r#"{{"type":"reaction","data":{{"user":"{user}","content":"{id}","kind":"LIKE"}}}}"#)?;
        }
        let mut gone = Vec::new();
        for (number, known) in self.contents().iter_mut().enumerate() {
            while known.len() > KEPT {
                let Some((id, position)) = known.pop_front() else { break };
                writeln!(text, r#"{{"type":"tombstone","data":{{"content":"{id}"}}}}"#)?;
                gone.push((USERS + number, position));
            }
        }
        Ok(File { text, contents, follows, gone })
    }

    /// All of a file is there.
    async fn note(&self, file: File, span: Span, clients: &Clients, rng: &SharedRng) -> Result<()> {
        let mut asked = String::from("{");
        for (index, (_, id, _)) in file.contents.iter().enumerate() {
            write!(asked, r#" c{index}: contentByExternalId(externalId: "{id}") {{ id }}"#)?;
        }
        asked.push('}');
        let tries = Tries::begin();
        let data = loop {
            let node = below(rng, self.nodes);
            if let Answer::Done(data) = clients.api.call(node, Some(0), &asked, Value::Null).await? {
                break data;
            }
            tries.again().await?;
        };
        let act = Act { span, certain: true };
        let (mut history, mut known) = (clients.history(), self.contents());
        for (index, (author, text, time)) in file.contents.into_iter().enumerate() {
            let id = data[format!("c{index}")]["id"].as_str();
            let id = id.with_context(|| format!("{text} was loaded, and is not there: {data}"))?;
            let position = Position::bound(time, content_number(id)?);
            known[author - USERS].push_back((text.clone(), position));
            history.published(author, position, Content { published: span, text, original: None, deletes: Vec::new() });
        }
        for pair in file.follows {
            history.switch(pair, Relation::Follow).on.push(act);
        }
        for (author, position) in file.gone {
            history.deleted(author, position, act);
        }
        Ok(())
    }

    /// Once it is revoked for [`REVOCATION`], no node takes it. Before that, any may.
    async fn use_and_revoke(&self, (name, key): (&str, &str), clients: &Clients, rng: &SharedRng) -> Result<()> {
        for _ in 0..RENAMES {
            self.rename(key, clients, rng).await?;
            sleep(PAUSE).await;
        }
        let tries = Tries::begin();
        loop {
            let ended = self.it.run(&["service", "revoke", name]).await?;
            // The first try may have done it without knowing.
            if ended.code == Some(0) || ended.err.contains("there is no key of") {
                break;
            }
            tries.again().await?;
        }
        self.done.revoked.fetch_add(1, Relaxed);
        sleep(REVOCATION).await;
        for node in 0..self.nodes {
            let tries = Tries::begin();
            while let Some(answer) = self.upsert((node, key), (USERS, "revoked"), SystemClock.now_ms(), clients).await?
            {
                ensure!(matches!(answer, Answer::Unknown), "node {node} takes the key of {name}, which is revoked");
                tries.again().await?;
            }
        }
        Ok(())
    }

    async fn rename(&self, key: &str, clients: &Clients, rng: &SharedRng) -> Result<()> {
        let (user, name) = (USERS + below(rng, IMPORTED), format!("name {}", self.number()));
        let (begin, as_of_ms) = (clients.now(), SystemClock.now_ms());
        let tries = Tries::begin();
        let data = loop {
            let node = below(rng, self.nodes);
            match self.upsert((node, key), (user, &name), as_of_ms, clients).await? {
                Some(Answer::Done(data)) => break data,
                Some(Answer::Unknown) => tries.again().await?,
                None => bail!("node {node} refuses a key that is good"),
            }
        };
        let result = &data["upsertUsers"]["results"][0];
        ensure!(result["userErrors"] == json!([]) && result["outcome"] != "CREATED", "{data}");
        self.done.renamed.fetch_add(1, Relaxed);
        clients.history().renamed(user, name, Span { begin, end: clients.now() });
        Ok(())
    }

    /// Because it says of when the name is, a request that is late undoes nothing.
    async fn upsert(
        &self,
        (node, key): (usize, &str),
        (user, name): (User, &str),
        as_of_ms: i64,
        clients: &Clients,
    ) -> Result<Option<Answer<Value>>> {
        let users = json!([{ "externalId": external_id(user), "name": name, "asOf": rfc3339(as_of_ms) }]);
        let answer = clients.api.call_with_key(node, key, UPSERT, json!({ "users": users })).await?;
        clients.counts.operations.fetch_add(1, Relaxed);
        if matches!(answer, Some(Answer::Unknown)) {
            clients.counts.unknown.fetch_add(1, Relaxed);
        }
        Ok(answer)
    }

    /// A new key, and whose it is. A service whose key was made without an answer is left.
    async fn key(&self, scopes: &str) -> Result<(String, String)> {
        let tries = Tries::begin();
        loop {
            let name = format!("backend{}", self.number());
            let ended = self.it.run(&["service", "add", &name, "--scope", scopes]).await?;
            if ended.code == Some(0) {
                return Ok((name, ended.out.trim().to_owned()));
            }
            tries.again().await?;
        }
    }
}

/// What the product calls a user.
fn external_id(user: User) -> String {
    format!("u{user}")
}

/// The line after which this load went on, if an earlier one had begun.
fn goes_on_after(load: &Ended) -> Option<usize> {
    let (_, rest) = load.err.split_once(" goes on after line ")?;
    rest.split(' ').next()?.parse().ok()
}

/// Tries of something that fails while faults happen.
struct Tries {
    began: Instant,
}

impl Tries {
    fn begin() -> Self {
        Self { began: Instant::now() }
    }

    /// Waits until the next one.
    async fn again(&self) -> Result<()> {
        ensure!(self.began.elapsed() < PATIENCE, "the product waits in vain");
        sleep(PAUSE).await;
        Ok(())
    }
}
