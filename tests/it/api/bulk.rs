//! Tests `POST /bulk`: a result for each line while it runs, repeats, limits, and whom it lets in.

use std::{num::NonZeroU32, time::Duration};

use anyhow::{Context as _, Result, ensure};
use graphql_transport::http::{HttpSettings, Manifest, PersistedSettings, RateLimits, TokenBucket};
use serde_json::{Value, json};
use tidefeed::{
    accounts::SessionSettings,
    app::ApiSettings,
    domain::account::service::{Scope, Scopes},
};

use super::{
    accounts::client::{Socket, beside, register, server, service_key, short},
    server::ApiServer,
};
use crate::{
    binary::{lines::Exchange, process::until},
    harness::CacheBackend,
    servers::{Backend, on_each_backend},
};

/// A bulk whose head is sent.
async fn bulk(server: &ApiServer, key: &str) -> Result<Exchange> {
    let authorization = format!("Bearer {key}");
    Exchange::begin(&server.address.to_string(), "/bulk", &[("authorization", &authorization)]).await
}

/// All results of these lines, and the last line.
async fn all(server: &ApiServer, key: &str, lines: &[Value]) -> Result<Vec<Value>> {
    let mut exchange = bulk(server, key).await?;
    let mut results = Vec::new();
    for line in lines {
        exchange.say_line(line).await?;
        results.extend(exchange.hear().await?);
        server.app.clock.advance(1);
    }
    exchange.end().await?;
    results.extend(exchange.rest().await?);
    Ok(results)
}

fn act(op: &str, user: &str, data: &Value) -> Value {
    json!({ "op": op, "as": user, "data": data })
}

