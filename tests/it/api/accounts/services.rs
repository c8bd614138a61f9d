//! Services with keys: whom they act as, until when, at whose cost, and what is left of it in the log.

use std::{num::NonZeroU32, time::Duration};

use anyhow::{Context as _, Result, ensure};
use graphql_transport::http::{HttpSettings, RateLimits, TokenBucket};
use serde_json::{Value, json};
use tidefeed::{
    accounts::{
        SessionSettings,
        services::{KeyDigest, rotate_key},
    },
    app::ApiSettings,
    domain::account::service::{Scope, Scopes},
    store::service_keys::{NEVER, ServiceKey},
};

use super::client::{Socket, Tokens, beside, register, server, service_key, short};
use crate::{
    api::server::{ApiServer, settings},
    harness::CacheBackend,
    servers::Backend,
};

const BOUND_MS: i64 = 10_000;
const LIKE: &str = "mutation($id: ID!) { likeContent(input: { contentId: $id }) { userErrors { code } } }";
const WHO: &str = "{ viewer { handle } }";

fn scopes(of: &[Scope]) -> Scopes {
    of.iter().copied().collect()
}

async fn one() -> Result<ApiServer> {
    server(Backend::Sqlite, CacheBackend::NoCache).await
}

/// The handle of the viewer, or the code of the error.
async fn who_as(server: &ApiServer, key: &str, user: &str) -> Result<String> {
    let answer = server.post_as((Some(key), Some(user)), WHO, json!({})).await?;
    let found = answer["data"]["viewer"]["handle"].as_str().or(answer["errors"][0]["extensions"]["code"].as_str());
    found.map(str::to_owned).with_context(|| answer.to_string())
}

async fn publish(server: &ApiServer, by: &Tokens) -> Result<String> {
    let query =
        "mutation { publishContent(input: { text: \"x\" }) { timelineEdge { node { id } } userErrors { code } } }";
    let published = server.data(&by.access, query, json!({})).await?;
    let id = published["publishContent"]["timelineEdge"]["node"]["id"].as_str();
    id.map(str::to_owned).context("no id")
}

