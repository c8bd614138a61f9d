//! Tests `publishContents`: order, faults of one content, repeats, and whose the contents are.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tidefeed::domain::{account::service::Scope, limits::MAX_BATCH};

use super::{
    accounts::client::{Socket, service_key},
    product_world::ProductWorld,
};
use crate::binary::process::until;

const BATCH: &str = "mutation($contents: [PublishContentInput!]!) { it: publishContents(input: { contents: $contents }) { \
                     results { index timelineEdge { node { id text author { id } inReplyTo { id } } } \
                     clientMutationId userErrors { code field } } userErrors { code field message } } }";
const PAGE: &str = "{ timeline { nodes { text } } }";

impl ProductWorld {
    /// Bob follows ann.
    async fn with_a_follower() -> Result<Self> {
        let world = Self::new().await?;
        let follow = "mutation($id: ID!) { followUser(input: { userId: $id }) { userErrors { code } } }";
        world.server.data(&world.bob.access, follow, json!({ "id": world.ann.id })).await?;
        Ok(world)
    }

    /// The payload, while the clock goes on.
    async fn batch(&self, act_as: Option<&str>, contents: &Value) -> Result<Value> {
        let variables = json!({ "contents": contents });
        let batch = self.server.post_as((Some(&self.key), act_as), BATCH, variables);
        tokio::pin!(batch);
        let answer = loop {
            tokio::select! {
                answer = &mut batch => break answer?,
                () = tokio::time::sleep(Duration::from_millis(1)) => self.server.app.clock.advance(1),
            }
        };
        ensure!(answer["errors"].is_null(), "{answer}");
        Ok(answer["data"]["it"].clone())
    }

    /// The texts of bob's timeline, newest first.
    async fn page(&self) -> Result<Vec<String>> {
        let page = self.server.data(&self.bob.access, PAGE, json!({})).await?;
        let nodes = page["timeline"]["nodes"].as_array().context("no page")?;
        Ok(nodes.iter().filter_map(|node| node["text"].as_str().map(str::to_owned)).collect())
    }
}

#[tokio::test]
async fn a_batch_publishes_in_order_and_each_by_itself() -> Result<()> {
    let world = ProductWorld::with_a_follower().await?;
    let ProductWorld { server, ann, bob, .. } = &world;
    let mut socket = Socket::open(server, Some(&bob.access)).await?;
    ensure!(socket.hear().await? == Ok(json!({ "type": "connection_ack" })));
    let feed = "subscription { newFeed { ... on EntryAdded { timelineEdge { node { text } } } } }";
    socket.say(&json!({ "type": "subscribe", "id": "1", "payload": { "query": feed } })).await?;
    until("it watches", async || Ok(server.app.hub.watching() == 1)).await?;
    let contents = json!([
        { "text": "early", "replyTo": "ext:1" },
        { "text": "first", "externalId": "1", "clientMutationId": "c" },
        { "text": " " },
        { "text": "other", "externalId": "1" },
        { "text": "reply", "replyTo": "ext:1" },
        { "text": "lost", "replyTo": "ext:none" },
        { "text": "malformed", "replyTo": "nonsense" },
        { "text": "typed", "type": "Not a type" },
        { "text": "nobody's", "authorId": "ext:none" },
        { "text": "bob's", "authorId": bob.id, "replyTo": "ext:1" },
        { "text": "last" },
    ]);
    let done = world.batch(Some(&ann.id), &contents).await?;
    ensure!(done["userErrors"] == json!([]), "{done}");
    let results = done["results"].as_array().context("no results")?;
    let found: Vec<_> = results.iter().map(|it| (it["index"].clone(), it["userErrors"][0].clone())).collect();
    let refused = |index: usize, code: &str, field: &str| {
        (json!(index), json!({ "code": code, "field": ["input", "contents", index.to_string(), field] }))
    };
    let fine = |index: usize| (json!(index), Value::Null);
    let expected = [
        refused(0, "NOT_FOUND", "replyTo"),
        fine(1),
        refused(2, "INVALID", "text"),
        refused(3, "CONFLICT", "externalId"),
        fine(4),
        refused(5, "NOT_FOUND", "replyTo"),
        refused(6, "INVALID", "replyTo"),
        refused(7, "INVALID", "type"),
        refused(8, "NOT_FOUND", "authorId"),
        fine(9),
        fine(10),
    ];
    ensure!(found == expected, "{found:#?}");
    let node = |index: usize| results[index]["timelineEdge"]["node"].clone();
    ensure!(results[1]["clientMutationId"] == "c" && results[0]["timelineEdge"].is_null(), "{done}");
    ensure!(node(4)["inReplyTo"]["id"] == node(1)["id"] && node(4)["author"]["id"] == ann.id, "{done}");
    ensure!(node(9)["inReplyTo"]["id"] == node(1)["id"] && node(9)["author"]["id"] == bob.id, "{done}");
    ensure!(world.page().await? == ["last", "bob's", "reply", "first"], "{:?}", world.page().await?);
    for text in ["first", "reply", "bob's", "last"] {
        let event = socket.hear().await?.ok().context("closed")?;
        ensure!(event["payload"]["data"]["newFeed"]["timelineEdge"]["node"]["text"] == text, "{text}: {event}");
    }
    Ok(())
}

