//! The API as a distant client has it: two addresses, a time limit, and answers that may be missing. Knows GraphQL's
//! texts, judges nothing.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering::Relaxed},
};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use tidefeed::domain::{Direction, Position, timeline::cursor};

use super::history::{Original, Relation, Seen, User};
use crate::binary::process::http_client;

/// Longer than the nodes' own limit for a request: mostly it is the node that gives up.
const LIMIT: Duration = Duration::from_secs(8);

/// How often an account is tried to be made.
const TRIES: usize = 20;

const PUBLISH: &str = "mutation($text: String!, $key: String!) { publishContent(input: { text: $text, idempotencyKey: $key }) \
                       { timelineEdge { cursor } userErrors { code } } }";
const DELETE: &str =
    "mutation($id: ID!) { deleteContent(input: { contentId: $id }) { deletedContentId userErrors { code } } }";
const REPOST: &str =
    "mutation($id: ID!) { repostContent(input: { contentId: $id }) { timelineEdge { cursor } userErrors { code } } }";
const REGISTER: &str = "mutation($handle: String!) { registerUser(input: { handle: $handle, name: $handle, \
                        password: \"correct horse battery\" }) { user { id } token userErrors { code } } }";
const PAGE: &str = "query($first: Int, $after: String, $last: Int, $before: String) { \
                    timeline(first: $first, after: $after, last: $last, before: $before) \
                    { edges { cursor node { text subjectId author { name } } } pageInfo { hasNextPage hasPreviousPage } } }";

/// What a client hears.
#[derive(Debug)]
pub enum Answer<T> {
    /// It is so.
    Done(T),
    /// An error, or nothing: whether a change was made is unknown.
    Unknown,
}

/// A page as it was answered.
#[derive(Debug)]
pub struct Page {
    pub seen: Vec<Seen>,
    pub has_older: bool,
    pub has_newer: bool,
}

/// Which page is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub direction: Direction,
    pub bound: Option<Position>,
    pub size: usize,
}

struct Account {
    id: String,
    /// `None`: the product acts for this user.
    token: Option<String>,
}

/// The nodes, and the accounts of the users who call them.
pub struct Api {
    http: reqwest::Client,
    /// Where each node listens now.
    addresses: Vec<Mutex<String>>,
    accounts: Vec<Account>,
    /// The key with which the product acts for users, and how many of the first nodes know such keys: a former version
    /// need not.
    key: String,
    key_nodes: AtomicUsize,
}

impl Api {
    pub fn new(addresses: Vec<String>) -> Result<Self> {
        let (http, key_nodes) = (http_client(LIMIT)?, AtomicUsize::new(addresses.len()));
        let addresses = addresses.into_iter().map(Mutex::new).collect();
        Ok(Self { http, addresses, accounts: Vec::new(), key: String::new(), key_nodes })
    }

    pub fn nodes(&self) -> usize {
        self.addresses.len()
    }

    /// The node has come back elsewhere.
    pub fn moved(&self, node: usize, address: String) {
        *self.addresses[node].lock().unwrap_or_else(PoisonError::into_inner) = address;
    }

    /// Registers another account, under a new name after each attempt without an answer. Returns the name.
    pub async fn register(&mut self) -> Result<String> {
        let mut answered = None;
        for attempt in 0..TRIES {
            let handle = format!("user{}_{attempt}", self.accounts.len());
            if let Answer::Done(data) = self.call(0, None, REGISTER, json!({ "handle": handle })).await? {
                answered = Some((handle, data));
                break;
            }
        }
        let (handle, data) = answered.with_context(|| format!("user {} cannot be registered", self.accounts.len()))?;
        let registered = &data["registerUser"];
        let text = |value: &Value| value.as_str().map(str::to_owned).with_context(|| data.to_string());
        self.accounts.push(Account { id: text(&registered["user"]["id"])?, token: Some(text(&registered["token"])?) });
        Ok(handle)
    }

    /// The key with which the product acts for users from now on, at the first `nodes`.
    pub fn act_with(&mut self, key: String, nodes: usize) {
        self.key = key;
        self.key_nodes = nodes.into();
    }

    /// Every node is of this version now.
    pub fn all_know_keys(&self) {
        self.key_nodes.store(self.addresses.len(), Relaxed);
    }

