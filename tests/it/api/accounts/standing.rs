//! What services do with users: keep them out, let them in, delete them, call them otherwise, sign them in, and name
//! them by the product's ids.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tidefeed::{
    accounts::SessionSettings,
    app::ApiSettings,
    domain::account::service::{Scope, Scopes},
};

use super::client::{Socket, Tokens, beside, refresh, register, server, service_key, short, sign_in, try_sign_in, who};
use crate::{api::server::ApiServer, harness::CacheBackend, servers::Backend};

const BOUND_MS: i64 = 10_000;

async fn one() -> Result<(ApiServer, String)> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let key = service_key(&server, Scopes::all()).await?;
    Ok((server, key))
}

/// The payload of a mutation about a user.
async fn change(server: &ApiServer, key: &str, mutation: &str, arguments: &str, selection: &str) -> Result<Value> {
    let query = format!(
        "mutation {{ it: {mutation}(input: {{ {arguments} }}) {{ {selection} userErrors {{ code field }} }} }}"
    );
    let mut answer = server.post(Some(key), &query, json!({})).await?;
    ensure!(answer["errors"].is_null(), "{answer}");
    Ok(answer["data"]["it"].take())
}

/// As [`change`], of an input that is a user alone.
async fn set(server: &ApiServer, key: &str, mutation: &str, user: &str) -> Result<Value> {
    let payload = change(server, key, mutation, &format!("userId: {user:?}"), "user { id state }").await?;
    ensure!(payload["userErrors"] == json!([]), "{payload}");
    Ok(payload["user"].clone())
}

async fn issue(server: &ApiServer, key: &str, user: &str) -> Result<String> {
    let payload =
        change(server, key, "issueToken", &format!("userId: {user:?}"), "token expiresAt user { id }").await?;
    payload["token"].as_str().map(str::to_owned).with_context(|| payload.to_string())
}

/// The id of a user whom the product calls so.
async fn upserted(server: &ApiServer, key: &str, external_id: &str) -> Result<String> {
    let upsert = "mutation($id: String!) { it: upsertUsers(input: { users: [{ externalId: $id }] }) \
                  { results { user { id externalId } } } }";
    let answer = server.post(Some(key), upsert, json!({ "id": external_id })).await?;
    let user = &answer["data"]["it"]["results"][0]["user"];
    ensure!(user["externalId"] == external_id, "{answer}");
    user["id"].as_str().map(str::to_owned).context("no id")
}

async fn as_whom(server: &ApiServer, key: &str, user: &str) -> Result<Value> {
    let answer = server.post_as((Some(key), Some(user)), "{ viewer { id } }", json!({})).await?;
    let code = answer["errors"][0]["extensions"]["code"].clone();
    Ok(if code.is_null() { answer["data"]["viewer"]["id"].clone() } else { code })
}

#[tokio::test]
async fn a_deactivated_user_is_kept_out_everywhere_until_reactivated() -> Result<()> {
    let (here, key) = one().await?;
    let there = beside(&here, &short()).await?;
    let (ann, bob) = (register(&here, "ann").await?, register(&here, "bob").await?);
    let publish = "mutation { publishContent(input: { text: \"x\" }) { userErrors { code } } }";
    here.data(&ann.access, publish, json!({})).await?;
    let issued = issue(&here, &key, &ann.id).await?;
    for node in [&here, &there] {
        for token in [&ann.access, &issued] {
            ensure!(who(node, token).await? == "ann");
        }
        ensure!(as_whom(node, &key, &ann.id).await? == ann.id);
    }
    ensure!(set(&here, &key, "deactivateUser", &ann.id).await?["state"] == "DEACTIVATED");
    for node in [&here, &there] {
        node.app.clock.advance(BOUND_MS);
        for token in [&ann.access, &issued] {
            ensure!(who(node, token).await? == "UNAUTHENTICATED");
        }
        ensure!(as_whom(node, &key, &ann.id).await? == "BAD_USER_INPUT");
        ensure!(refresh(node, &ann.refresh).await?.is_none());
        let refused = try_sign_in(node, "ann", super::client::PASSWORD).await?;
        ensure!(refused["userErrors"][0]["code"] == "NOT_ALLOWED" && refused["token"].is_null(), "{refused}");
        let look = "{ user(handle: \"ann\") { state contents { nodes { text } } } searchUsers(text: \"ann\") { nodes { id } } \
                    suggestedUsers { handle } }";
        let seen = node.data(&bob.access, look, json!({})).await?;
        ensure!(seen["user"]["contents"]["nodes"] == json!([{ "text": "x" }]), "contents stay: {seen}");
        ensure!(seen["user"]["state"] == "DEACTIVATED" && seen["searchUsers"]["nodes"] == json!([]), "{seen}");
        ensure!(seen["suggestedUsers"] == json!([]), "{seen}");
    }
    let none = change(&here, &key, "issueToken", &format!("userId: {:?}", ann.id), "token").await?;
    ensure!(none["token"].is_null() && none["userErrors"][0]["code"] == "NOT_ALLOWED", "{none}");
    ensure!(set(&there, &key, "reactivateUser", &ann.id).await?["state"] == "ACTIVE");
    let again = sign_in(&here, "ann").await?;
    for node in [&here, &there] {
        ensure!(who(node, &again.access).await? == "ann" && as_whom(node, &key, &ann.id).await? == ann.id);
        let found = node.data(&bob.access, "{ searchUsers(text: \"ann\") { nodes { id } } }", json!({})).await?;
        ensure!(found["searchUsers"]["nodes"] == json!([{ "id": ann.id }]), "{found}");
    }
    Ok(())
}