/// Line, outcome, code and field.
fn shown(result: &Value) -> String {
    let field: Vec<&str> = result["field"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let text = |key: &str| result[key].as_str().unwrap_or("-");
    format!("{} {} {} {}", result["line"], text("outcome"), text("code"), field.join("."))
}

/// Lines that are done, each heard before the next is sent, with a subscriber who sees them.
async fn done_at_once(server: &ApiServer, exchange: &mut Exchange) -> Result<()> {
    let bob = register(server, "bob").await?;
    let users = json!({ "users": [{ "externalId": "mära" }, { "externalId": "2", "handle": "two" }] });
    exchange.say_line(&json!({ "op": "upsertUsers", "data": users })).await?;
    let first = exchange.hear().await?.context("no result")?;
    ensure!(shown(&first) == "1 done - " && first["data"]["results"][1]["outcome"] == "CREATED", "{first}");
    exchange.say_line(&act("followUser", &bob.id, &json!({ "userId": "ext:mära" }))).await?;
    ensure!(exchange.hear().await?.is_some_and(|it| it["data"]["user"]["id"].is_string()));
    let mut socket = Socket::open(server, Some(&bob.access)).await?;
    ensure!(socket.hear().await? == Ok(json!({ "type": "connection_ack" })));
    let feed = "subscription { newFeed { ... on EntryAdded { timelineEdge { node { text } } } } }";
    socket.say(&json!({ "type": "subscribe", "id": "1", "payload": { "query": feed } })).await?;
    until("it watches", async || Ok(server.app.hub.watching() == 1)).await?;
    exchange.say_line(&post("Low tide at six.")).await?;
    let published = exchange.hear().await?.context("no result")?;
    ensure!(published["data"]["timelineEdge"]["node"]["id"].is_string(), "{published}");
    let event = socket.hear().await?.ok().context("closed")?;
    let text = &event["payload"]["data"]["newFeed"]["timelineEdge"]["node"]["text"];
    ensure!(text == "Low tide at six.", "who follows sees it at once: {event}");
    Ok(())
}

fn post(text: &str) -> Value {
    act("publishContent", "ext:mära", &json!({ "text": text, "externalId": "p" }))
}

async fn each_line_has_its_result(backend: Backend) -> Result<()> {
    let server = server(backend, CacheBackend::NoCache).await?;
    let key = service_key(&server, Scopes::all()).await?;
    let mut exchange = bulk(&server, &key).await?;
    done_at_once(&server, &mut exchange).await?;
    let like = |of: &str| json!({ "contentId": of, "clientMutationId": "mine" });
    let lines = [
        post("Something else.").to_string(),
        act("publishContent", "ext:2", &json!({ "text": "x".repeat(20_000) })).to_string(),
        act("likeContent", "ext:nobody", &like("ext:p")).to_string(),
        act("likeContent", "ext:2", &like("ext:none")).to_string(),
        act("likeContent", "ext:2", &json!({ "content": "ext:p" })).to_string(),
        json!({ "op": "likeContent", "data": like("ext:p") }).to_string(),
        act("changePassword", "ext:2", &json!({})).to_string(),
        act("likeContent", "ext:\n", &like("ext:p")).to_string(),
        format!("{{\"op\":\"likeContent\",\"text\":\"{}\"}}", "x".repeat(70_000)),
        String::new(),
        "nonsense".to_owned(),
        r#"{"op":"likeContent","op":"likeContent"}"#.to_owned(),
        act("likeContent", "ext:2", &like("ext:p")).to_string(),
    ];
    exchange.say(&(lines.join("\n") + "\n")).await?;
    exchange.end().await?;
    let mut results = exchange.rest().await?;
    let expected = [
        "4 conflict CONFLICT data.externalId",
        "5 refused TOO_LONG data.text",
        "6 refused BAD_USER_INPUT ",
        "7 refused NOT_FOUND data.contentId",
        "8 refused BAD_USER_INPUT ",
        "9 refused UNAUTHENTICATED ",
        "10 refused INVALID op",
        "11 refused INVALID as",
        "12 refused TOO_LONG ",
        "14 refused INVALID ",
        "15 refused INVALID ",
        "16 done - ",
    ];
    let last = results.pop().context("no summary")?;
    ensure!(results.iter().map(shown).collect::<Vec<_>>() == expected, "{results:#?}");
    ensure!(results.last().is_some_and(|it| it["data"]["clientMutationId"] == "mine"), "{results:#?}");
    let summary = json!({ "lines": 16, "outcomes": { "done": 4, "refused": 10, "conflict": 1 } });
    ensure!(last == json!({ "summary": summary }), "{last}");
    let log = server.app.ports.accounts.logged_calls(None, 100).await?;
    ensure!(log.iter().any(|call| call.operation == "likeContent ext:p" && call.outcome == "OK"), "{log:#?}");
    Ok(())
}

/// What readers see of the world that [`story`] makes.
async fn seen(server: &ApiServer, key: &str) -> Result<Value> {
    let query = "{ timeline { nodes { text likeCount replyCount author { name followerCount contentCount } } } }";
    let page = server.post_as((Some(key), Some("ext:2")), query, json!({})).await?;
    ensure!(page["errors"].is_null(), "{page}");
    Ok(page["data"].clone())
}

fn story() -> Vec<Value> {
    let names: Vec<Value> =
        (1..=3).map(|id| json!({ "externalId": id.to_string(), "name": format!("n{id}") })).collect();
    let post = |id: &str, more: Value| {
        let mut data = json!({ "text": format!("post {id}"), "externalId": id });
        data.as_object_mut().into_iter().zip(more.as_object()).for_each(|(to, more)| to.extend(more.clone()));
        act("publishContent", "ext:1", &data)
    };
    vec![
        json!({ "op": "upsertUsers", "data": { "users": names } }),
        act("followUser", "ext:2", &json!({ "userId": "ext:1" })),
        post("a", json!({})),
        act("publishContent", "ext:1", &json!({ "text": "by key", "idempotencyKey": "k" })),
        post("b", json!({ "replyTo": "ext:a" })),
        act("likeContent", "ext:2", &json!({ "contentId": "ext:a" })),
        act("likeContent", "ext:3", &json!({ "contentId": "ext:a" })),
        act("unlikeContent", "ext:3", &json!({ "contentId": "ext:a" })),
        post("c", json!({})),
        act("updateProfile", "ext:1", &json!({ "name": "Mara" })),
        act("bookmarkContent", "ext:3", &json!({ "contentId": "ext:c" })),
    ]
}

#[tokio::test]
async fn a_bulk_that_broke_off_and_was_sent_again_equals_one_run() -> Result<()> {
    let once = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let key = service_key(&once, Scopes::all()).await?;
    let results = all(&once, &key, &story()).await?;
    ensure!(results.last().is_some_and(|it| it["summary"]["outcomes"]["done"] == 11), "{results:#?}");
    let expected = seen(&once, &key).await?;
    ensure!(expected["timeline"]["nodes"].as_array().is_some_and(|nodes| nodes.len() == 4), "{expected}");
    for broken_at in [1, 4, 8] {
        let world = server(Backend::Sqlite, CacheBackend::NoCache).await?;
        let key = service_key(&world, Scopes::all()).await?;
        let mut begun = bulk(&world, &key).await?;
        let mut ids = Vec::new();
        for line in &story()[..broken_at] {
            begun.say_line(line).await?;
            ids.push(begun.hear().await?.context("no result")?["data"].clone());
            world.app.clock.advance(1);
        }
        // Nobody hears what becomes of it.
        begun.say_line(&story()[broken_at]).await?;
        drop(begun);
        let again = all(&world, &key, &story()).await?;
        ensure!(again.last().is_some_and(|it| it["summary"]["outcomes"]["done"] == 11), "{again:#?}");
        let published =
            |of: &[Value]| -> Vec<Value> { of.iter().filter_map(|data| data.get("timelineEdge").cloned()).collect() };
        let ids_again: Vec<Value> = again.iter().map(|it| it["data"].clone()).collect();
        ensure!(published(&ids_again).starts_with(&published(&ids)), "{ids:#?} {again:#?}");
        ensure!(seen(&world, &key).await? == expected, "broken off at {broken_at}");
    }
    Ok(())
}

#[tokio::test]
async fn a_short_body_is_answered_when_it_is_there() -> Result<()> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let key = service_key(&server, Scopes::all()).await?;
    let text = story().iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let (status, lines) = server.post_lines("bulk", (Some(&key), None), text.into_bytes()).await?;
    let summary = lines.last().context("no line")?;
    ensure!(status == 200 && summary["summary"]["outcomes"] == json!({ "done": 11 }), "{lines:#?}");
    Ok(())
}

