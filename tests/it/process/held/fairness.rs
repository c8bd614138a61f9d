//! Floods nodes in each way that their clients can, beside an honest client, and counts how often that one is served.
//! No time is asserted. The nodes have little memory, live, and give back what a flood took. `make soak` does it on
//! MariaDB with Redis, too, with one node and with two. With `--nocapture` it prints each count, and the memory of
//! each node in MiB: before, at most, afterwards.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicUsize, Ordering},
};

use futures_util::{SinkExt as _, StreamExt as _, future::join_all};
use tidefeed::domain::limits::MAX_TEXT_CHARS;
use tokio::sync::Mutex;
use tokio_tungstenite::tungstenite::Message;

use super::{
    fleet::{Fleet, Nodes, in_words},
    *,
};

const JSON: &str = "application/json";
/// Where the flood comes from, and where the honest client is.
const FLOOD: &str = "192.0.2.1";
const HONEST: &str = "198.51.100.1";
/// Connections of a flood.
const CONNECTIONS: usize = 96;
/// Bytes of each body that is never finished.
const BODY_BYTES: usize = 60_000;
/// Accounts of a flood.
const ACCOUNTS: usize = 20;
/// The honest client asks so often, and has to be served so often.
const ASKED: usize = 10;
const SERVED: usize = 9;

/// Little room, so that few connections are a flood, but some for each account; and much patience, so that no machine
/// is too slow.
const SETTINGS: &str = "request_timeout_ms = 120000\n[admission]\nqueries = 4\nqueries_waiting = 24\nmutations = 4\n\
                        mutations_waiting = 24\nqueries_wait_ms = 60000\nmutations_wait_ms = 60000";

const PAGE: &str = "{ timeline(first: 5) { edges { node { id text } } } }";
const CHANGE: &str = r#"mutation { publishContent(input: { text: "A few words." }) { userErrors { code } } }"#;

fn sign_in(handle: &str) -> String {
    let input = format!(r#"{{ handle: "{handle}", password: "{PASSWORD}" }}"#);
    format!("mutation {{ signIn(input: {input}) {{ token userErrors {{ code }} }} }}")
}

/// Nodes, and who floods them: nobody in particular, or accounts.
struct Scene {
    nodes: Nodes,
    fleet: Fleet,
    tokens: Vec<String>,
    sent: AtomicUsize,
    /// The rows of acts that were served too seldom.
    refused: Mutex<String>,
}

/// Whether a flood signs in first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Nobody,
    Accounts,
}

/// What the honest client does.
enum Act<'a> {
    /// Sends an operation, with a token or without.
    Post(Option<&'a str>, &'a str),
    /// Opens a path.
    Get(&'a str),
    /// Opens a socket with a token, and reads a page over it.
    Socket(&'a str),
}

impl Act<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Post(_, query) => query,
            Self::Get(_) => "an export",
            Self::Socket(_) => "a page over a socket",
        }
    }
}

/// Headers of a client at `address` with this token.
fn accepting(token: Option<&str>) -> String {
    token.map_or_else(|| JSON.to_owned(), |token| format!("{JSON}\r\nauthorization: Bearer {token}"))
}

impl Scene {
    async fn new(nodes: Nodes, settings: &str) -> Result<Self> {
        let fleet = Fleet::start(nodes, settings).await?;
        let mut tokens = Vec::new();
        for number in 0..ACCOUNTS {
            tokens.push(register(&fleet.served.peer, &format!("eve{number}")).await?);
        }
        Ok(Self { nodes, fleet, tokens, sent: AtomicUsize::new(0), refused: Mutex::default() })
    }

    fn token(&self, who: Who, place: usize) -> Option<&str> {
        (who == Who::Accounts).then(|| self.tokens[place % ACCOUNTS].as_str())
    }

    /// Repeats an operation over one connection, for ever and at once.
    async fn repeat(&self, place: usize, token: Option<&str>, query: &str) -> Result<()> {
        loop {
            let mut line = Line::to(self.fleet.peer(place)).await?;
            loop {
                line.ask(FLOOD, &accepting(token), query).await;
                self.sent.fetch_add(1, Ordering::Relaxed);
                if line.answer().await.is_err() {
                    break;
                }
            }
        }
    }

