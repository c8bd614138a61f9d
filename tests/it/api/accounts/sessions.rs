//! Tests sessions: each refresh token works once, and an ended session stays ended, on every node within the time
//! limit.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use tidefeed::{accounts::SessionSettings, app::ApiSettings};

use super::client::{PATIENCE, Socket, ask, beside, refresh, register, server, short, sign_in, who};
use crate::{
    api::server::ApiServer,
    harness::{CacheBackend, TestApp},
    servers::{Backend, on_each_backend},
};

const ENDED: &str = "{ endedSessionCount userErrors { code field } }";
const GRACE_MS: i64 = 30_000;
const BOUND_MS: i64 = 10_000;

/// `viewer.sessions`, newest first.
async fn sessions(server: &ApiServer, token: &str) -> Result<Vec<Value>> {
    let query = "{ viewer { sessions { id createdAt lastUsedAt expiresAt userAgent isCurrent } } }";
    let data = server.data(token, query, json!({})).await?;
    Ok(data["viewer"]["sessions"].as_array().context("no sessions")?.clone())
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    async fn refreshing_extends_a_session_and_access_tokens_expire(backend: Backend) -> Result<()> {
        let server = server(backend, CacheBackend::NoCache).await?;
        let first = register(&server, "ann").await?;
        ensure!(who(&server, &first.access).await? == "ann");
        server.app.clock.advance(16 * 60 * 1000);
        ensure!(who(&server, &first.access).await? == "UNAUTHENTICATED");
        let second = refresh(&server, &first.refresh).await?.context("refreshed")?;
        ensure!(second.id == first.id && second.refresh != first.refresh);
        ensure!(who(&server, &second.access).await? == "ann");
        let [only] = &sessions(&server, &second.access).await?[..] else { bail!("it is the same session") };
        ensure!(only["isCurrent"] == true && only["createdAt"] != only["lastUsedAt"], "{only:#}");
        server.app.clock.advance(30 * 24 * 3_600_000);
        ensure!(refresh(&server, &second.refresh).await?.is_none(), "thirty days unused end it");
        Ok(())
    }

    async fn a_repeated_refresh_within_the_grace_period_gives_the_same_token(
        backend: Backend,
    ) -> Result<()> {
        let server = server(backend, CacheBackend::NoCache).await?;
        let first = register(&server, "ann").await?;
        let lost = refresh(&server, &first.refresh).await?.context("refreshed")?;
        server.app.clock.advance(GRACE_MS - 1);
        let again = refresh(&server, &first.refresh).await?.context("within the grace")?;
        ensure!(again.refresh == lost.refresh, "two tabs that refresh at once hold one token");
        ensure!(refresh(&server, &again.refresh).await?.is_some());
        Ok(())
    }

    async fn reusing_a_refresh_token_after_the_grace_period_ends_the_session(
        backend: Backend,
    ) -> Result<()> {
        let server = server(backend, CacheBackend::NoCache).await?;
        let (stolen, other) = (register(&server, "ann").await?, sign_in(&server, "ann").await?);
        let thief = refresh(&server, &stolen.refresh).await?.context("the thief was first")?;
        server.app.clock.advance(GRACE_MS);
        ensure!(refresh(&server, &stolen.refresh).await?.is_none(), "the owner finds out");
        ensure!(refresh(&server, &thief.refresh).await?.is_none(), "and so does the thief");
        ensure!(who(&server, &thief.access).await? == "UNAUTHENTICATED", "this node knows at once");
        ensure!(who(&server, &other.access).await? == "ann", "other sessions go on");
        Ok(())
    }

    async fn a_session_id_alone_ends_no_session(backend: Backend) -> Result<()> {
        let server = server(backend, CacheBackend::NoCache).await?;
        let (ann, bob) = (register(&server, "ann").await?, register(&server, "bob").await?);
        // The session of one token with the rest of another.
        let forged = format!("{}{}", &ann.refresh[..10], &bob.refresh[10..]);
        for bad in [forged.as_str(), "", "x", &ann.access] {
            ensure!(refresh(&server, bad).await?.is_none(), "{bad}");
        }
        let id = sessions(&server, &ann.access).await?[0]["id"].clone();
        let theft =
            ask(&server, Some(&bob.access), "endSession", "EndSessionInput", json!({ "sessionId": id }), ENDED).await?;
        ensure!(
            theft
                == json!({ "endedSessionCount": 0, "userErrors": [{ "code": "NOT_FOUND", "field": ["input", "sessionId"] }] })
        );
        ensure!(who(&server, &ann.access).await? == "ann" && refresh(&server, &ann.refresh).await?.is_some());
        Ok(())
    }

    async fn signing_out_ends_this_session_one_or_all(backend: Backend) -> Result<()> {
        let server = server(backend, CacheBackend::NoCache).await?;
        let mut all = vec![register(&server, "ann").await?];
        for _ in 0..3 {
            all.push(sign_in(&server, "ann").await?);
        }
        let listed = sessions(&server, &all[0].access).await?;
        ensure!(listed.len() == 4 && listed.iter().filter(|it| it["isCurrent"] == true).count() == 1, "{listed:#?}");
        let other = listed.iter().find(|it| it["isCurrent"] == false).context("another")?;
        let input = json!({ "sessionId": other["id"] });
        let ended = ask(&server, Some(&all[0].access), "endSession", "EndSessionInput", input, ENDED).await?;
        ensure!(ended["endedSessionCount"] == 1);
        ensure!(
            ask(&server, Some(&all[0].access), "signOut", "SignOutInput", json!({}), ENDED).await?["endedSessionCount"]
                == 1
        );
        ensure!(
            who(&server, &all[0].access).await? == "UNAUTHENTICATED"
                && refresh(&server, &all[0].refresh).await?.is_none()
        );
        let mut left = Vec::new();
        for tokens in &all {
            if who(&server, &tokens.access).await? == "ann" {
                left.push(tokens);
            }
        }
        let everywhere =
            ask(&server, Some(&left[0].access), "signOutEverywhere", "SignOutEverywhereInput", json!({}), ENDED)
                .await?;
        ensure!(left.len() == 2 && everywhere["endedSessionCount"] == 2, "{everywhere:#}");
        for tokens in &all {
            ensure!(who(&server, &tokens.access).await? == "UNAUTHENTICATED");
        }
        Ok(())
    }
}

