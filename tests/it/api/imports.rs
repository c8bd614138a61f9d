//! Tests `POST /import`: the report while it runs, repeats, what ends it early, and whom it lets in.

use std::{fmt::Write as _, io::Write as _, time::Duration};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tidefeed::{
    app::ApiSettings,
    domain::account::service::{Scope, Scopes},
    import::LEASE_MS,
    store::imports::{Import, ImportLease, ImportState},
};

use super::{
    accounts::client::{beside, register, server, service_key, short},
    server::ApiServer,
};
use crate::{
    binary::{lines::Exchange, process::until},
    harness::CacheBackend,
    servers::{Backend, on_each_backend},
};

const HEADER: &str = r#"{"type":"header","data":{"format":"tidefeed","version":1}}"#;
const PAIRS: u64 = 150;

/// A user and a refused follow after the other, each a batch of its own.
fn many_batches() -> String {
    let mut text = format!("{HEADER}\n");
    for user in 0..PAIRS {
        let _ = writeln!(text, r#"{{"type":"user","data":{{"externalId":"{user}"}}}}"#);
        let _ = writeln!(text, r#"{{"type":"follow","data":{{"follower":"{user}","author":"nobody"}}}}"#);
    }
    text
}

/// An import whose body is sent.
async fn import(server: &ApiServer, key: &str, file: &str) -> Result<Exchange> {
    let authorization = format!("Bearer {key}");
    let headers = [("authorization", authorization.as_str())];
    let mut exchange = Exchange::begin(&server.address.to_string(), "/import", &headers).await?;
    exchange.say(file).await?;
    exchange.end().await?;
    Ok(exchange)
}

/// The next line that does not say how far it is.
async fn next_remark(exchange: &mut Exchange) -> Result<Value> {
    loop {
        let line = exchange.hear().await?.context("the answer has ended")?;
        if line["progress"].is_null() {
            return Ok(line);
        }
        ensure!(line["progress"]["lines"].is_u64() && line["progress"]["secondsLeft"].is_u64(), "{line}");
    }
}

/// The last line.
async fn last(mut exchange: Exchange) -> Result<Value> {
    exchange.rest().await?.pop().context("no line")
}

async fn the_import(server: &ApiServer) -> Result<Import> {
    server.app.ports.imports.imports(10).await?.into_iter().next().context("there is no import")
}

async fn importing_key(server: &ApiServer) -> Result<String> {
    service_key(server, [Scope::Import].into_iter().collect()).await
}

async fn loads_and_loads_again(backend: Backend) -> Result<()> {
    let server = server(backend, CacheBackend::NoCache).await?;
    let key = importing_key(&server).await?;
    let lines = [
        HEADER,
        r#"{"type":"user","data":{"externalId":"42","handle":"mara","name":"Mara"}}"#,
        r#"{"type":"content","data":{"externalId":"p","author":"42","text":"Low tide.","createdAt":"2020-01-01T00:00:00Z"}}"#,
        r#"{"type":"follow","data":{"follower":"42","author":"nobody"}}"#,
        "nonsense",
    ];
    let file = lines.join("\n");
    let mut exchange = import(&server, &key, &file).await?;
    let refused = next_remark(&mut exchange).await?;
    ensure!(refused["line"] == 4 && refused["code"] == "NOT_FOUND" && refused["outcome"] == "refused", "{refused}");
    ensure!(next_remark(&mut exchange).await?["line"] == 5);
    let summary = json!({ "lines": 5, "records": { "user": 1, "content": 1 }, "outcomes": { "refused": 2 } });
    ensure!(next_remark(&mut exchange).await? == json!({ "summary": summary }));
    ensure!(exchange.hear().await?.is_none());
    let seen = server.post(None, r#"{ user(handle: "mara") { contents { nodes { text } } } }"#, json!({})).await?;
    ensure!(seen["data"]["user"]["contents"]["nodes"][0]["text"] == "Low tide.", "{seen}");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(file.as_bytes())?;
    let (status, lines) = server.post_lines("import", (Some(&key), None), packed.finish()?).await?;
    let summary = &lines.last().context("no line")?["summary"];
    ensure!(status == 200 && summary["outcomes"] == json!({ "refused": 2, "unchanged": 2 }), "{lines:?}");
    let log = server.app.ports.accounts.logged_calls(None, 10).await?;
    let id = the_import(&server).await?.file.digest[..12].to_owned();
    let is_noted = log.iter().any(|call| call.operation == format!("import {id}") && call.outcome == "OK");
    ensure!(is_noted, "{id}: {log:#?}");
    Ok(())
}

#[tokio::test]
async fn an_import_that_was_left_goes_on_behind_its_last_batch() -> Result<()> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let key = importing_key(&server).await?;
    let file = many_batches();
    let mut exchange = import(&server, &key, &file).await?;
    ensure!(next_remark(&mut exchange).await?["line"] == 3);
    let mut busy = import(&server, &key, &file).await?;
    ensure!(busy.status().await? == (503, Some("10".to_owned())), "one at a time");
    drop(exchange);
    until("it has ended", async || {
        let log = server.app.ports.accounts.logged_calls(None, 10).await?;
        Ok(log.iter().any(|call| call.outcome == "LEFT"))
    })
    .await?;
    let left = the_import(&server).await?;
    ensure!(left.state == ImportState::Running && (3..=2 * PAIRS).contains(&left.through_line), "{left:?}");
    let mut exchange = import(&server, &key, &file).await?;
    let next = next_remark(&mut exchange).await?;
    ensure!(next["line"].as_u64().is_some_and(|line| line > left.through_line), "{next} {left:?}");
    ensure!(last(exchange).await?["summary"].is_object());
    let whole = the_import(&server).await?;
    ensure!(whole.state == ImportState::Finished && whole.counts.created == PAIRS, "{whole:?}");
    ensure!(whole.counts.refused == PAIRS && whole.counts.unchanged == 0, "nothing was done twice: {whole:?}");
    Ok(())
}

#[tokio::test]
async fn a_cancelled_import_and_one_that_others_load_say_so() -> Result<()> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let key = importing_key(&server).await?;
    let imports = &server.app.ports.imports;
    let file = many_batches();
    let mut first = import(&server, &key, &file).await?;
    next_remark(&mut first).await?;
    let known = the_import(&server).await?.file;
    ensure!(imports.cancel(&known.digest, server.app.now_ms()).await?, "it does not run any more");
    let stopped = last(first).await?["stopped"].clone();
    ensure!(stopped["code"] == "CANCELLED" && stopped["line"].as_u64().is_some_and(|line| line >= 3), "{stopped}");
    let others = async || {
        server.app.clock.advance(1);
        let now_ms = server.app.now_ms();
        imports.begin(&known, ImportLease { holder: 7, now_ms, until_ms: now_ms + LEASE_MS }).await
    };
    others().await?;
    let second = last(import(&server, &key, &file).await?);
    tokio::pin!(second);
    let second = loop {
        tokio::select! {
            second = &mut second => break second?,
            () = tokio::time::sleep(Duration::from_millis(20)) => drop(others().await?),
        }
    };
    ensure!(second["stopped"]["code"] == "CONFLICT", "{second}");
    ensure!(imports.cancel(&known.digest, server.app.now_ms()).await?);
    ensure!(last(import(&server, &key, &file).await?).await?["summary"].is_object(), "it goes on");
    Ok(())
}

#[tokio::test]
async fn an_import_needs_the_scope_and_a_bounded_length() -> Result<()> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let ann = register(&server, "ann").await?;
    let (key, all) = (importing_key(&server).await?, service_key(&server, Scopes::all()).await?);
    let without = service_key(&server, Scopes::all().without(Scope::Import)).await?;
    let small = beside(&server, &ApiSettings { max_import_bytes: 100, ..short() }).await?;
    let off = beside(&server, &ApiSettings { max_import_bytes: 0, ..short() }).await?;
    let (fits, long) = (format!("{HEADER}\n"), format!("{HEADER}\n").repeat(2));
    for (node, credentials, file, status, code) in [
        (&server, (None, None), "", 401, "UNAUTHENTICATED"),
        (&server, (Some("tfs_bad"), None), "", 401, "UNAUTHENTICATED"),
        (&server, (Some(ann.access.as_str()), None), "", 403, "FORBIDDEN"),
        (&server, (Some(without.as_str()), None), "", 403, "FORBIDDEN"),
        (&server, (Some(all.as_str()), Some(ann.id.as_str())), "", 400, "BAD_USER_INPUT"),
        (&server, (Some(key.as_str()), None), "", 200, "BAD_USER_INPUT"),
        (&server, (Some(key.as_str()), None), "{}", 200, "BAD_USER_INPUT"),
        (&small, (Some(key.as_str()), None), long.as_str(), 413, "TOO_LONG"),
        (&off, (Some(key.as_str()), None), "", 404, "NOT_FOUND"),
    ] {
        let (got, lines) = node.post_lines("import", credentials, file.into()).await?;
        ensure!(got == status && lines.len() == 1, "{status} {code}: {got} {lines:?}");
        let stopped = &lines[0]["stopped"];
        ensure!(stopped["code"] == code && stopped["message"].is_string(), "{status} {code}: {stopped}");
    }
    ensure!(last(import(&small, &key, &fits).await?).await?["summary"].is_object());
    let mut unannounced = import(&small, &key, &long).await?;
    ensure!(unannounced.status().await?.0 == 413, "its length is not told before");
    Ok(())
}

on_each_backend! {
    on sqlite, mariadb;
    async fn a_file_is_loaded_over_http_and_again_without_a_change(backend: Backend) -> Result<()> {
        loads_and_loads_again(backend).await
    }
}
