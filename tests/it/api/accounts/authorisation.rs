//! docs/authorisation.md, cell by cell: checks who may see and do what, over HTTP and WebSocket, with the operations
//! of tests/fixtures/authorisation.graphql.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, bail, ensure};
use async_graphql::parser::{parse_query, parse_schema, types::TypeSystemDefinition};
use serde_json::{Map, Value, json};

use tidefeed::domain::account::service::{Scope, Scopes};

use super::client::{PASSWORD, Socket, Tokens, register, server, service_key, sign_in, who};
use crate::{api::server::ApiServer, binary::process::until, harness::CacheBackend, servers::Backend};

const TABLE: &str = include_str!("../../../../docs/authorisation.md");
const OPERATIONS: &str = include_str!("../../../fixtures/authorisation.graphql");
const SCHEMA: &str = include_str!("../../../../schema.graphql");
const ROOT_TYPES: [&str; 3] = ["Query", "Mutation", "Subscription"];

/// The first line of a file that can be loaded.
const HEADER: &str = r#"{"type":"header","data":{"format":"tidefeed","version":1}}"#;

/// The client that sends a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asker {
    Anonymous,
    Owner,
    Another,
    Blocked,
    Ended,
    WithoutScope,
    WithScope,
    AsOwner,
}

impl Asker {
    const COLUMNS: [(&str, Self); 8] = [
        ("anonymous", Self::Anonymous),
        ("owner", Self::Owner),
        ("another user", Self::Another),
        ("blocked user", Self::Blocked),
        ("ended session", Self::Ended),
        ("service without it", Self::WithoutScope),
        ("service with it", Self::WithScope),
        ("service as the owner", Self::AsOwner),
    ];

    /// Whether it may change what is the owner's.
    fn is_owner(self) -> bool {
        matches!(self, Self::Owner | Self::AsOwner)
    }
}

/// A row: the scope that a service needs, and the answer to each asker.
struct Row {
    scope: String,
    cells: Vec<(Asker, String)>,
}

impl Row {
    /// The cells by owner: those whose askers are refused change nothing and share one, each other has its own.
    fn groups(&self) -> Vec<Vec<(Asker, String)>> {
        let is_refused = |cell: &(Asker, String)| ["UNAUTHENTICATED", "FORBIDDEN"].contains(&cell.1.as_str());
        let (refused, others): (Vec<_>, Vec<_>) = self.cells.iter().cloned().partition(is_refused);
        [refused]
            .into_iter()
            .chain(others.into_iter().map(|cell| vec![cell]))
            .filter(|group| !group.is_empty())
            .collect()
    }

    /// The scopes of the service that asks.
    fn scopes(&self, asker: Asker) -> Result<Scopes> {
        let scopes = match (self.scope.as_str(), asker) {
            ("none" | "any", Asker::WithoutScope) => [Scope::ActAs].into_iter().collect(),
            ("none" | "any", _) => Scopes::all(),
            (scope, asker) => {
                let own: Scopes = scope.parse()?;
                let is_own = |scope: &Scope| own.contain(*scope);
                match asker {
                    Asker::WithoutScope => Scope::ALL.into_iter().filter(|scope| !is_own(scope)).collect(),
                    Asker::AsOwner => Scope::ALL.into_iter().filter(|it| is_own(it) || *it == Scope::ActAs).collect(),
                    _ => own,
                }
            }
        };
        Ok(scopes)
    }
}

/// Rows of the table by field.
fn table() -> Result<BTreeMap<String, Row>> {
    let mut lines = TABLE.lines().filter(|line| line.starts_with('|'));
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let head = cells(lines.next().context("no table")?);
    let names = head[1..].iter().filter(|name| *name != "scope");
    ensure!(names.eq(Asker::COLUMNS.iter().map(|(name, _)| name)) && head[6] == "scope", "other columns: {head:?}");
    let row = |line| {
        let mut row = cells(line);
        let scope = row.remove(6);
        let cells = Asker::COLUMNS.iter().map(|(_, asker)| *asker).zip(row[1..].iter().cloned()).collect();
        (row[0].trim_matches('`').to_owned(), Row { scope, cells })
    };
    Ok(lines.skip(1).map(row).collect())
}