async fn revoke(server: &ApiServer) -> Result<()> {
    let accounts = &server.app.ports.accounts;
    for key in accounts.keys().await? {
        accounts.revoke_keys(&key.service).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_revoked_key_is_refused_on_every_node_within_the_bound() -> Result<()> {
    let here = one().await?;
    let there = beside(&here, &short()).await?;
    let ann = register(&here, "ann").await?;
    let key = service_key(&here, Scopes::all()).await?;
    for node in [&here, &there] {
        ensure!(who_as(node, &key, &ann.id).await? == "ann");
    }
    revoke(&here).await?;
    for node in [&here, &there] {
        node.app.clock.advance(BOUND_MS - 1);
        ensure!(who_as(node, &key, &ann.id).await? == "ann", "it may be believed for so long");
        node.app.clock.advance(1);
        ensure!(who_as(node, &key, &ann.id).await? == "UNAUTHENTICATED", "and no longer");
    }
    Ok(())
}

#[tokio::test]
async fn revoking_a_key_ends_its_subscriptions_on_every_node() -> Result<()> {
    let sessions = SessionSettings { revocation: Duration::from_millis(100), ..SessionSettings::default() };
    let quick = ApiSettings { sessions, ..short() };
    let here = beside(&one().await?, &quick).await?;
    let there = beside(&here, &quick).await?;
    let ann = register(&here, "ann").await?;
    let key = service_key(&here, Scopes::all()).await?;
    let mut sockets = Vec::new();
    for node in [&here, &there] {
        let mut socket = Socket::open_as(node, (Some(&key), Some(&ann.id))).await?;
        ensure!(socket.hear().await? == Ok(json!({ "type": "connection_ack" })));
        let payload = json!({ "query": "subscription { newFeed { __typename } }" });
        socket.say(&json!({ "type": "subscribe", "id": "1", "payload": payload })).await?;
        sockets.push(socket);
    }
    let mut own = Socket::open(&here, Some(&ann.access)).await?;
    ensure!(own.hear().await? == Ok(json!({ "type": "connection_ack" })));
    revoke(&here).await?;
    for socket in &mut sockets {
        ensure!(socket.hear().await? == Err(4403));
    }
    own.say(&json!({ "type": "ping" })).await?;
    ensure!(own.hear().await? == Ok(json!({ "type": "pong" })), "the user's own socket stays");
    Ok(())
}

#[tokio::test]
async fn a_rotated_key_is_good_for_a_day_and_an_expired_never() -> Result<()> {
    let server = one().await?;
    let ann = register(&server, "ann").await?;
    let key = service_key(&server, Scopes::all()).await?;
    let service = server.app.ports.accounts.keys().await?.remove(0).service;
    let rotated =
        rotate_key(&*server.app.ports.accounts, &service, Some(2 * 86_400_000), &server.app.ambient()).await?;
    let (new, _) = rotated.context("not rotated")?;
    ensure!(new != key && who_as(&server, &new, &ann.id).await? == "ann");
    server.app.clock.advance(86_400_000 - 1);
    ensure!(who_as(&server, &key, &ann.id).await? == "ann");
    server.app.clock.advance(BOUND_MS);
    ensure!(who_as(&server, &key, &ann.id).await? == "UNAUTHENTICATED", "the former one is over");
    ensure!(who_as(&server, &new, &ann.id).await? == "ann");
    server.app.clock.advance(86_400_000);
    ensure!(who_as(&server, &new, &ann.id).await? == "UNAUTHENTICATED", "and so is the new one");
    Ok(())
}

#[tokio::test]
async fn only_a_key_with_the_scope_acts_and_only_as_who_exists() -> Result<()> {
    let server = one().await?;
    let (ann, bob) = (register(&server, "ann").await?, register(&server, "bob").await?);
    let (all, reads) =
        (service_key(&server, Scopes::all()).await?, service_key(&server, scopes(&[Scope::Read])).await?);
    ensure!(who_as(&server, &all, &ann.id).await? == "ann");
    ensure!(who_as(&server, &reads, &ann.id).await? == "FORBIDDEN");
    ensure!(who_as(&server, &ann.access, &ann.id).await? == "FORBIDDEN", "a user is no service");
    for nobody in ["", "ann", "U_AAAAAAAAAAE", &publish(&server, &bob).await?] {
        ensure!(who_as(&server, &all, nobody).await? == "BAD_USER_INPUT", "{nobody}");
    }
    ensure!(who_as(&server, "tfs_AAAA", &ann.id).await? == "UNAUTHENTICATED");
    let delete = "mutation { deleteViewer(input: {}) { deletedUserId userErrors { code } } }";
    let deleted = server.post_as((Some(&all), Some(&bob.id)), delete, json!({})).await?;
    ensure!(deleted["data"]["deleteViewer"]["deletedUserId"] == bob.id.as_str(), "without the password: {deleted}");
    server.app.clock.advance(BOUND_MS);
    ensure!(who_as(&server, &all, &bob.id).await? == "BAD_USER_INPUT", "a deleted user is nobody");
    Ok(())
}

#[tokio::test]
async fn a_payload_shows_nothing_private_to_a_key_that_may_not_read() -> Result<()> {
    let server = one().await?;
    let ann = register(&server, "ann").await?;
    let content = publish(&server, &ann).await?;
    let bookmark = "mutation($id: ID!) { bookmarkContent(input: { contentId: $id }) { userErrors { code } } }";
    server.data(&ann.access, bookmark, json!({ "id": content })).await?;
    let query = "mutation($id: ID!) { it: likeContent(input: { contentId: $id }) { content { bookmarkCount author { handle \
                 bookmarks(first: 1) { nodes { id } } likes(first: 1) { nodes { id } } mutedUsers { nodes { id } } \
                 sessions { id } timelineReadMarker } } userErrors { code } } }";
    for (with, is_shown) in [(vec![Scope::ActAs, Scope::Reactions], false), (Scope::ALL.to_vec(), true)] {
        let key = service_key(&server, scopes(&with)).await?;
        let answer = server.post_as((Some(&key), Some(&ann.id)), query, json!({ "id": content })).await?;
        let content = &answer["data"]["it"]["content"];
        ensure!(content["author"]["handle"] == "ann", "{answer}");
        for private in ["bookmarks", "likes", "mutedUsers", "sessions"] {
            ensure!(content["author"][private].is_null() != is_shown, "{private}: {answer}");
        }
        ensure!(content["bookmarkCount"].is_null() != is_shown, "{answer}");
    }
    Ok(())
}

#[tokio::test]
async fn a_service_spends_its_own_points_and_not_those_of_the_user() -> Result<()> {
    let free = one().await?;
    let ann = register(&free, "ann").await?;
    let point = NonZeroU32::MIN;
    let bucket = |points| {
        Ok::<_, anyhow::Error>(TokenBucket { points: NonZeroU32::new(points).context("zero")?, per_second: point })
    };
    let rate = Some(RateLimits { viewer: bucket(50)?, service: bucket(200)?, address: bucket(50)?, known: 100 });
    let charging = beside(&free, &ApiSettings { http: HttpSettings { rate, ..settings().http }, ..settings() }).await?;
    let key = service_key(&free, Scopes::all()).await?;
    let ask = "{ timeline(first: 1) { nodes { id } } }";
    let mut served = 0;
    while charging.post_as((Some(&key), Some(&ann.id)), ask, json!({})).await?["errors"].is_null() {
        served += 1;
        ensure!(served < 500, "it is never refused");
    }
    ensure!(served > 0);
    let own = charging.post(Some(&ann.access), ask, json!({})).await?;
    ensure!(own["errors"].is_null(), "the user is not locked out: {own}");
    Ok(())
}

#[tokio::test]
async fn a_service_leaves_a_user_half_of_their_subscriptions() -> Result<()> {
    let server = one().await?;
    let ann = register(&server, "ann").await?;
    let reader = tidefeed::api::graphql::user_of_id(&ann.id)?;
    let live = &server.app.use_cases.live;
    let mut held = Vec::new();
    while let Ok(subscription) = live.subscribe_service(reader, None).await {
        held.push(subscription);
        ensure!(held.len() <= 200);
    }
    ensure!(held.len() == 100, "{}", held.len());
    ensure!(live.subscribe(reader, None).await.is_ok(), "the user still has room");
    Ok(())
}

#[tokio::test]
async fn the_log_says_who_did_what_as_whom_and_how_it_ended() -> Result<()> {
    let server = one().await?;
    let ann = register(&server, "ann").await?;
    let content = publish(&server, &ann).await?;
    let key = service_key(&server, scopes(&[Scope::ActAs, Scope::Reactions, Scope::Read])).await?;
    let service = server.app.ports.accounts.keys().await?.remove(0).service;
    let ask = |query: &'static str, id: Value| server.post_as((Some(&key), Some(&ann.id)), query, json!({ "id": id }));
    ask(LIKE, json!(content)).await?;
    ask("mutation($id: ID!) { likeContent(input: { contentId: $id }) { clientMutationId } }", json!("C_AAAAAAAAAAE"))
        .await?;
    ask("mutation($id: ID!) { followUser(input: { userId: $id }) { userErrors { code } } }", json!(ann.id)).await?;
    for _ in 0..3 {
        ask("query($id: ID!) { content(id: $id) { id } timeline { nodes { id } } }", json!(content)).await?;
    }
    server.post_as((Some(&key), None), "{ user(handle: \"ann\") { id } }", json!({})).await?;
    let logged = server.app.ports.accounts.logged_calls(Some(&service), 100).await?;
    let mut lines: Vec<_> =
        logged.iter().map(|it| (it.user.is_some(), it.operation.as_str(), it.outcome.as_str())).collect();
    lines.sort_unstable();
    let (like, read) = (format!("likeContent {content}"), format!("content {content}, timeline"));
    let follow = format!("followUser {}", ann.id);
    let mut expected = vec![
        (true, like.as_str(), "OK"),
        (true, "likeContent C_AAAAAAAAAAE", "NOT_FOUND"),
        (true, follow.as_str(), "FORBIDDEN"),
        (true, read.as_str(), "OK"),
        (false, "user", "OK"),
    ];
    expected.sort_unstable();
    ensure!(lines == expected, "{lines:#?}");
    server.app.clock.advance(90 * 86_400_000);
    server.app.use_cases.pruner.run_once().await?;
    ensure!(server.app.ports.accounts.logged_calls(None, 100).await?.len() == 5, "they are kept so long");
    server.app.clock.advance(1);
    server.app.use_cases.pruner.run_once().await?;
    ensure!(server.app.ports.accounts.logged_calls(None, 100).await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_key_that_may_act_as_nobody_has_a_line() -> Result<()> {
    let server = one().await?;
    let ann = register(&server, "ann").await?;
    let key = service_key(&server, scopes(&[Scope::Read])).await?;
    for _ in 0..3 {
        ensure!(who_as(&server, &key, &ann.id).await? == "FORBIDDEN");
    }
    let lines = server.app.ports.accounts.logged_calls(None, 100).await?;
    let lines: Vec<_> =
        lines.iter().map(|it| (it.user.is_some(), it.operation.as_str(), it.outcome.as_str())).collect();
    ensure!(lines == [(true, "tidefeed-act-as", "FORBIDDEN")], "one a minute: {lines:?}");
    Ok(())
}

#[tokio::test]
async fn a_batch_is_logged_by_author_and_outcome() -> Result<()> {
    let server = one().await?;
    let key = service_key(&server, scopes(&[Scope::ActAs, Scope::Contents, Scope::Users])).await?;
    let ask = |query: &'static str, input: Value| server.post_as((Some(&key), None), query, json!({ "input": input }));
    let users = json!({ "users": [{ "externalId": "a" }, { "externalId": "b" }, { "externalId": "c", "handle": "-" },
        { "externalId": "a text\nof several lines" }] });
    ask("mutation($input: UpsertUsersInput!) { upsertUsers(input: $input) { clientMutationId } }", users).await?;
    let content = |author: &str, id: &str, text: &str| json!({ "authorId": format!("ext:{author}"), "externalId": id, "text": text });
    let contents = [content("a", "1", "x"), content("b", "2", "x"), content("a", "3", "x"), content("a", "4", "")];
    let publish = "mutation($input: PublishContentsInput!) { publishContents(input: $input) { clientMutationId } }";
    ask(publish, json!({ "contents": contents })).await?;
    let logged = server.app.ports.accounts.logged_calls(None, 100).await?;
    let mut lines: Vec<_> = logged.iter().map(|it| (it.operation.as_str(), it.outcome.as_str(), it.user)).collect();
    lines.sort_unstable();
    let (a, b) = (lines[0].2, lines[1].2);
    ensure!(a.is_some() && b.is_some() && a != b, "{lines:#?}");
    let expected = [
        ("publishContents 1 3", "OK", a),
        ("publishContents 2", "OK", b),
        ("publishContents 4", "INVALID", a),
        ("upsertUsers a b", "OK", None),
        ("upsertUsers c", "INVALID", None),
    ];
    ensure!(lines == expected, "{lines:#?}");
    Ok(())
}

#[tokio::test]
async fn the_configured_key_needs_no_store_and_has_its_own_scopes() -> Result<()> {
    let first = one().await?;
    let ann = register(&first, "ann").await?;
    let text = format!("tfs_{}", "c".repeat(32));
    let key = ServiceKey {
        id: None,
        service: "configured".parse()?,
        scopes: scopes(&[Scope::ActAs, Scope::Read]),
        created_at: 0,
        expires_at: NEVER,
        last_used_at: 0,
    };
    let node = beside(&first, &ApiSettings { service_key: Some((KeyDigest::of(&text), key)), ..short() }).await?;
    ensure!(who_as(&node, &text, &ann.id).await? == "ann");
    ensure!(who_as(&first, &text, &ann.id).await? == "UNAUTHENTICATED", "another node does not have it");
    let like = node.post_as((Some(&text), Some(&ann.id)), LIKE, json!({ "id": "C_AAAAAAAAAAE" })).await?;
    let message = like["errors"][0]["message"].as_str().context("no message")?;
    ensure!(message.contains("`reactions`") && message.contains("tidefeed service add"), "{message}");
    Ok(())
}