#[tokio::test]
async fn a_deactivation_ends_subscriptions_on_every_node() -> Result<()> {
    let sessions = SessionSettings { revocation: Duration::from_millis(100), ..SessionSettings::default() };
    let quick = ApiSettings { sessions, ..short() };
    let (first, key) = one().await?;
    let (here, there) = (beside(&first, &quick).await?, beside(&first, &quick).await?);
    let ann = register(&here, "ann").await?;
    let issued = issue(&here, &key, &ann.id).await?;
    let mut sockets = Vec::new();
    for node in [&here, &there] {
        for credentials in [(ann.access.as_str(), None), (&issued, None), (&key, Some(ann.id.as_str()))] {
            let mut socket = Socket::open_as(node, (Some(credentials.0), credentials.1)).await?;
            ensure!(socket.hear().await? == Ok(json!({ "type": "connection_ack" })));
            let payload = json!({ "query": "subscription { newFeed { __typename } }" });
            socket.say(&json!({ "type": "subscribe", "id": "1", "payload": payload })).await?;
            sockets.push(socket);
        }
    }
    set(&first, &key, "deactivateUser", &ann.id).await?;
    for socket in &mut sockets {
        ensure!(socket.hear().await? == Err(4403));
    }
    Ok(())
}

#[tokio::test]
async fn a_service_signs_users_in_while_its_key_is_good() -> Result<()> {
    let (server, key) = one().await?;
    let ann = register(&server, "ann").await?;
    let issuing = service_key(&server, [Scope::Tokens].into_iter().collect()).await?;
    for minutes in ["0", "-1", "1441"] {
        let arguments = format!("userId: {:?}, expiresInMinutes: {minutes}", ann.id);
        let refused = change(&server, &issuing, "issueToken", &arguments, "token").await?;
        ensure!(refused["userErrors"][0]["field"] == json!(["input", "expiresInMinutes"]), "{refused}");
    }
    let (short, usual) = (
        change(&server, &issuing, "issueToken", &format!("userId: {:?}, expiresInMinutes: 1", ann.id), "token").await?,
        issue(&server, &issuing, &ann.id).await?,
    );
    let short = short["token"].as_str().context("no token")?;
    ensure!(who(&server, short).await? == "ann" && who(&server, &usual).await? == "ann");
    let sessions = server.data(&usual, "{ viewer { sessions { isCurrent } } }", json!({})).await?;
    ensure!(sessions["viewer"]["sessions"] == json!([{ "isCurrent": false }]), "it is no session: {sessions}");
    server.app.clock.advance(66_000);
    ensure!(who(&server, short).await? == "UNAUTHENTICATED" && who(&server, &usual).await? == "ann");
    let accounts = &server.app.ports.accounts;
    let service = accounts.keys().await?.into_iter().find(|it| it.scopes == [Scope::Tokens].into_iter().collect());
    accounts.revoke_keys(&service.context("no key")?.service).await?;
    server.app.clock.advance(BOUND_MS);
    ensure!(who(&server, &usual).await? == "UNAUTHENTICATED", "its key is over");
    let nobody = change(&server, &key, "issueToken", "userId: \"ext:nobody\"", "token").await?;
    ensure!(nobody["userErrors"][0]["code"] == "NOT_FOUND", "{nobody}");
    Ok(())
}