/// `Type.field` of every field of the root types.
fn root_fields() -> Result<BTreeSet<String>> {
    let mut fields = BTreeSet::new();
    for definition in parse_schema(SCHEMA)?.definitions {
        let TypeSystemDefinition::Type(definition) = definition else { continue };
        let name = definition.node.name.node.to_string();
        if let async_graphql::parser::types::TypeKind::Object(object) = &definition.node.kind
            && ROOT_TYPES.contains(&name.as_str())
        {
            fields.extend(object.fields.iter().map(|field| format!("{name}.{}", field.node.name.node)));
        }
    }
    Ok(fields)
}

/// The service with a key of the product's, a fan who follows and replies to every owner, and a foe whom every owner
/// excludes.
struct World {
    server: ApiServer,
    key: String,
    fan: Tokens,
    foe: Tokens,
}

impl World {
    /// Publishes a content that is newer than all others. Returns its id and its cursor.
    async fn publish(&self, by: &Tokens, input: Value) -> Result<(String, String)> {
        self.publish_as((Some(&by.access), None), input).await
    }

    async fn publish_as(&self, credentials: Credentials<'_>, input: Value) -> Result<(String, String)> {
        self.server.app.clock.advance(1);
        let query = "mutation($input: PublishContentInput!) { publishContent(input: $input) \
                     { timelineEdge { cursor node { id } } userErrors { code } } }";
        let published = self.server.post_as(credentials, query, json!({ "input": input })).await?;
        let edge = &published["data"]["publishContent"]["timelineEdge"];
        let text =
            |value: &Value| value.as_str().map(str::to_owned).with_context(|| format!("not published: {published}"));
        Ok((text(&edge["node"]["id"])?, text(&edge["cursor"])?))
    }

    /// Runs a mutation whose input is one id.
    async fn set(&self, by: &Tokens, mutation: &str, key: &str, id: &str) -> Result<()> {
        let query =
            format!("mutation($id: ID!) {{ it: {mutation}(input: {{ {key}: $id }}) {{ userErrors {{ code }} }} }}");
        let answer = self.server.data(&by.access, &query, json!({ "id": id })).await?;
        ensure!(answer["it"]["userErrors"] == json!([]), "{mutation}: {answer}");
        Ok(())
    }
}

/// An owner: two sessions, and everything that an asker could read or change.
struct Person {
    tokens: Tokens,
    ended: Tokens,
    things: Map<String, Value>,
}

impl Person {
    /// An owner with a content that has a reply and a repost, a reply to another author, something liked and
    /// bookmarked, a friend, an excluded user, and two sessions, one of which has ended.
    async fn new(world: &World, handle: &str) -> Result<Self> {
        let World { server, fan, foe, .. } = world;
        let tokens = register(server, handle).await?;
        let ended = sign_in(server, handle).await?;
        let other = register(server, &format!("other_{handle}")).await?;
        server.data(&ended.access, "mutation { signOut { endedSessionCount userErrors { code } } }", json!({})).await?;
        let key = format!("key of {handle}");
        let picture = json!({ "kind": "PICTURE", "url": "https://a.example/tide.png", "alt": "low tide" });
        let object =
            json!({ "text": "x", "idempotencyKey": key, "media": [picture], "externalId": key, "attributes": {} });
        let (content, cursor) = world.publish_as((Some(&world.key), Some(&tokens.id)), object).await?;
        let bind = "mutation($id: ID!, $key: String!) { it: rebindExternalId(input: { userId: $id, externalId: $key }) { userErrors { code } } }";
        let bound = server.post_as((Some(&world.key), None), bind, json!({ "id": tokens.id, "key": key })).await?;
        ensure!(bound["data"]["it"]["userErrors"] == json!([]), "{bound}");
        let (reply, _) = world.publish(fan, json!({ "text": "an answer", "replyTo": content })).await?;
        let repost = "mutation($id: ID!) { repostContent(input: { contentId: $id }) { timelineEdge { node { id } } } }";
        let repost = server.data(&fan.access, repost, json!({ "id": content })).await?;
        let (root, _) = world.publish(fan, json!({ "text": "a question" })).await?;
        let (answer, _) = world.publish(&tokens, json!({ "text": "mine", "replyTo": root })).await?;
        for (by, mutation, key, id) in [
            (&tokens, "likeContent", "contentId", &root),
            (&tokens, "bookmarkContent", "contentId", &root),
            (&tokens, "followUser", "userId", &fan.id),
            (fan, "followUser", "userId", &tokens.id),
            (&tokens, "muteUser", "userId", &foe.id),
            (&tokens, "hideFromFollower", "userId", &foe.id),
            (&tokens, "blockUser", "userId", &foe.id),
        ] {
            world.set(by, mutation, key, id).await?;
        }
        let read = "mutation($c: String!) { markTimelineRead(input: { upTo: $c }) { readMarker } }";
        server.data(&tokens.access, read, json!({ "c": cursor })).await?;
        let sessions = server.data(&tokens.access, "{ viewer { sessions { id } } }", json!({})).await?;
        let things = json!({
            "user": tokens.id, "other": other.id, "handle": handle, "content": content, "cursor": cursor, "answer": answer, "key": key,
            "root": root, "reply": reply, "repost": repost["repostContent"]["timelineEdge"]["node"]["id"], "session": sessions["viewer"]["sessions"][0]["id"],
            "refresh": tokens.refresh, "fresh": format!("{handle}_2"), "password": PASSWORD,
        });
        Ok(Self { tokens, ended, things: things.as_object().cloned().unwrap_or_default() })
    }