#[tokio::test]
async fn a_repeated_batch_publishes_nothing_new() -> Result<()> {
    let world = ProductWorld::with_a_follower().await?;
    let contents = json!([
        { "text": "one", "externalId": "1", "authorId": world.ann.id },
        { "text": "two", "idempotencyKey": "2", "authorId": world.ann.id, "replyTo": "ext:1" },
        { "text": "three", "externalId": "3", "authorId": world.bob.id },
    ]);
    let part = json!(contents.as_array().context("no list")?[..2].to_vec());
    let begun = world.batch(None, &part).await?;
    let whole = world.batch(None, &contents).await?;
    let ids = |payload: &Value| -> Vec<Value> {
        let results = payload["results"].as_array().cloned().unwrap_or_default();
        results.iter().map(|it| it["timelineEdge"]["node"]["id"].clone()).collect()
    };
    ensure!(ids(&whole)[..2] == ids(&begun)[..] && ids(&whole).iter().all(Value::is_string), "{begun} {whole}");
    ensure!(world.batch(None, &contents).await? == whole, "again");
    ensure!(world.page().await? == ["three", "two", "one"], "{:?}", world.page().await?);
    Ok(())
}

#[tokio::test]
async fn a_batch_is_for_services_and_each_author_is_named() -> Result<()> {
    let world = ProductWorld::with_a_follower().await?;
    let ProductWorld { server, key, ann, bob } = &world;
    let may_not_act = service_key(server, [Scope::Contents, Scope::Read].into_iter().collect()).await?;
    let (plain, named) = (json!({ "text": "x" }), json!({ "text": "x", "authorId": ann.id }));
    for (token, contents, code) in [
        (&ann.access, json!([plain]), "FORBIDDEN"),
        (&may_not_act, json!([named]), "FORBIDDEN"),
        (&may_not_act, json!([plain]), "UNAUTHENTICATED"),
        (key, json!([named, plain]), "UNAUTHENTICATED"),
    ] {
        let answer = server.post(Some(token), BATCH, json!({ "contents": contents })).await?;
        ensure!(answer["errors"][0]["extensions"]["code"] == code, "{contents}: {answer}");
    }
    let deactivate = "mutation($id: ID!) { deactivateUser(input: { userId: $id }) { userErrors { code } } }";
    server.post(Some(key), deactivate, json!({ "id": ann.id })).await?;
    for (contents, code) in [(vec![], "INVALID"), (vec![named.clone(); MAX_BATCH + 1], "TOO_LONG")] {
        let done = world.batch(Some(&bob.id), &json!(contents)).await?;
        let error = &done["userErrors"][0];
        ensure!(error["code"] == code && error["field"] == json!(["input", "contents"]), "{done}");
        ensure!(done["results"] == json!([]), "{done}");
    }
    let done = world.batch(Some(&bob.id), &json!([named, plain])).await?;
    let codes = [&done["results"][0]["userErrors"][0]["code"], &done["results"][1]["userErrors"][0]["code"]];
    ensure!(codes == [&json!("NOT_FOUND"), &Value::Null], "who is deactivated does not publish: {done}");
    ensure!(world.page().await? == ["x"], "{:?}", world.page().await?);
    Ok(())
}