#[tokio::test]
async fn a_products_id_stands_wherever_a_user_s_id_does() -> Result<()> {
    let (server, key) = one().await?;
    let (mara, nils) = (upserted(&server, &key, "42").await?, upserted(&server, &key, "7").await?);
    ensure!(as_whom(&server, &key, "ext:42").await? == mara);
    ensure!(as_whom(&server, &key, "ext:8").await? == "BAD_USER_INPUT");
    let asked = "query($ids: [ID!]!) { node(id: \"ext:42\") { id } nodes(ids: $ids) { id } \
                 search(author: \"ext:7\") { nodes { id } } }";
    let ids = json!(["ext:7", mara, "ext:nobody", "ext:42", "ext:", "what"]);
    let answer = server.post(Some(&key), asked, json!({ "ids": ids })).await?;
    let node = |id: &str| json!({ "id": id });
    ensure!(answer["data"]["node"]["id"] == mara, "{answer}");
    let expected = json!([node(&nils), node(&mara), null, node(&mara), null, null]);
    ensure!(answer["data"]["nodes"] == expected, "{answer}");
    ensure!(answer["errors"].as_array().map(Vec::len) == Some(1), "only `what` is no id: {answer}");
    for (mutation, user, code) in [
        ("followUser", "ext:7", Value::Null),
        ("muteUser", "ext:7", Value::Null),
        ("unmuteUser", "ext:7", Value::Null),
        ("followUser", "ext:nobody", json!("NOT_FOUND")),
        ("unfollowUser", "ext:nobody", json!("NOT_FOUND")),
        ("blockUser", "ext:nobody", json!("NOT_FOUND")),
        ("unblockUser", "ext:nobody", json!("NOT_FOUND")),
    ] {
        let query = format!(
            "mutation($id: ID!) {{ it: {mutation}(input: {{ userId: $id }}) {{ user {{ id }} userErrors {{ code }} }} }}"
        );
        let answer = server.post_as((Some(&key), Some("ext:42")), &query, json!({ "id": user })).await?;
        let it = &answer["data"]["it"];
        ensure!(it["userErrors"][0]["code"] == code, "{mutation} {user}: {answer}");
        ensure!(it["user"]["id"] == if code.is_null() { json!(nils) } else { Value::Null }, "{mutation}: {answer}");
    }
    Ok(())
}

#[tokio::test]
async fn external_ids_are_for_services_and_their_owners_if_so_configured() -> Result<()> {
    let (first, key) = one().await?;
    let server = beside(&first, &ApiSettings { shows_external_ids: false, ..short() }).await?;
    let (mara, ann) = (upserted(&server, &key, "42").await?, register(&server, "ann").await?);
    let own = issue(&server, &key, &mara).await?;
    let ask = "query($id: ID!) { node(id: $id) { ... on User { externalId } } called: node(id: \"ext:42\") { id } \
               userByExternalId(externalId: \"42\") { id } }";
    for (token, is_shown, may_name) in [
        (Some(key.as_str()), true, true),
        (Some(&own), true, false),
        (Some(&ann.access), false, false),
        (None, false, false),
    ] {
        let data = server.post(token, ask, json!({ "id": mara })).await?["data"].clone();
        ensure!(data["node"]["externalId"].is_null() != is_shown, "{token:?}: {data}");
        ensure!(data["called"].is_null() != may_name && data["userByExternalId"].is_null() != may_name, "{data}");
    }
    let open = first.post(None, ask, json!({ "id": mara })).await?["data"].clone();
    ensure!(open["node"]["externalId"] == "42" && open["called"]["id"] == mara, "they are public by default: {open}");
    Ok(())
}

#[tokio::test]
async fn a_user_is_called_otherwise_by_the_products_word() -> Result<()> {
    let (server, key) = one().await?;
    let (mara, ann) = (upserted(&server, &key, "42").await?, register(&server, "ann").await?);
    let rebind = async |user: &str, to: &str| {
        let arguments = format!("userId: {user:?}, externalId: {to:?}");
        change(&server, &key, "rebindExternalId", &arguments, "user { id externalId }").await
    };
    let done = rebind("ext:42", "43").await?;
    ensure!(done["user"] == json!({ "id": mara, "externalId": "43" }), "{done}");
    ensure!(rebind(&ann.id, "ann's").await?["user"]["externalId"] == "ann's", "a user with a password gets one, too");
    ensure!(rebind(&ann.id, "43").await?["userErrors"][0]["code"] == "TAKEN");
    ensure!(rebind(&ann.id, "").await?["userErrors"][0]["code"] == "INVALID");
    ensure!(rebind("ext:nobody", "x").await?["userErrors"][0]["code"] == "NOT_FOUND");
    server.app.clock.advance(BOUND_MS);
    ensure!(
        as_whom(&server, &key, "ext:43").await? == mara && as_whom(&server, &key, "ext:42").await? == "BAD_USER_INPUT"
    );
    ensure!(upserted(&server, &key, "42").await? != mara, "the former id is free");
    Ok(())
}

#[tokio::test]
async fn a_service_deletes_users_with_and_without_a_password() -> Result<()> {
    let (server, key) = one().await?;
    let mara = upserted(&server, &key, "42").await?;
    let Tokens { id: ann, access, .. } = register(&server, "ann").await?;
    for (user, id, ended) in [("ext:42", &mara, 0), (ann.as_str(), &ann, 1)] {
        let selection = "deletedUserId endedSessionCount";
        let arguments = format!("userId: {user:?}");
        let gone = change(&server, &key, "deleteUser", &arguments, selection).await?;
        ensure!(gone["deletedUserId"] == *id && gone["endedSessionCount"] == ended, "{gone}");
        let again = change(&server, &key, "deleteUser", &arguments, selection).await?;
        ensure!(again["userErrors"][0]["code"] == "NOT_FOUND", "{again}");
    }
    ensure!(who(&server, &access).await? == "UNAUTHENTICATED");
    Ok(())
}