    /// The owner's state, which no one else may change.
    async fn state(&self, server: &ApiServer, row: &str) -> Result<Value> {
        let query = "{ viewer { handle name bio timelineReadMarker attributes { key } followingCount contentCount sessions { id } \
                     mutedUsers { nodes { id } } blockedUsers { nodes { id } } hiddenFollowers { nodes { id } } } \
                     timeline { edges { cursor node { id text } } } }";
        let mut state = server.data(&self.tokens.access, query, json!({})).await?;
        // The password allows a further session.
        if row == "Mutation.signIn" {
            state["viewer"]["sessions"].take();
        }
        // A deleted account leaves the list of blocked users.
        if row == "Mutation.deleteViewer" {
            state["viewer"]["blockedUsers"].take();
        }
        let again = sign_in(server, self.things["handle"].as_str().unwrap_or_default()).await?;
        server.data(&again.access, "mutation { signOut { endedSessionCount userErrors { code } } }", json!({})).await?;
        Ok(state)
    }

    /// Whether the answer contains anything of theirs.
    fn is_in(&self, answer: &Value) -> bool {
        let text = answer.to_string();
        ["user", "content", "answer", "session"]
            .iter()
            .any(|thing| text.contains(self.things[*thing].as_str().unwrap_or("?")))
    }
}

/// The text of the row's operation.
fn text(row: &str) -> Option<&'static str> {
    let wanted = format!(" {}", row.replace('.', "_"));
    OPERATIONS.lines().find(|line| line.split_once(&wanted).is_some_and(|(_, rest)| rest.starts_with(['(', ' '])))
}

/// The operation's text, with the variables that it declares.
fn operation(row: &str, owner: &Person) -> Result<(String, Value)> {
    let line =
        text(row).with_context(|| format!("tests/fixtures/authorisation.graphql lacks an operation of {row}"))?;
    let document = parse_query(line)?;
    let (_, operation) = document.operations.iter().next().context("no operation")?;
    let names = operation.node.variable_definitions.iter().map(|it| it.node.name.node.to_string());
    let mut variables = Map::new();
    for name in names {
        let value = owner.things.get(&name).with_context(|| format!("nothing is called ${name}"))?.clone();
        variables.insert(name, value);
    }
    Ok((line.to_owned(), Value::Object(variables)))
}

/// Who asks: a token, and as whom its service acts.
type Credentials<'a> = (Option<&'a str>, Option<&'a str>);

/// The field's answer in the words of the table, and the whole answer. `begins`: whether a subscription should.
async fn answer(
    server: &ApiServer,
    (row, begins): (&str, bool),
    credentials: Credentials<'_>,
    owner: &Person,
) -> Result<(String, Value)> {
    if let Some(path) = row.strip_prefix("POST /") {
        return posted(server, path, credentials).await;
    }
    let (query, variables) = operation(row, owner)?;
    let answer = if row.starts_with("Subscription.") {
        watched(server, credentials, (owner, begins), json!({ "query": query, "variables": variables })).await?
    } else {
        server.post_as(credentials, &query, variables).await?
    };
    if let Some(code) = answer["errors"][0]["extensions"]["code"].as_str() {
        return Ok((code.to_owned(), answer));
    }
    let data = &answer["data"];
    let of = data.get("of");
    let it = data.get("it").or_else(|| of?.get("it")).or_else(|| of.filter(|of| of.is_null()));
    let it = it.with_context(|| format!("{row}: {answer:#}"))?;
    let result = match (it["userErrors"][0]["code"].as_str(), it) {
        (Some(code), _) => code,
        (None, Value::Null) => "null",
        (None, it) if is_empty(it) => "empty",
        (None, _) => "data",
    };
    Ok((result.to_owned(), answer))
}

