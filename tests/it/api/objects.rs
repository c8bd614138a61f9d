//! Tests contents as objects of the product: what services say of them, what it is called, and who sees it.

use anyhow::{Context as _, Result, ensure};
use graphql_transport::http::{HttpSettings, RequestLimits};
use serde_json::{Value, json};
use tidefeed::{
    app::ApiSettings,
    domain::limits::{MAX_JSON_BYTES, MAX_JSON_DEPTH},
};

use super::{
    accounts::client::{Socket, Tokens, beside, short},
    product_world::ProductWorld,
};
use crate::binary::process::until;

const PUBLISH: &str = "mutation($input: PublishContentInput!) { it: publishContent(input: $input) { \
                       timelineEdge { node { id externalId url type attributes inReplyTo { id } } } \
                       userErrors { code field message } } }";
const LINK: &str = "https://product.example/runs/7";

impl ProductWorld {
    /// What the service does as a user, without errors.
    async fn acting(&self, user: &Tokens, query: &str, variables: Value) -> Result<Value> {
        let answer = self.server.post_as((Some(&self.key), Some(&user.id)), query, variables).await?;
        ensure!(answer["errors"].is_null(), "{answer}");
        Ok(answer["data"].clone())
    }

    /// What the service has published as a user.
    async fn publish(&self, user: &Tokens, input: Value) -> Result<Value> {
        self.server.app.clock.advance(1);
        let payload = self.acting(user, PUBLISH, json!({ "input": input })).await?;
        let node = &payload["it"]["timelineEdge"]["node"];
        ensure!(node["id"].is_string() && payload["it"]["userErrors"] == json!([]), "{payload}");
        Ok(node.clone())
    }

    /// Code, field and message of the user error with which it is not.
    async fn refused(&self, user: &Tokens, input: Value) -> Result<(String, String, String)> {
        let payload = self.acting(user, PUBLISH, json!({ "input": input })).await?;
        let error = &payload["it"]["userErrors"][0];
        ensure!(payload["it"]["timelineEdge"].is_null(), "{payload}");
        let text = |value: &Value| value.as_str().map(str::to_owned).with_context(|| payload.to_string());
        Ok((text(&error["code"])?, text(&error["field"][1])?, text(&error["message"])?))
    }
}

fn run() -> Value {
    let attributes = json!({ "b": [1, 2.5, null, "é"], "a": { "z": true } });
    json!({ "text": "10 km", "externalId": "run-7", "type": "run", "url": LINK, "attributes": attributes })
}

fn with(input: Value, field: &str, value: Value) -> Value {
    let mut input = input;
    input[field] = value;
    input
}

