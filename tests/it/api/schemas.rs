//! Tests attributes against the JSON Schemas of types: each way in, what is told, and the example of docs/services.md.

use std::{fs, sync::Arc};

use anyhow::{Context as _, Result, ensure};
use content_schemas::ContentSchemas;
use serde_json::{Value, json};
use tidefeed::{
    app::ApiSettings,
    domain::account::service::{Scope, Scopes},
};

use super::{
    accounts::client::{Tokens, beside, register, server, service_key, short},
    server::ApiServer,
};
use crate::{
    harness::CacheBackend,
    servers::{Backend, on_each_backend},
};

const DOCUMENT: &str = include_str!("../../../docs/services.md");
const PUBLISH: &str = "mutation($input: PublishContentInput!) { it: publishContent(input: $input) { \
                       timelineEdge { node { id } } userErrors { code field message } } }";
const FIND: &str = "query($id: String!) { it: contentByExternalId(externalId: $id) { attributes } }";

/// The example of this name in the document.
fn example(name: &str) -> Result<&'static str> {
    let (_, rest) = DOCUMENT.split_once(&format!("```json {name}\n")).context("no such example")?;
    Ok(rest.split_once("```").context("no end")?.0)
}

/// Settings with the document's schema for runs, and these.
fn settings(others: &[(&str, Value)]) -> Result<ApiSettings> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("run.json"), example("run.json")?)?;
    for (name, schema) in others {
        fs::write(folder.path().join(name), schema.to_string())?;
    }
    Ok(ApiSettings { content_schemas: Arc::new(ContentSchemas::read(folder.path())?), ..short() })
}

/// What the document's refusal is about.
fn misfit() -> Value {
    json!({ "km": "ten", "shoes": ["blue", 7] })
}

/// The payload of a content that the service publishes as a user.
async fn published(server: &ApiServer, (key, user): (&str, &Tokens), input: Value) -> Result<Value> {
    server.app.clock.advance(1);
    let answer = server.post_as((Some(key), Some(&user.id)), PUBLISH, json!({ "input": input })).await?;
    ensure!(answer["errors"].is_null(), "{answer}");
    Ok(answer["data"]["it"].clone())
}

async fn is_there(server: &ApiServer, key: &str, id: &str) -> Result<bool> {
    let answer = server.post(Some(key), FIND, json!({ "id": id })).await?;
    ensure!(answer["errors"].is_null(), "{answer}");
    Ok(!answer["data"]["it"].is_null())
}

async fn lines(server: &ApiServer, (path, key): (&str, &str), lines: &[Value]) -> Result<Vec<Value>> {
    let body: String = lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect();
    let (status, answer) = server.post_lines(path, (Some(key), None), body.into_bytes()).await?;
    ensure!(status == 200, "{status}: {answer:?}");
    Ok(answer.into_iter().filter(|line| line["progress"].is_null()).collect())
}

/// By mutations, and by lines of mutations.
async fn refused_by_the_api(server: &ApiServer, key: &str, ann: &Tokens) -> Result<()> {
    let run =
        |id: &str, attributes: Value| json!({ "text": "x", "externalId": id, "type": "run", "attributes": attributes });
    let one = published(server, (key, ann), run("one", misfit())).await?;
    let refusal: Value = serde_json::from_str(example("refusal.json")?)?;
    ensure!(one == json!({ "timelineEdge": null, "userErrors": [refusal] }), "{one}");
    let good = published(server, (key, ann), run("good", json!({ "km": 10, "shoes": ["blue"] }))).await?;
    ensure!(good["timelineEdge"]["node"]["id"].is_string(), "{good}");
    let bare = published(server, (key, ann), json!({ "text": "x", "type": "run" })).await?;
    ensure!(bare["userErrors"][0]["field"] == json!(["input", "attributes"]), "{bare}");
    ensure!(bare["userErrors"][0]["message"] == "`km` must be there.", "{bare}");

    let batch = "mutation($input: PublishContentsInput!) { it: publishContents(input: $input) { \
                 results { timelineEdge { node { id } } userErrors { field } } } }";
    let contents = json!([run("two", misfit()), run("three", json!({ "km": 3 }))]);
    let variables = json!({ "input": { "contents": contents } });
    let batch = server.post_as((Some(key), Some(&ann.id)), batch, variables).await?["data"]["it"].clone();
    let field = json!(["input", "contents", "0", "attributes", "km"]);
    ensure!(batch["results"][0]["userErrors"][0]["field"] == field, "{batch}");
    ensure!(batch["results"][1]["timelineEdge"]["node"]["id"].is_string(), "{batch}");

    let line = |id, attributes| json!({ "op": "publishContent", "as": ann.id, "data": run(id, attributes) });
    let bulk = lines(server, ("bulk", key), &[line("four", misfit()), line("five", json!({ "km": 5 }))]).await?;
    ensure!(bulk[0]["outcome"] == "refused" && bulk[0]["code"] == "INVALID", "{bulk:?}");
    ensure!(bulk[0]["field"] == json!(["data", "attributes", "km"]), "{bulk:?}");
    ensure!(bulk[0]["message"] == refusal["message"] && bulk[1]["outcome"] == "done", "{bulk:?}");
    Ok(())
}

