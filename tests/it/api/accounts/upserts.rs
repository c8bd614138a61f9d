//! Users by the product's ids: created, brought up to date, and found.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tidefeed::domain::account::service::{Scope, Scopes};

use super::client::{register, server, service_key};
use crate::{api::server::ApiServer, harness::CacheBackend, servers::Backend};

const UPSERT: &str = "mutation($users: [UpsertUserInput!]!) { it: upsertUsers(input: { users: $users }) { results { \
                      index outcome user { id handle name bio createdAt attributes { key value } } \
                      userErrors { code field } } } }";
const FIND: &str = "{ userByExternalId(externalId: \"42\") { id } }";

/// The results of an upsert.
async fn upsert(server: &ApiServer, key: &str, users: Value) -> Result<Vec<Value>> {
    let answer = server.post(Some(key), UPSERT, json!({ "users": users })).await?;
    answer["data"]["it"]["results"].as_array().cloned().with_context(|| answer.to_string())
}

async fn backend() -> Result<(ApiServer, String)> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let key = service_key(&server, [Scope::Users, Scope::Read].into_iter().collect()).await?;
    Ok((server, key))
}

#[tokio::test]
async fn an_upsert_creates_then_changes_what_it_names_and_then_nothing() -> Result<()> {
    let (server, key) = backend().await?;
    let joined = "2019-05-01T08:00:00.000Z";
    let city = json!([{ "key": "city", "value": "Oslo" }]);
    let whole = json!([
        { "externalId": "42", "handle": "mara", "name": "Mara", "bio": "x", "createdAt": joined, "attributes": city },
        { "externalId": "7" },
    ]);
    let made = upsert(&server, &key, whole.clone()).await?;
    ensure!(made.iter().all(|it| it["outcome"] == "CREATED" && it["userErrors"] == json!([])), "{made:?}");
    let mara = &made[0]["user"];
    ensure!(mara["handle"] == "mara" && mara["createdAt"] == joined && mara["attributes"] == city, "{mara}");
    let named = made[1]["user"]["handle"].as_str().context("no handle")?;
    ensure!(named.starts_with("user_") && made[1]["user"]["name"] == named, "{made:?}");
    let again = upsert(&server, &key, whole).await?;
    ensure!(again.iter().all(|it| it["outcome"] == "UNCHANGED"), "{again:?}");
    let part = upsert(&server, &key, json!([{ "externalId": "42", "name": "M", "bio": null }])).await?;
    let changed = &part[0]["user"];
    ensure!(part[0]["outcome"] == "UPDATED" && changed["id"] == mara["id"], "{part:?}");
    ensure!(changed["name"] == "M" && changed["bio"] == "" && changed["handle"] == "mara", "{changed}");
    ensure!(changed["attributes"] == city, "what is left out stays");
    let found = server.post(Some(&key), FIND, json!({})).await?;
    ensure!(found["data"]["userByExternalId"]["id"] == mara["id"], "{found}");
    Ok(())
}

#[tokio::test]
async fn what_is_older_than_what_was_said_before_changes_nothing() -> Result<()> {
    let (server, key) = backend().await?;
    for (name, as_of, outcome) in [
        ("first", json!("2019-01-01T00:00:10.000Z"), "CREATED"),
        ("late", json!("2019-01-01T00:00:09.999Z"), "UNCHANGED"),
        ("second", json!("2019-01-01T00:00:10.000Z"), "UPDATED"),
        ("third", json!("2019-01-01T00:00:11.000Z"), "UPDATED"),
        ("late", json!("2019-01-01T00:00:10.500Z"), "UNCHANGED"),
        ("now", Value::Null, "UPDATED"),
        ("late", json!("2019-01-01T00:00:12.000Z"), "UNCHANGED"),
    ] {
        let done = upsert(&server, &key, json!([{ "externalId": "42", "name": name, "asOf": as_of }])).await?;
        ensure!(done[0]["outcome"] == outcome, "{name}: {done:?}");
        ensure!((done[0]["user"]["name"] == name) == (name != "late"), "{name}: {done:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_refused_user_keeps_no_other_from_being_done() -> Result<()> {
    let (server, key) = backend().await?;
    register(&server, "ann").await?;
    let users = json!([
        { "externalId": "1", "handle": "ann" },
        { "externalId": "2", "name": "two" },
        { "externalId": "" },
        { "externalId": "4", "name": "\n" },
        { "externalId": "5", "asOf": "2100-01-01T00:00:00.000Z" },
    ]);
    let done = upsert(&server, &key, users).await?;
    let found: Vec<_> = done.iter().map(|it| (it["outcome"].clone(), it["userErrors"][0]["field"].clone())).collect();
    let refused = |index: &str, field: &str| (Value::Null, json!(["input", "users", index, field]));
    let expected = [
        refused("0", "handle"),
        (json!("CREATED"), Value::Null),
        refused("2", "externalId"),
        refused("3", "name"),
        refused("4", "asOf"),
    ];
    ensure!(found == expected, "{done:#?}");
    let many: Vec<_> = (0..101).map(|number| json!({ "externalId": number.to_string() })).collect();
    let refused = server.post(Some(&key), UPSERT, json!({ "users": many })).await?;
    ensure!(refused["errors"][0]["extensions"]["code"] == "BAD_USER_INPUT", "{refused}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_upserts_at_once_one_creates_the_user() -> Result<()> {
    let (server, key) = backend().await?;
    let users = json!([{ "externalId": "42", "name": "Mara" }]);
    let done = futures_util::future::try_join_all((0..20).map(|_| upsert(&server, &key, users.clone()))).await?;
    let created = done.iter().filter(|it| it[0]["outcome"] == "CREATED").count();
    let id = &done[0][0]["user"]["id"];
    ensure!(created == 1 && id.is_string() && done.iter().all(|it| it[0]["user"]["id"] == *id), "{done:#?}");
    Ok(())
}

#[tokio::test]
async fn a_deleted_user_comes_back_by_the_products_word_alone() -> Result<()> {
    let (server, _) = backend().await?;
    let key = service_key(&server, Scopes::all()).await?;
    let users = json!([{ "externalId": "42" }]);
    let first = upsert(&server, &key, users.clone()).await?[0]["user"].clone();
    let mut before = first.clone();
    for number in 0..3 {
        let id = before["id"].as_str().context("no id")?;
        let delete = "mutation { deleteViewer(input: {}) { deletedUserId } }";
        server.post_as((Some(&key), Some(id)), delete, json!({})).await?;
        let found = server.post(Some(&key), FIND, json!({})).await?;
        ensure!(found["data"]["userByExternalId"].is_null() && found["errors"].is_null(), "{found}");
        let again = upsert(&server, &key, users.clone()).await?;
        ensure!(again[0]["outcome"] == "CREATED", "{number}: {again:?}");
        let after = again[0]["user"].clone();
        ensure!(after["id"] != before["id"] && after["handle"] != before["handle"], "{number}: {again:?}");
        before = after;
    }
    let found = server.post(Some(&key), FIND, json!({})).await?;
    ensure!(found["data"]["userByExternalId"]["id"] == before["id"], "{found}");
    let handle = json!([{ "externalId": "42", "handle": first["handle"] }]);
    let taken = upsert(&server, &key, handle).await?;
    ensure!(taken[0]["userErrors"][0]["code"] == "TAKEN", "the former account keeps its handle: {taken:?}");
    Ok(())
}