/// The answer of a path of services, in the words of the table.
async fn posted(server: &ApiServer, path: &str, credentials: Credentials<'_>) -> Result<(String, Value)> {
    let body = if path == "import" { format!("{HEADER}\n") } else { String::new() };
    let (_, mut lines) = server.post_lines(path, credentials, body.into_bytes()).await?;
    let last = lines.pop().context("no line")?;
    let code = last["stopped"]["code"].as_str().unwrap_or("data").to_owned();
    Ok((code, last))
}

/// Whether it is a list of nulls, or an empty connection.
fn is_empty(it: &Value) -> bool {
    match (it, it["nodes"].as_array()) {
        (Value::Array(all), _) => !all.is_empty() && all.iter().all(Value::is_null),
        (_, Some(nodes)) => nodes.iter().all(Value::is_null),
        (_, None) => false,
    }
}

/// The first event of a subscriber after the owner and then the subscriber have published.
async fn watched(
    server: &ApiServer,
    (token, act_as): Credentials<'_>,
    (owner, begins): (&Person, bool),
    payload: Value,
) -> Result<Value> {
    let hub = &server.app.hub;
    let watching = || hub.watching() + hub.shown.watching();
    let refused = |code: &str| json!({ "errors": [{ "extensions": { "code": code } }] });
    // The socket of the previous row may still be watching.
    until("nobody watches", async || Ok(watching() == 0)).await?;
    let mut socket = Socket::open_as(server, (token, act_as)).await?;
    match socket.hear().await? {
        Ok(message) => ensure!(message["type"] == "connection_ack", "{message}"),
        Err(4403) => return Ok(refused("UNAUTHENTICATED")),
        Err(code) => bail!("closed with {code}"),
    }
    socket.say(&json!({ "type": "subscribe", "id": "1", "payload": payload })).await?;
    if !begins {
        let message = socket.hear().await?.ok().context("closed")?;
        return Ok(json!({ "errors": message["payload"] }));
    }
    // Whoever has no viewer publishes nothing, and neither does a service as nobody.
    let subscriber = token.filter(|token| act_as.is_none() && !token.starts_with("tfs_"));
    until("the subscription has begun", async || Ok(watching() == 1)).await?;
    for publisher in [Some(owner.tokens.access.as_str()), subscriber].into_iter().flatten() {
        let publish = "mutation { publishContent(input: { text: \"new\" }) { userErrors { code } } }";
        server.data(publisher, publish, json!({})).await?;
    }
    Ok(socket.hear().await?.ok().context("closed")?["payload"].clone())
}

/// Whether the row's operation only reads, so that all such rows may share one owner.
fn reads(row: &str) -> bool {
    text(row).is_some_and(|text| text.starts_with("query"))
}

/// An owner, and those of the other askers whom its cells need.
struct Cast {
    owner: Person,
    another: Option<Tokens>,
    blocked: Option<Tokens>,
}

impl Cast {
    async fn new(world: &World, asks: impl Fn(Asker) -> bool, number: usize) -> Result<Self> {
        let owner = Person::new(world, &format!("ann_{number}")).await?;
        let (mut another, mut blocked) = (None, None);
        if asks(Asker::Another) {
            another = Some(register(&world.server, &format!("bob_{number}")).await?);
        }
        if asks(Asker::Blocked) {
            let cat = register(&world.server, &format!("cat_{number}")).await?;
            world.set(&owner.tokens, "blockUser", "userId", &cat.id).await?;
            blocked = Some(cat);
        }
        Ok(Self { owner, another, blocked })
    }
}