    /// Floods over all connections while the honest client at `address` does each of `acts` again and again.
    async fn stands<F: Future<Output = Result<()>>>(
        &self,
        (what, who): (&str, Who),
        acts: &[Act<'_>],
        address: &str,
        flood: impl Fn(usize) -> F,
    ) -> Result<()> {
        self.sent.store(0, Ordering::Relaxed);
        let before = self.fleet.begin_flood()?;
        let flooding = join_all((0..CONNECTIONS).map(flood));
        let honest = async {
            until("the flood has begun", async || Ok(self.sent.load(Ordering::Relaxed) >= CONNECTIONS)).await?;
            let mut counts = vec![0; acts.len()];
            for place in 0..ASKED {
                for (act, count) in acts.iter().zip(&mut counts) {
                    *count += usize::from(self.serves(self.fleet.peer(place), address, act).await?);
                }
            }
            for (act, count) in acts.iter().zip(counts) {
                let row = format!("| {:?} | {what} by {who:?} | {} | {count} of {ASKED} |", self.nodes, act.name());
                print(&row);
                if count < SERVED {
                    writeln!(self.refused.lock().await, "{row}")?;
                }
            }
            Ok(())
        };
        tokio::select! {
            ended = honest => ended,
            ended = flooding => Err(anyhow!("the flood has ended: {ended:?}")),
        }?;
        let peak = self.fleet.peak()?;
        let back = self.fleet.is_back_within(&before).await;
        let row = format!(
            "| {:?} | {what} by {who:?} | memory | {} | {} | {} |",
            self.nodes,
            in_words(&before),
            in_words(&peak),
            in_words(&self.fleet.memory()?)
        );
        print(&row);
        if let Err(error) = back {
            writeln!(self.refused.lock().await, "{row} {error:#}")?;
        }
        Ok(())
    }

    /// Fails if the honest client was shut out of anything, or if memory was kept.
    async fn verdict(&self) -> Result<()> {
        let refused = self.refused.lock().await;
        ensure!(refused.is_empty(), "the honest client was shut out, or memory was kept:\n{refused}");
        Ok(())
    }

    /// Whether the node does what the client at `address` asks for.
    async fn serves(&self, peer: &Peer, address: &str, act: &Act<'_>) -> Result<bool> {
        match act {
            Act::Post(token, query) => answers(peer, address, *token, query).await,
            Act::Get(path) => Ok(peer.get(path).await?.0 == 200),
            Act::Socket(token) => Ok(answers_over_socket(peer, address, token).await.is_ok()),
        }
    }

    /// Opens sockets for ever, and sends operations over each as fast as they are answered.
    async fn converse(&self, place: usize, token: Option<&str>, queries: &[&str]) -> Result<()> {
        let init = token.map_or_else(|| json!({}), |token| json!({ "authorization": format!("Bearer {token}") }));
        loop {
            let Ok(mut socket) = sockets::socket(self.fleet.peer(place), FLOOD, init.clone()).await else { continue };
            let mut id = 0_usize;
            for query in queries.iter().cycle() {
                id += 1;
                if socket.send(subscribe(&id.to_string(), query)).await.is_err() {
                    break;
                }
                self.sent.fetch_add(1, Ordering::Relaxed);
                if !query.starts_with("subscription") && !matches!(socket.next().await, Some(Ok(Message::Text(_)))) {
                    break;
                }
            }
        }
    }

    /// Begins bodies for ever, and never ends one.
    async fn begin_bodies(&self, place: usize, address: &str, token: Option<&str>) -> Result<()> {
        loop {
            let mut line = Line::to(self.fleet.peer(place)).await?;
            line.post((address, &accepting(token)), BODY_BYTES, &vec![b' '; BODY_BYTES - 1]).await;
            self.sent.fetch_add(1, Ordering::Relaxed);
            let _ = line.answer().await;
        }
    }

    /// The path of a link to an export.
    async fn export_link(&self, token: &str) -> Result<String> {
        let answer = self.fleet.served.peer.query(Some(token), "mutation { exportViewer { url } }").await?;
        let url = answer["data"]["exportViewer"]["url"].as_str().with_context(|| answer.to_string())?;
        Ok(url.trim_start_matches('/').to_owned())
    }

    /// Opens a link for ever.
    async fn export(&self, place: usize, path: &str) -> Result<()> {
        loop {
            let Line(mut stream) = Line::to(self.fleet.peer(place)).await?;
            let head =
                format!("GET /{path} HTTP/1.1\r\nhost: a\r\nx-forwarded-for: {FLOOD}\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all(head.as_bytes()).await;
            self.sent.fetch_add(1, Ordering::Relaxed);
            let _ = stream.read_to_end(&mut Vec::new()).await;
        }
    }
}

async fn answers(peer: &Peer, address: &str, token: Option<&str>, query: &str) -> Result<bool> {
    let mut line = Line::to(peer).await?;
    line.ask(address, &accepting(token), query).await;
    let Answer { status, body, .. } = line.answer().await?;
    let field = body["data"].as_object().and_then(|data| data.values().next()).unwrap_or(&Value::Null);
    let refusals = field["userErrors"].as_array().map_or(0, Vec::len);
    Ok(status == 200 && body["errors"].is_null() && !field.is_null() && refusals == 0)
}

async fn answers_over_socket(peer: &Peer, address: &str, token: &str) -> Result<()> {
    let init = json!({ "authorization": format!("Bearer {token}") });
    let mut socket = sockets::socket(peer, address, init).await?;
    socket.send(subscribe("1", PAGE)).await?;
    let answer = sockets::next_message(&mut socket).await?.into_text()?;
    ensure!(answer.contains("edges"), "{answer}");
    Ok(())
}

fn subscribe(id: &str, query: &str) -> Message {
    Message::text(json!({ "type": "subscribe", "id": id, "payload": { "query": query } }).to_string())
}

async fn operations(nodes: Nodes) -> Result<()> {
    let scene = Scene::new(nodes, SETTINGS).await?;
    let ann = Some(scene.fleet.served.token.as_str());
    register(&scene.fleet.served.peer, "bob").await?;
    let welcome = sign_in("bob");
    let acts = [Act::Post(ann, PAGE), Act::Post(ann, CHANGE), Act::Post(None, &welcome)];
    let failing = sign_in("nobody");
    for (what, who, query) in [
        ("queries", Who::Nobody, r#"{ user(handle: "ann") { contents(first: 100) { edges { node { text } } } } }"#),
        ("queries", Who::Accounts, PAGE),
        ("changes", Who::Nobody, r#"mutation { refreshToken(input: { refreshToken: "none" }) { token } }"#),
        ("changes", Who::Accounts, CHANGE),
        ("sign-ins", Who::Nobody, &failing),
        ("sign-ins", Who::Accounts, &failing),
    ] {
        let flood = |place| scene.repeat(place, scene.token(who, place), query);
        scene.stands((what, who), &acts, HONEST, flood).await?;
    }
    scene.verdict().await
}

/// Who is signed in counts as a viewer, not as the address that they share with others.
async fn own_address(nodes: Nodes) -> Result<()> {
    let scene = Scene::new(nodes, SETTINGS).await?;
    let ann = Some(scene.fleet.served.token.as_str());
    let (acts, failing) = ([Act::Post(ann, PAGE), Act::Post(ann, CHANGE)], sign_in("nobody"));
    for (what, query) in [("queries", r#"{ user(handle: "ann") { id } }"#), ("sign-ins", failing.as_str())] {
        let flood = |place| scene.repeat(place, None, query);
        scene.stands((what, Who::Nobody), &acts, FLOOD, flood).await?;
    }
    scene.verdict().await
}

async fn over_sockets(nodes: Nodes) -> Result<()> {
    let scene = Scene::new(nodes, SETTINGS).await?;
    let token = scene.fleet.served.token.as_str();
    let acts = [Act::Post(Some(token), PAGE), Act::Post(Some(token), CHANGE), Act::Socket(token)];
    let user = scene.fleet.served.peer.query(Some(token), "{ viewer { id } }").await?;
    let user = user["data"]["viewer"]["id"].as_str().context("no id")?;
    let [mute, unmute] = ["mute", "unmute"]
        .map(|verb| format!(r#"mutation {{ {verb}User(input: {{ userId: "{user}" }}) {{ userErrors {{ code }} }} }}"#));
    let feed = "subscription { newFeed { __typename } }";
    let watching = [feed, feed, feed, feed, feed, feed, feed, feed, mute.as_str(), unmute.as_str()];
    for (what, who, queries) in [
        ("sockets", Who::Nobody, &[r#"{ user(handle: "ann") { id } }"#][..]),
        ("sockets", Who::Accounts, &[PAGE, CHANGE]),
        ("subscriptions", Who::Accounts, &watching),
    ] {
        let flood = |place| scene.converse(place, scene.token(who, place), queries);
        scene.stands((what, who), &acts, HONEST, flood).await?;
    }
    scene.verdict().await
}

async fn bodies(nodes: Nodes) -> Result<()> {
    let room = "max_incoming_bytes = 800000\nmax_incoming_bytes_per_address = 262144";
    let scene = Scene::new(nodes, &format!("{room}\n{SETTINGS}")).await?;
    let ann = Some(scene.fleet.served.token.as_str());
    let acts = [Act::Post(ann, PAGE), Act::Post(ann, CHANGE)];
    for who in [Who::Nobody, Who::Accounts] {
        let addresses = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"];
        let flood = |place: usize| scene.begin_bodies(place, addresses[place / 2 % 4], scene.token(who, place));
        scene.stands(("bodies", who), &acts, HONEST, flood).await?;
    }
    scene.verdict().await?;
    let cut = scene.fleet.served.peer.metric(r#"tidefeed_held_bytes_refused_total{what="bodies",bound="cut"}"#).await?;
    ensure!(cut.is_some_and(|cut| cut > 0.0), "the room was never full");
    Ok(())
}

async fn exports(nodes: Nodes) -> Result<()> {
    let scene = Scene::new(nodes, SETTINGS).await?;
    let own = scene.export_link(&scene.fleet.served.token).await?;
    let mut links = Vec::new();
    for token in &scene.tokens {
        links.push(scene.export_link(token).await?);
    }
    let flood = |place: usize| scene.export(place, &links[place % ACCOUNTS]);
    let acts = [Act::Get(&own), Act::Post(Some(&scene.fleet.served.token), PAGE)];
    scene.stands(("exports", Who::Accounts), &acts, HONEST, flood).await?;
    scene.verdict().await?;
    let refused = scene.fleet.served.peer.metric(r#"tidefeed_refused_total{bound="exports"}"#).await?;
    ensure!(refused.is_some_and(|refused| refused > 0.0), "no export was refused");
    Ok(())
}

/// Contents as long as they may be, of words that nothing separates: the dearest to index.
async fn long_texts(nodes: Nodes) -> Result<()> {
    let scene = Scene::new(nodes, SETTINGS).await?;
    let ann = Some(scene.fleet.served.token.as_str());
    let search = r#"{ search(text: "words", first: 5) { edges { node { id } } } }"#;
    let acts = [Act::Post(ann, PAGE), Act::Post(ann, CHANGE), Act::Post(ann, search)];
    let characters = (0..MAX_TEXT_CHARS).map(|place| u32::try_from(place * 7_919 % 20_000).map(|it| 0x4e00 + it));
    let text: String = characters.filter_map(|character| char::from_u32(character.ok()?)).collect();
    let publish = CHANGE.replace("A few words.", &text);
    let flood = |place| scene.repeat(place, scene.token(Who::Accounts, place), &publish);
    scene.stands(("long texts", Who::Accounts), &acts, HONEST, flood).await?;
    scene.verdict().await?;
    let refused = scene.fleet.served.peer.metric("tidefeed_long_publishes_refused_total").await?;
    ensure!(refused.is_some_and(|refused| refused > 0.0), "the indexer kept up");
    Ok(())
}

mod slow {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn floods_of_operations_shut_nobody_out() -> Result<()> {
        operations(Nodes::OnSqlite).await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn viewers_are_served_whatever_their_address_floods() -> Result<()> {
        own_address(Nodes::OnSqlite).await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn floods_over_sockets_shut_nobody_out() -> Result<()> {
        over_sockets(Nodes::OnSqlite).await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn unfinished_bodies_shut_nobody_out() -> Result<()> {
        bodies(Nodes::OnSqlite).await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn exports_of_many_accounts_shut_nobody_out() -> Result<()> {
        exports(Nodes::OnSqlite).await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn floods_of_long_texts_shut_nobody_out() -> Result<()> {
        long_texts(Nodes::OnSqlite).await
    }
}

/// On MariaDB with Redis, one node and two.
mod mariadb {
    use super::*;

    async fn on_one_and_two(flood: impl AsyncFn(Nodes) -> Result<()>) -> Result<()> {
        let on_one = flood(Nodes::OnMariaDb(1)).await;
        flood(Nodes::OnMariaDb(2)).await?;
        on_one
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "`make soak` runs it"]
    async fn floods_of_operations_shut_nobody_out() -> Result<()> {
        on_one_and_two(operations).await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "`make soak` runs it"]
    async fn viewers_are_served_whatever_their_address_floods() -> Result<()> {
        on_one_and_two(own_address).await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "`make soak` runs it"]
    async fn floods_over_sockets_shut_nobody_out() -> Result<()> {
        on_one_and_two(over_sockets).await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "`make soak` runs it"]
    async fn unfinished_bodies_shut_nobody_out() -> Result<()> {
        on_one_and_two(bodies).await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "`make soak` runs it"]
    async fn exports_of_many_accounts_shut_nobody_out() -> Result<()> {
        on_one_and_two(exports).await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "`make soak` runs it"]
    async fn floods_of_long_texts_shut_nobody_out() -> Result<()> {
        on_one_and_two(long_texts).await
    }
}