#[tokio::test]
async fn a_bulk_ends_soon_after_its_key() -> Result<()> {
    let sessions = SessionSettings { revocation: Duration::from_millis(100), ..SessionSettings::default() };
    let quick = ApiSettings { sessions, ..short() };
    let server = beside(&server(Backend::Sqlite, CacheBackend::NoCache).await?, &quick).await?;
    let key = service_key(&server, Scopes::all()).await?;
    let mut idle = bulk(&server, &key).await?;
    idle.say_line(&story()[0]).await?;
    ensure!(idle.hear().await?.is_some_and(|it| it["outcome"] == "done"));
    let accounts = &server.app.ports.accounts;
    for key in accounts.keys().await? {
        accounts.revoke_keys(&key.service).await?;
    }
    let last = idle.rest().await?;
    let stopped = &last.first().context("no last line")?["stopped"];
    ensure!(last.len() == 1 && stopped["code"] == "UNAUTHENTICATED" && stopped["line"] == 1, "{last:?}");
    Ok(())
}

#[tokio::test]
async fn a_bulk_waits_for_points_and_loses_no_line() -> Result<()> {
    let free = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let bucket = |points, per_second| -> Result<TokenBucket> {
        let number = |it| NonZeroU32::new(it).context("zero");
        Ok(TokenBucket { points: number(points)?, per_second: number(per_second)? })
    };
    let (few, many) = (bucket(500, 400)?, bucket(1_000_000, 1_000_000)?);
    let rate = Some(RateLimits { viewer: many, service: few, address: many, known: 100 });
    let manifest = Some(Manifest::parse(r#"{ "mine": "{ viewer { id } }" }"#)?);
    let persisted = PersistedSettings { automatic: false, manifest, required: true };
    let charging = ApiSettings { http: HttpSettings { rate, persisted, ..short().http }, ..short() };
    let server = beside(&free, &charging).await?;
    let key = service_key(&server, Scopes::all()).await?;
    let user = json!({ "op": "upsertUsers", "data": { "users": [{ "externalId": "1" }] } });
    let post = |id: usize| act("publishContent", "ext:1", &json!({ "text": "x", "externalId": id.to_string() }));
    let lines: Vec<Value> = [user].into_iter().chain((0..4).map(post)).collect();
    let results = all(&server, &key, &lines).await?;
    ensure!(results.last().is_some_and(|it| it["summary"]["outcomes"] == json!({ "done": 5 })), "{results:#?}");
    Ok(())
}

#[tokio::test]
async fn a_bulk_is_for_services_and_a_node_runs_few_at_once() -> Result<()> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let ann = register(&server, "ann").await?;
    let key = service_key(&server, [Scope::Read].into_iter().collect()).await?;
    let off = beside(&server, &ApiSettings { max_bulks: 0, ..short() }).await?;
    let authorization = |token: &str| format!("Bearer {token}");
    let (good, user, bad) = (authorization(&key), authorization(&ann.access), authorization("tfs_bad"));
    for (node, headers, status) in [
        (&server, vec![], 401),
        (&server, vec![("authorization", bad.as_str())], 401),
        (&server, vec![("authorization", user.as_str())], 403),
        (&server, vec![("authorization", good.as_str()), ("tidefeed-act-as", ann.id.as_str())], 403),
        (&server, vec![("authorization", good.as_str()), ("content-encoding", "gzip")], 415),
        (&off, vec![("authorization", good.as_str())], 404),
    ] {
        let mut refused = Exchange::begin(&node.address.to_string(), "/bulk", &headers).await?;
        ensure!(refused.status().await?.0 == status, "{headers:?}");
        let last = refused.rest().await?;
        ensure!(last.len() == 1 && last[0]["stopped"]["message"].is_string(), "{last:?}");
    }
    let mut running = Vec::new();
    for _ in 0..2 {
        let mut exchange = bulk(&server, &key).await?;
        ensure!(exchange.status().await?.0 == 200);
        running.push(exchange);
    }
    let mut third = bulk(&server, &key).await?;
    ensure!(third.status().await? == (503, Some("10".to_owned())));
    running[0].say_line(&act("likeContent", &ann.id, &json!({ "contentId": "ext:1" }))).await?;
    let refused = running[0].hear().await?.context("no result")?;
    ensure!(shown(&refused) == "1 refused FORBIDDEN ", "it has not the scope: {refused}");
    drop(running);
    until("there is room again", async || Ok(bulk(&server, &key).await?.status().await?.0 == 200)).await
}

on_each_backend! {
    on sqlite, mariadb;
    async fn each_line_of_a_bulk_has_its_result_while_it_runs(backend: Backend) -> Result<()> {
        each_line_has_its_result(backend).await
    }
}