/// Checks cells of a row, all with the same owner.
async fn check(
    server: &ApiServer,
    (name, row): (&str, &Row),
    cells: &[(Asker, String)],
    Cast { owner, another, blocked }: &Cast,
    wrong: &mut Vec<String>,
) -> Result<()> {
    let before = owner.state(server, name).await?;
    for (asker, expected) in cells {
        let key;
        let token = match asker {
            Asker::Anonymous => None,
            Asker::Owner => Some(owner.tokens.access.as_str()),
            Asker::Another => Some(another.as_ref().context("nobody else")?.access.as_str()),
            Asker::Blocked => Some(blocked.as_ref().context("nobody is blocked")?.access.as_str()),
            Asker::Ended => Some(owner.ended.access.as_str()),
            Asker::WithoutScope | Asker::WithScope | Asker::AsOwner => {
                key = service_key(server, row.scopes(*asker)?).await?;
                Some(key.as_str())
            }
        };
        let acts = matches!(asker, Asker::WithoutScope | Asker::AsOwner);
        let credentials = (token, acts.then_some(owner.tokens.id.as_str()));
        if let Err(error) = check_cell(server, name, (*asker, expected), credentials, owner).await {
            wrong.push(format!("{error:#}"));
        }
    }
    // An owner may change their own state, and the owner in a subscription's row publishes something.
    if reads(name) || !name.starts_with("Subscription.") && cells.iter().all(|(asker, _)| !asker.is_owner()) {
        let after = owner.state(server, name).await?;
        ensure!(after == before, "{name}: {cells:?} have changed the owner's things: {before:#}");
        ensure!(who(server, &owner.tokens.access).await?.starts_with("ann_"));
    }
    Ok(())
}

async fn check_cell(
    server: &ApiServer,
    row: &str,
    (asker, expected): (Asker, &str),
    credentials: Credentials<'_>,
    owner: &Person,
) -> Result<()> {
    let begins = !expected.chars().all(|c| c.is_ascii_uppercase());
    let (got, answer) = answer(server, (row, begins), credentials, owner).await?;
    let answers = got == "data" || got == "empty";
    ensure!(got != "empty" || !owner.is_in(&answer), "{row}, {asker:?}: {answer:#}");
    let got = if expected == "own" && answers && !owner.is_in(&answer) { "own".to_owned() } else { got };
    ensure!(got == expected, "{row}, {asker:?}: the table says {expected}, the service {got}: {answer:#}");
    Ok(())
}

#[test]
fn every_field_of_the_roots_has_a_row_and_an_operation() -> Result<()> {
    let rows: BTreeSet<String> = table()?.into_keys().collect();
    let missing: Vec<_> = root_fields()?.into_iter().filter(|field| !rows.contains(field)).collect();
    ensure!(missing.is_empty(), "give these a row in docs/authorisation.md and an operation: {missing:?}");
    let gone = |row: &&String| ROOT_TYPES.iter().any(|root| row.starts_with(&format!("{root}.")));
    let fields = root_fields()?;
    let gone: Vec<_> = rows.iter().filter(gone).filter(|row| !fields.contains(*row)).collect();
    ensure!(gone.is_empty(), "the schema has these no more: {gone:?}");
    Ok(())
}

mod slow {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn every_cell_of_the_authorisation_table_holds() -> Result<()> {
        let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
        let (fan, foe) = (register(&server, "fan").await?, register(&server, "foe").await?);
        let key = service_key(&server, Scopes::all()).await?;
        let world = World { server, key, fan, foe };
        let (mut number, mut wrong) = (0, Vec::new());
        let read = Cast::new(&world, |_| true, number).await?;
        for (name, row) in table()? {
            ensure!(row.cells.len() == Asker::COLUMNS.len(), "{name} has other columns");
            let groups = if reads(&name) { vec![row.cells.clone()] } else { row.groups() };
            for group in groups {
                number += group.len();
                let own;
                let cast = if reads(&name) {
                    &read
                } else {
                    own = Cast::new(&world, |asker| group.iter().any(|(it, _)| *it == asker), number).await?;
                    &own
                };
                if let Err(error) = check(&world.server, (&name, &row), &group, cast, &mut wrong).await {
                    wrong.push(format!("{error:#}"));
                }
            }
        }
        let texts = wrong.join("\n");
        ensure!(wrong.is_empty(), "{} answers differ from the table, in {number} cells:\n{texts}", wrong.len());
        ensure!(number > 480, "The table has only {number} cells.");
        Ok(())
    }
}