async fn refused_by_an_import(server: &ApiServer, key: &str) -> Result<()> {
    let content = |id: &str, more: Value| {
        let mut data = json!({ "externalId": id, "author": "42", "createdAt": "2020-01-01T00:00:00Z" });
        data.as_object_mut().into_iter().for_each(|data| data.extend(more.as_object().cloned().unwrap_or_default()));
        json!({ "type": "content", "data": data })
    };
    let file = [
        json!({ "type": "header", "data": { "format": "tidefeed", "version": 1 } }),
        json!({ "type": "user", "data": { "externalId": "42" } }),
        content("six", json!({ "text": "x", "type": "run", "attributes": misfit() })),
        content("seven", json!({ "text": "x", "type": "run", "attributes": { "km": 7 } })),
        content("eight", json!({ "text": "x", "type": "walk", "attributes": misfit() })),
        content("nine", json!({ "repostOf": "seven", "type": "run" })),
        content("ten", json!({ "text": "x", "replyTo": "six" })),
    ];
    let report = lines(server, ("import", key), &file).await?;
    let refusal: Value = serde_json::from_str(example("refusal.json")?)?;
    ensure!(report[0]["line"] == 3 && report[0]["externalId"] == "six", "{report:?}");
    ensure!(report[0]["outcome"] == "refused" && report[0]["code"] == "INVALID", "{report:?}");
    ensure!(report[0]["field"] == json!(["data", "attributes", "km"]), "{report:?}");
    ensure!(report[0]["message"] == refusal["message"], "{report:?}");
    ensure!(report[1]["line"] == 7 && report[1]["code"] == "NOT_FOUND", "{report:?}");
    let summary = json!({ "lines": 7, "records": { "user": 1, "content": 3 }, "outcomes": { "refused": 2 } });
    ensure!(report[2]["summary"] == summary, "{report:?}");
    Ok(())
}

async fn every_way_in(backend: Backend) -> Result<()> {
    let first = server(backend, CacheBackend::NoCache).await?;
    let server = beside(&first, &settings(&[])?).await?;
    let key = service_key(&server, Scopes::all()).await?;
    let ann = register(&server, "ann").await?;
    refused_by_the_api(&server, &key, &ann).await?;
    refused_by_an_import(&server, &key).await?;
    for (ids, expected) in [
        (["one", "two", "four", "six", "ten"].as_slice(), false),
        (["good", "three", "five", "seven", "eight", "nine"].as_slice(), true),
    ] {
        for id in ids {
            ensure!(is_there(&server, &key, id).await? == expected, "{id}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn what_was_published_before_a_schema_stays() -> Result<()> {
    let free = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let key = service_key(&free, Scopes::all()).await?;
    let ann = register(&free, "ann").await?;
    let old = json!({ "text": "x", "externalId": "old", "type": "run", "attributes": misfit() });
    published(&free, (&key, &ann), old.clone()).await?;
    let strict = beside(&free, &settings(&[])?).await?;
    let found = strict.post(None, FIND, json!({ "id": "old" })).await?;
    ensure!(found["data"]["it"]["attributes"] == misfit(), "{found}");
    let again = published(&strict, (&key, &ann), old).await?;
    ensure!(again["userErrors"][0]["code"] == "INVALID", "it is checked before it is looked for: {again}");
    for input in [
        json!({ "text": "reply", "replyTo": "ext:old" }),
        json!({ "text": "walk", "type": "walk", "attributes": misfit() }),
        json!({ "text": "plain", "attributes": misfit() }),
    ] {
        let free = published(&strict, (&key, &ann), input).await?;
        ensure!(free["userErrors"] == json!([]), "a type without a schema is free: {free}");
    }
    let repost = "mutation { it: repostContent(input: { contentId: \"ext:old\" }) { userErrors { code } } }";
    ensure!(strict.data(&ann.access, repost, json!({})).await?["it"]["userErrors"] == json!([]));
    Ok(())
}

#[tokio::test]
async fn a_schema_for_posts_counts_for_what_users_write() -> Result<()> {
    let first = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let needed = json!({ "required": ["mood"], "propertyNames": { "pattern": "^[a-z]+$" } });
    let server = beside(&first, &settings(&[("post.json", needed)])?).await?;
    let ann = register(&server, "ann").await?;
    let plain = server.post(Some(&ann.access), PUBLISH, json!({ "input": { "text": "x" } })).await?;
    let error = &plain["data"]["it"]["userErrors"][0];
    ensure!(error["message"] == "`mood` must be there." && error["code"] == "INVALID", "{plain}");
    Ok(())
}

#[tokio::test]
async fn who_may_not_publish_is_told_nothing_of_a_schema() -> Result<()> {
    let first = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let server = beside(&first, &settings(&[])?).await?;
    let ann = register(&server, "ann").await?;
    let reader = service_key(&server, [Scope::Read, Scope::ActAs].into_iter().collect()).await?;
    let input = json!({ "input": { "text": "x", "type": "run", "attributes": misfit() } });
    for credentials in [(Some(ann.access.as_str()), None), (Some(reader.as_str()), Some(ann.id.as_str()))] {
        let answer = server.post_as(credentials, PUBLISH, input.clone()).await?;
        ensure!(answer["errors"][0]["extensions"]["code"] == "FORBIDDEN", "{answer}");
        ensure!(!answer.to_string().contains("must be"), "{answer}");
    }
    Ok(())
}

on_each_backend! {
    on sqlite, mariadb;
    async fn attributes_fit_their_schema_on_every_way_in(backend: Backend) -> Result<()> {
        every_way_in(backend).await
    }
}
