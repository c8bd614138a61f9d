//! Tests profiles with open attributes, edited by their users.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::client::{ask, register, server, sign_in};
use crate::{api::server::ApiServer, harness::CacheBackend, servers::Backend};

const PROFILE: &str = "{ user { handle name bio avatarUrl attributes { key value } } userErrors { code field } }";

async fn update(server: &ApiServer, token: &str, input: Value) -> Result<Value> {
    ask(server, Some(token), "updateProfile", "UpdateProfileInput", input, PROFILE).await
}

#[tokio::test]
async fn omitted_values_stay_and_null_removes_them() -> Result<()> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let ann = register(&server, "ann").await?.access;
    let city = json!([{ "key": "city", "value": "Ulm" }, { "key": "app.theme", "value": "" }]);
    let all = json!({ "name": " Ann A. ", "bio": "hi", "avatarUrl": "https://a.example/a.png", "attributes": city });
    let sorted = json!([{ "key": "app.theme", "value": "" }, { "key": "city", "value": "Ulm" }]);
    let user = json!({ "handle": "ann", "name": "Ann A.", "bio": "hi", "avatarUrl": "https://a.example/a.png", "attributes": sorted });
    ensure!(update(&server, &ann, all).await? == json!({ "user": user, "userErrors": [] }));
    ensure!(update(&server, &ann, json!({})).await?["user"] == user);
    let gone = update(&server, &ann, json!({ "bio": null, "avatarUrl": null, "attributes": null })).await?;
    ensure!(
        gone["user"] == json!({ "handle": "ann", "name": "Ann A.", "bio": "", "avatarUrl": null, "attributes": [] })
    );
    Ok(())
}

#[tokio::test]
async fn a_refused_edit_names_the_faulty_value_and_changes_nothing() -> Result<()> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let ann = register(&server, "ann").await?.access;
    let attribute = |key: &str, value: &str| json!({ "key": key, "value": value });
    let many: Vec<Value> = (0..17).map(|n| attribute(&format!("k{n}"), "")).collect();
    for (input, code, field) in [
        (json!({ "name": null }), "INVALID", json!(["input", "name"])),
        (json!({ "bio": "x".repeat(501) }), "TOO_LONG", json!(["input", "bio"])),
        (json!({ "name": "x".repeat(61) }), "TOO_LONG", json!(["input", "name"])),
        (json!({ "name": "\u{200b}" }), "INVALID", json!(["input", "name"])),
        (json!({ "name": "nn\u{202e}a" }), "INVALID", json!(["input", "name"])),
        (json!({ "bio": "a\0b" }), "INVALID", json!(["input", "bio"])),
        (json!({ "avatarUrl": "javascript:1" }), "INVALID", json!(["input", "avatarUrl"])),
        (json!({ "avatarUrl": format!("https://a/{}", "x".repeat(2048)) }), "TOO_LONG", json!(["input", "avatarUrl"])),
        (json!({ "attributes": many }), "TOO_LONG", json!(["input", "attributes"])),
        (
            json!({ "attributes": [attribute("a", ""), attribute("A", "")] }),
            "INVALID",
            json!(["input", "attributes", "1", "key"]),
        ),
        (json!({ "attributes": [attribute("a", "\n")] }), "INVALID", json!(["input", "attributes", "0", "value"])),
        (
            json!({ "attributes": [attribute("a", &"x".repeat(201))] }),
            "TOO_LONG",
            json!(["input", "attributes", "0", "value"]),
        ),
        (
            json!({ "attributes": [attribute(&"x".repeat(33), "")] }),
            "TOO_LONG",
            json!(["input", "attributes", "0", "key"]),
        ),
    ] {
        let mut input = input;
        input["name"] = input.get("name").cloned().unwrap_or_else(|| json!("changed"));
        let refused = update(&server, &ann, input).await?;
        ensure!(refused == json!({ "user": null, "userErrors": [{ "code": code, "field": field }] }), "{refused:#}");
    }
    ensure!(update(&server, &ann, json!({})).await?["user"]["name"] == "ann");
    Ok(())
}

#[tokio::test]
async fn attributes_are_public_and_sessions_are_private() -> Result<()> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let (ann, bob) = (register(&server, "ann").await?.access, register(&server, "bob").await?.access);
    update(&server, &ann, json!({ "attributes": [{ "key": "city", "value": "Ulm" }] })).await?;
    let query = "{ user(handle: \"ann\") { attributes { key value } sessions { id } } }";
    for token in [None, Some(bob.as_str())] {
        let seen = server.post(token, query, json!({})).await?;
        let expected =
            json!({ "data": { "user": { "attributes": [{ "key": "city", "value": "Ulm" }], "sessions": null } } });
        ensure!(seen == expected, "{seen:#}");
    }
    ensure!(server.data(&ann, query, json!({})).await?["user"]["sessions"].as_array().is_some_and(|it| it.len() == 1));
    Ok(())
}

#[tokio::test]
async fn a_new_handle_is_what_one_signs_in_with() -> Result<()> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let ann = register(&server, "ann").await?;
    register(&server, "bob").await?;
    let change = async |handle: &str| {
        let input = json!({ "handle": handle });
        ask(&server, Some(&ann.access), "changeHandle", "ChangeHandleInput", input, PROFILE).await
    };
    ensure!(change("@BOB").await?["userErrors"] == json!([{ "code": "TAKEN", "field": ["input", "handle"] }]));
    ensure!(change("a b").await?["userErrors"] == json!([{ "code": "INVALID", "field": ["input", "handle"] }]));
    ensure!(change("@Annie").await?["user"]["handle"] == "annie");
    ensure!(sign_in(&server, "annie").await?.id == ann.id);
    ensure!(register(&server, "ann").await?.id != ann.id, "the old handle is free");
    Ok(())
}