/// Objects and lists nested so deep.
fn deep(depth: usize) -> Result<Value> {
    Ok(serde_json::from_str(&format!("{{\"a\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1)))?)
}

/// An object of so many bytes.
fn long(bytes: usize) -> Value {
    json!({ "a": "x".repeat(bytes - 8) })
}

#[tokio::test]
async fn an_external_id_is_given_once_and_for_all() -> Result<()> {
    let world = ProductWorld::new().await?;
    let ProductWorld { ann, bob, .. } = &world;
    let first = world.publish(ann, run()).await?;
    for field in ["externalId", "type", "url", "attributes"] {
        ensure!(first[field] == run()[field], "{first}");
    }
    let ordered = "mutation { publishContent(input: { text: \"10 km\", externalId: \"run-7\", type: \"run\", \
                   url: \"https://product.example/runs/7\", \
                   attributes: { a: { z: true }, b: [1, 2.5, null, \"\\u00e9\"] } }) \
                   { timelineEdge { node { id attributes } } } }";
    let again = world.acting(ann, ordered, json!({})).await?;
    ensure!(again["publishContent"]["timelineEdge"]["node"]["id"] == first["id"], "it is the same: {again}");
    let other = world.publish(ann, json!({ "text": "other" })).await?;
    ensure!(other["type"] == "post" && other["externalId"].is_null() && other["attributes"].is_null(), "{other}");
    for (author, input) in [
        (bob, run()),
        (ann, with(run(), "text", json!("11 km"))),
        (ann, with(run(), "type", json!("walk"))),
        (ann, with(run(), "url", Value::Null)),
        (ann, with(run(), "attributes", json!({}))),
        (ann, with(run(), "replyTo", other["id"].clone())),
    ] {
        let (code, field, message) = world.refused(author, input.clone()).await?;
        ensure!((code.as_str(), field.as_str()) == ("CONFLICT", "externalId"), "{input}: {code} {field}");
        ensure!(message.starts_with("Something else was published with this external id"), "{message}");
    }
    let delete = "mutation { deleteContent(input: { contentId: \"ext:run-7\" }) { deletedContentId } }";
    ensure!(world.acting(ann, delete, json!({})).await?["deleteContent"]["deletedContentId"] == first["id"]);
    let (code, field, message) = world.refused(ann, run()).await?;
    ensure!((code.as_str(), field.as_str()) == ("CONFLICT", "externalId") && message.contains("deleted"), "{message}");
    let gone = "{ contentByExternalId(externalId: \"run-7\") { id } node(id: \"ext:run-7\") { id } }";
    let gone = world.acting(ann, gone, json!({})).await?;
    ensure!(gone == json!({ "contentByExternalId": null, "node": null }), "{gone}");
    Ok(())
}

#[tokio::test]
async fn a_products_id_stands_wherever_a_content_s_id_does() -> Result<()> {
    let world = ProductWorld::new().await?;
    let ProductWorld { server, key, ann, bob } = &world;
    let run = world.publish(ann, run()).await?["id"].clone();
    let upsert = "mutation { upsertUsers(input: { users: [{ externalId: \"42\" }] }) { results { user { id } } } }";
    let user = world.acting(ann, upsert, json!({})).await?["upsertUsers"]["results"][0]["user"]["id"].clone();
    let homonym = world.publish(ann, json!({ "text": "also 42", "externalId": "42" })).await?["id"].clone();
    let asked = "query($ids: [ID!]!) { a: content(id: \"ext:run-7\") { id } b: content(id: \"ext:42\") { id } \
                 c: contentByExternalId(externalId: \"42\") { id } nodes(ids: $ids) { id } \
                 d: content(id: \"ext:none\") { id } e: contentByExternalId(externalId: \"\") { id } }";
    let ids = json!(["ext:42", "ext:none", "ext:run-7", run]);
    let found = server.post(Some(key), asked, json!({ "ids": ids })).await?["data"].clone();
    ensure!(found["a"]["id"] == run && found["b"]["id"] == homonym && found["c"]["id"] == homonym, "{found}");
    ensure!(found["nodes"] == json!([{ "id": user }, null, { "id": run }, { "id": run }]), "a user first: {found}");
    ensure!(found["d"].is_null() && found["e"].is_null(), "{found}");
    for mutation in ["like", "unlike", "bookmark", "unbookmark", "repost", "unrepost"] {
        for (id, code) in [("ext:run-7", Value::Null), ("ext:none", json!("NOT_FOUND"))] {
            let query = format!(
                "mutation($id: ID!) {{ it: {mutation}Content(input: {{ contentId: $id }}) \
                 {{ content {{ id }} userErrors {{ code }} }} }}"
            );
            let it = world.acting(bob, &query, json!({ "id": id })).await?["it"].clone();
            let is_idempotent = mutation == "unrepost";
            ensure!(is_idempotent || it["userErrors"][0]["code"] == code, "{mutation} {id}: {it}");
            ensure!(it["content"]["id"] == if code.is_null() { run.clone() } else { Value::Null }, "{mutation}: {it}");
        }
    }
    let reply = world.publish(bob, json!({ "text": "well done", "replyTo": "ext:run-7" })).await?;
    ensure!(reply["inReplyTo"]["id"] == run, "{reply}");
    let (code, ..) = world.refused(bob, json!({ "text": "x", "replyTo": "ext:none" })).await?;
    ensure!(code == "NOT_FOUND");
    let delete = "mutation($id: ID!) { deleteContent(input: { contentId: $id }) { userErrors { code } } }";
    for (id, code) in [("ext:run-7", "NOT_ALLOWED"), ("ext:none", "NOT_FOUND")] {
        let refused = world.acting(bob, delete, json!({ "id": id })).await?;
        ensure!(refused["deleteContent"]["userErrors"][0]["code"] == code, "{id}: {refused}");
    }
    Ok(())
}

#[tokio::test]
async fn only_a_service_says_what_a_content_is_to_the_product() -> Result<()> {
    let world = ProductWorld::new().await?;
    let ProductWorld { server, key, ann, bob } = &world;
    for field in ["externalId", "type", "url", "attributes"] {
        let input = json!({ "text": "mine", field: run()[field] });
        let answer = server.post(Some(&ann.access), PUBLISH, json!({ "input": input })).await?;
        let error = &answer["errors"][0];
        ensure!(error["extensions"]["code"] == "FORBIDDEN" && answer["data"]["it"].is_null(), "{answer}");
        let message = format!("`input.{field}` is for services: it needs the key of one.");
        ensure!(error["message"] == message, "{answer}");
    }
    let input = json!({ "text": "mine", "type": "post", "url": null });
    let plain = server.data(&ann.access, PUBLISH, json!({ "input": input })).await?;
    ensure!(plain["it"]["timelineEdge"]["node"]["type"] == "post", "{plain}");
    let run = world.publish(ann, run()).await?;
    let shown = server.post(None, "{ content(id: \"ext:run-7\") { externalId url attributes } }", json!({})).await?;
    ensure!(shown["data"]["content"]["attributes"] == run["attributes"], "everybody sees them: {shown}");
    ensure!(shown["data"]["content"]["externalId"] == "run-7" && shown["data"]["content"]["url"] == LINK, "{shown}");

    let closed = beside(server, &ApiSettings { shows_external_ids: false, ..short() }).await?;
    let follow = "mutation($id: ID!) { followUser(input: { userId: $id }) { userErrors { code } } }";
    closed.data(&bob.access, follow, json!({ "id": ann.id })).await?;
    let ask = "{ timeline(first: 1) { nodes { externalId type } } named: content(id: \"ext:run-7\") { id } \
               called: contentByExternalId(externalId: \"run-7\") { id } }";
    for _ in 0..2 {
        for (credentials, is_shown, may_name) in [
            ((Some(bob.access.as_str()), None), false, false),
            ((Some(key), Some(bob.id.as_str())), true, true),
            ((Some(&ann.access), None), true, false),
        ] {
            let data = closed.post_as(credentials, ask, json!({})).await?["data"].clone();
            let shown = if is_shown { json!("run-7") } else { Value::Null };
            ensure!(data["timeline"]["nodes"] == json!([{ "externalId": shown, "type": "run" }]), "{credentials:?}");
            ensure!(data["named"].is_null() != may_name && data["called"].is_null() != may_name, "{data}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn attributes_are_a_bounded_object_of_json() -> Result<()> {
    let world = ProductWorld::new().await?;
    let ProductWorld { server, ann, .. } = &world;
    for (attributes, code, words) in [
        (json!([1]), "INVALID", "a JSON object"),
        (json!("{}"), "INVALID", "a JSON object"),
        (json!({ "a": "\0" }), "INVALID", "U+0000"),
        (deep(MAX_JSON_DEPTH + 1)?, "INVALID", "16 deep"),
        (long(MAX_JSON_BYTES + 1), "TOO_LONG", "8192 bytes"),
    ] {
        let (shown_code, field, message) = world.refused(ann, json!({ "text": "x", "attributes": attributes })).await?;
        ensure!((shown_code.as_str(), field.as_str()) == (code, "attributes") && message.contains(words), "{message}");
    }
    for (field, value, code) in [
        ("externalId", json!(""), "INVALID"),
        ("type", json!("A run"), "INVALID"),
        ("url", json!("ftp://a.example"), "INVALID"),
        ("type", json!("r".repeat(65)), "TOO_LONG"),
    ] {
        let refused = world.refused(ann, json!({ "text": "x", field: value })).await?;
        ensure!((refused.0.as_str(), refused.1.as_str()) == (code, field), "{refused:?}");
    }
    let bare =
        "mutation { publishContent(input: { text: \"x\", attributes: { city: OSLO } }) { userErrors { code } } }";
    let bare = server.post_as((Some(&world.key), Some(&ann.id)), bare, json!({})).await?;
    ensure!(bare["errors"][0]["extensions"]["code"] == "BAD_USER_INPUT", "{bare}");
    let within = "mutation($km: Int) { it: publishContent(input: { text: \"x\", attributes: { km: $km } }) \
                  { timelineEdge { node { attributes } } } }";
    let within = world.acting(ann, within, json!({ "km": 10 })).await?;
    ensure!(within["it"]["timelineEdge"]["node"]["attributes"] == json!({ "km": 10 }), "{within}");
    Ok(())
}

#[tokio::test]
async fn the_largest_attributes_are_shown_and_counted() -> Result<()> {
    let world = ProductWorld::new().await?;
    let ProductWorld { server, ann, bob, .. } = &world;
    let mut socket = Socket::open(server, Some(&ann.access)).await?;
    ensure!(socket.hear().await? == Ok(json!({ "type": "connection_ack" })));
    let feed =
        "subscription { newFeed { ... on EntryAdded { timelineEdge { node { attributes again: attributes } } } } }";
    socket.say(&json!({ "type": "subscribe", "id": "1", "payload": { "query": feed } })).await?;
    until("it watches", async || Ok(server.app.hub.watching() == 1)).await?;
    for attributes in [deep(MAX_JSON_DEPTH)?, long(MAX_JSON_BYTES)] {
        let published = world.publish(ann, json!({ "text": "x", "attributes": attributes })).await?;
        ensure!(published["attributes"] == attributes, "{published}");
        let event = socket.hear().await?.ok().context("closed")?;
        let node = &event["payload"]["data"]["newFeed"]["timelineEdge"]["node"];
        ensure!(*node == json!({ "attributes": attributes, "again": attributes }), "{event}");
    }

    let twice = "query Twice { timeline(first: 2) { nodes { attributes } ...F } } \
                 fragment F on TimelineConnection { nodes { attributes type } }";
    let nodes = server.data(&ann.access, twice, json!({})).await?["timeline"]["nodes"].clone();
    let expected = [long(MAX_JSON_BYTES), deep(MAX_JSON_DEPTH)?].map(|it| json!({ "attributes": it, "type": "post" }));
    ensure!(nodes == json!(expected), "merged: {nodes}");
    let most = 2 * MAX_JSON_BYTES;
    let request = RequestLimits { answer_bytes: most, ..RequestLimits::default() };
    let small = beside(server, &ApiSettings { http: HttpSettings { request, ..short().http }, ..short() }).await?;
    let page = |fields: &str| format!("{{ content(id: $id) {{ {fields} }} }}");
    let id = server
        .data(&bob.access, "{ user(handle: \"ann\") { contents(first: 1) { nodes { id } } } }", json!({}))
        .await?;
    let id = json!({ "id": id["user"]["contents"]["nodes"][0]["id"] });
    let ask = async |fields: &str| small.post(None, &format!("query($id: ID!) {}", page(fields)), id.clone()).await;
    ensure!(ask("attributes").await?["errors"].is_null(), "one fits");
    let code = ask("attributes again: attributes").await?["errors"][0]["extensions"]["code"].clone();
    ensure!(code == "ANSWER_TOO_LARGE", "{code}");
    Ok(())
}