    /// Adds the account that the product calls so. It acts for this user.
    pub async fn adopt(&mut self, external_id: &str) -> Result<User> {
        let query = format!(r#"{{ userByExternalId(externalId: "{external_id}") {{ id }} }}"#);
        let Answer::Done(data) = self.call(0, Some(0), &query, Value::Null).await? else {
            bail!("{external_id} is not answered")
        };
        let id = data["userByExternalId"]["id"].as_str().with_context(|| data.to_string())?.to_owned();
        self.accounts.push(Account { id, token: None });
        Ok(self.accounts.len() - 1)
    }

    pub fn id(&self, user: User) -> &str {
        &self.accounts[user].id
    }

    /// Publishes, or learns where what was published with this key stands.
    pub async fn publish(&self, node: usize, author: User, text: &str, key: &str) -> Result<Answer<Position>> {
        let Answer::Done(data) = self.call(node, Some(author), PUBLISH, json!({ "text": text, "key": key })).await?
        else {
            return Ok(Answer::Unknown);
        };
        let cursor = data["publishContent"]["timelineEdge"]["cursor"].as_str().with_context(|| data.to_string())?;
        Ok(Answer::Done(cursor::decode(cursor)?))
    }

    /// Reposts, or learns where the repost stands that is there.
    pub async fn repost(&self, node: usize, user: User, original: Original) -> Result<Answer<Position>> {
        let id = content_id(original.position);
        let Answer::Done(data) = self.call(node, Some(user), REPOST, json!({ "id": id })).await? else {
            return Ok(Answer::Unknown);
        };
        let cursor = data["repostContent"]["timelineEdge"]["cursor"].as_str().with_context(|| data.to_string())?;
        Ok(Answer::Done(cursor::decode(cursor)?))
    }

    /// Also done if there is none any more.
    pub async fn delete(&self, node: usize, author: User, position: Position) -> Result<Answer<()>> {
        let id = content_id(position);
        let Answer::Done(data) = self.call(node, Some(author), DELETE, json!({ "id": id })).await? else {
            return Ok(Answer::Unknown);
        };
        let gone = &data["deleteContent"];
        let was_gone = gone["userErrors"][0]["code"] == "NOT_FOUND";
        ensure!(was_gone || gone["deletedContentId"] == Value::String(id), "{data}");
        Ok(Answer::Done(()))
    }

    /// Makes it so that the relation is, or is not.
    pub async fn set(&self, node: usize, pair: (User, User), relation: Relation, is_on: bool) -> Result<Answer<()>> {
        let (reader, author) = pair;
        let (by, about) = if relation == Relation::Hide { (author, reader) } else { (reader, author) };
        let name = match (relation, is_on) {
            (Relation::Follow, true) => "followUser",
            (Relation::Follow, false) => "unfollowUser",
            (Relation::Mute, true) => "muteUser",
            (Relation::Mute, false) => "unmuteUser",
            (Relation::Hide, true) => "hideFromFollower",
            (Relation::Hide, false) => "unhideFromFollower",
        };
        let query = format!(
            "mutation($id: ID!) {{ {name}(input: {{ userId: $id }}) {{ user {{ id }} userErrors {{ code }} }} }}"
        );
        let id = &self.accounts[about].id;
        let Answer::Done(data) = self.call(node, Some(by), &query, json!({ "id": id })).await? else {
            return Ok(Answer::Unknown);
        };
        ensure!(data[name]["user"]["id"] == Value::String(id.clone()), "{data}");
        Ok(Answer::Done(()))
    }

    pub async fn page(&self, node: usize, reader: User, window: Window) -> Result<Answer<Page>> {
        let bound = window.bound.map(cursor::encode);
        let variables = match window.direction {
            Direction::Older => json!({ "first": window.size, "after": bound }),
            Direction::Newer => json!({ "last": window.size, "before": bound }),
        };
        let Answer::Done(data) = self.call(node, Some(reader), PAGE, variables).await? else {
            return Ok(Answer::Unknown);
        };
        let timeline = &data["timeline"];
        let edges = timeline["edges"].as_array().with_context(|| data.to_string())?;
        let seen = edges.iter().map(seen).collect::<Result<_>>()?;
        let flag = |name: &str| timeline["pageInfo"][name].as_bool().with_context(|| data.to_string());
        Ok(Answer::Done(Page { seen, has_older: flag("hasNextPage")?, has_newer: flag("hasPreviousPage")? }))
    }

    /// Where the node listens now.
    pub fn address(&self, node: usize) -> String {
        self.addresses[node].lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the node says that it can be used.
    pub async fn is_ready(&self, node: usize) -> bool {
        let answer = self.http.get(format!("http://{}/readyz", self.address(node))).send().await;
        answer.is_ok_and(|answer| answer.status().is_success())
    }

    /// Of a user who has registered.
    pub fn token(&self, user: User) -> &str {
        self.accounts[user].token.as_deref().unwrap_or_default()
    }

    /// Sends an operation to a node, or to one that knows the key if it needs one. Fails on an answer that no fault
    /// explains.
    pub async fn call(&self, node: usize, user: Option<User>, query: &str, variables: Value) -> Result<Answer<Value>> {
        let account = user.map(|user| &self.accounts[user]);
        let needs_key = account.is_some_and(|it| it.token.is_none());
        let node = if needs_key { node % self.key_nodes.load(Relaxed) } else { node };
        let mut request = self.http.post(format!("http://{}/graphql", self.address(node)));
        match account {
            None => {}
            Some(Account { token: Some(token), .. }) => request = request.bearer_auth(token),
            Some(Account { id, .. }) => request = request.bearer_auth(&self.key).header("tidefeed-act-as", id),
        }
        excused(sent(request, query, variables).await)
    }

    /// The same with a key of a service, which acts as nobody. `None`: the key is refused.
    pub async fn call_with_key(
        &self,
        node: usize,
        key: &str,
        query: &str,
        variables: Value,
    ) -> Result<Option<Answer<Value>>> {
        let request = self.http.post(format!("http://{}/graphql", self.address(node))).bearer_auth(key);
        let answer = sent(request, query, variables).await;
        let is_refused = answer.as_ref().is_some_and(|it| codes(it) == ["UNAUTHENTICATED"]);
        if is_refused { Ok(None) } else { excused(answer).map(Some) }
    }
}

/// What came back, if it is an answer at all.
async fn sent(request: RequestBuilder, query: &str, variables: Value) -> Option<Value> {
    request.json(&json!({ "query": query, "variables": variables })).send().await.ok()?.json().await.ok()
}

fn excused(answer: Option<Value>) -> Result<Answer<Value>> {
    let Some(mut answer) = answer else { return Ok(Answer::Unknown) };
    if answer.get("errors").is_some() {
        let codes = codes(&answer);
        ensure!(!codes.is_empty() && codes.iter().all(|code| EXCUSED.contains(code)), "{answer}");
        return Ok(Answer::Unknown);
    }
    Ok(Answer::Done(answer["data"].take()))
}

/// As the API names the content at a position.
pub fn content_id(position: Position) -> String {
    format!("C_{}", URL_SAFE_NO_PAD.encode(position.content_number().to_be_bytes()))
}

/// The number in the name that the API gives a content.
pub fn content_number(id: &str) -> Result<i64> {
    let bytes = URL_SAFE_NO_PAD.decode(id.strip_prefix("C_").with_context(|| id.to_owned())?)?;
    Ok(i64::from_be_bytes(bytes.try_into().ok().with_context(|| id.to_owned())?))
}

/// Error codes that an unreachable store may cause.
const EXCUSED: &[&str] = &["INTERNAL_SERVER_ERROR"];

fn codes(answer: &Value) -> Vec<&str> {
    let errors = answer["errors"].as_array().into_iter().flatten();
    errors.filter_map(|error| error["extensions"]["code"].as_str()).collect()
}

fn seen(edge: &Value) -> Result<Seen> {
    let position = cursor::decode(edge["cursor"].as_str().with_context(|| edge.to_string())?)?;
    let node = &edge["node"];
    let subject = node["subjectId"].as_str().map_or(Ok(position.content_number()), content_number)?;
    let text = |it: &Value| it.as_str().map(str::to_owned);
    Ok(Seen { position, text: text(&node["text"]), subject, by: text(&node["author"]["name"]) })
}