/// Two nodes that receive no announcements from each other, so they share nothing but SQL.
async fn strangers(settings: &ApiSettings) -> Result<[ApiServer; 2]> {
    let here = ApiServer::start_with(TestApp::start(Backend::Sqlite, CacheBackend::NoCache).await?, settings).await?;
    let there = beside(&here, settings).await?;
    Ok([here, there])
}

#[tokio::test]
async fn an_isolated_node_refuses_an_ended_session_within_the_revocation_bound() -> Result<()> {
    let [here, there] = strangers(&short()).await?;
    let ann = register(&here, "ann").await?;
    ensure!(who(&there, &ann.access).await? == "ann");
    ask(&here, Some(&ann.access), "signOut", "SignOutInput", json!({}), ENDED).await?;
    ensure!(who(&here, &ann.access).await? == "UNAUTHENTICATED", "where it ended, at once");
    there.app.clock.advance(BOUND_MS - 1);
    ensure!(who(&there, &ann.access).await? == "ann", "elsewhere it may be believed for so long");
    there.app.clock.advance(1);
    ensure!(who(&there, &ann.access).await? == "UNAUTHENTICATED", "and no longer");
    Ok(())
}

#[tokio::test]
async fn a_session_is_checked_once_per_interval() -> Result<()> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let ann = register(&server, "ann").await?;
    let cost = async || -> Result<u64> {
        let before = server.app.store.statements();
        who(&server, &ann.access).await?;
        Ok(server.app.store.statements() - before)
    };
    ensure!([cost().await?, cost().await?, cost().await?] == [2, 1, 1], "the profile, and once the session");
    server.app.clock.advance(BOUND_MS);
    ensure!([cost().await?, cost().await?] == [2, 1]);
    Ok(())
}

mod redis_server {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_node_that_hears_of_an_end_knows_it_before_the_bound() -> Result<()> {
        let here = server(Backend::MariaDb, CacheBackend::Redis).await?;
        let there = beside(&here, &short()).await?;
        let ann = register(&here, "ann").await?;
        ensure!(who(&there, &ann.access).await? == "ann");
        ask(&here, Some(&ann.access), "signOut", "SignOutInput", json!({}), ENDED).await?;
        // Its clock stands still, so it can learn this only from the announcement.
        let listening = async {
            while who(&there, &ann.access).await? == "ann" {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Ok(())
        };
        tokio::time::timeout(PATIENCE, listening).await.context("it has not heard")?
    }
}

#[tokio::test]
async fn ending_a_session_closes_its_sockets_on_every_node() -> Result<()> {
    let quick = SessionSettings { revocation: Duration::from_millis(100), ..SessionSettings::default() };
    let [here, there] = strangers(&ApiSettings { sessions: quick, ..short() }).await?;
    let (ann, other) = (register(&here, "ann").await?, sign_in(&here, "ann").await?);
    let mut sockets = [Socket::open(&here, Some(&ann.access)).await?, Socket::open(&there, Some(&ann.access)).await?];
    let mut stays = Socket::open(&there, Some(&other.access)).await?;
    for socket in sockets.iter_mut().chain([&mut stays]) {
        ensure!(socket.hear().await? == Ok(json!({ "type": "connection_ack" })));
    }
    ask(&here, Some(&ann.access), "signOut", "SignOutInput", json!({}), ENDED).await?;
    for socket in &mut sockets {
        ensure!(socket.hear().await? == Err(4403));
    }
    stays.say(&json!({ "type": "ping" })).await?;
    ensure!(stays.hear().await? == Ok(json!({ "type": "pong" })));
    let mut late = Socket::open(&here, Some(&ann.access)).await?;
    ensure!(late.hear().await? == Err(4403));
    Ok(())
}

#[tokio::test]
async fn the_secret_is_changed_without_signing_anybody_out() -> Result<()> {
    let old = short();
    let here = ApiServer::start_with(TestApp::start(Backend::Sqlite, CacheBackend::NoCache).await?, &old).await?;
    let ann = register(&here, "ann").await?;
    let secret = b"another secret of tests, as long as the first".to_vec();
    let changing = ApiSettings { secret: secret.clone(), former_secrets: vec![old.secret.clone()], ..short() };
    let changed = ApiSettings { secret, ..short() };
    let (during, after) = (beside(&here, &changing).await?, beside(&here, &changed).await?);
    ensure!(who(&during, &ann.access).await? == "ann");
    ensure!(who(&after, &ann.access).await? == "UNAUTHENTICATED", "a removed secret's tokens are refused");
    let new = refresh(&during, &ann.refresh).await?.context("sessions outlive secrets")?;
    ensure!(who(&after, &new.access).await? == "ann");
    ensure!(who(&here, &new.access).await? == "UNAUTHENTICATED", "the old node does not know the new one yet");
    Ok(())
}
