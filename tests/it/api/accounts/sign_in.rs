//! Tests signing in by password: which attempts wait, which do not, and what answers must not reveal.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result, ensure};
use futures_util::future::join_all;
use serde_json::json;
use tidefeed::{
    accounts::{
        AccountsService, Caller, PasswordSettings, Passwords, SessionSettings, SessionsService, SignInOutcome,
        TokenKey, Tokens,
    },
    app::ApiSettings,
    domain::{Handle, limits::FREE_ATTEMPTS},
    store::Accounts as _,
    telemetry::metrics::PASSWORD_KIBIBYTES,
};
use tokio::time::{Instant, timeout};

use super::client::{PASSWORD, ask, beside, register, server, short, sign_in, try_sign_in, who};
use crate::{
    api::server::ApiServer,
    binary::{CommandLine, process::Node},
    harness::{CacheBackend, TestApp},
    servers::Backend,
};

async fn fail_until_waiting(server: &ApiServer, handle: &str) -> Result<()> {
    for attempt in 0..FREE_ATTEMPTS {
        let refused = try_sign_in(server, handle, "wrong").await?;
        ensure!(
            refused["userErrors"] == json!([{ "code": "WRONG_CREDENTIALS", "field": null }]),
            "{attempt}: {refused:#}"
        );
        ensure!(refused["retryAt"].is_null());
    }
    Ok(())
}

#[tokio::test]
async fn after_five_failures_a_correct_password_waits_until_retry_at() -> Result<()> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    register(&server, "ann").await?;
    register(&server, "bob").await?;
    fail_until_waiting(&server, "ann").await?;
    let waiting = try_sign_in(&server, "ann", PASSWORD).await?;
    ensure!(waiting["userErrors"] == json!([{ "code": "TOO_MANY_ATTEMPTS", "field": null }]), "{waiting:#}");
    ensure!(waiting["retryAt"] == "2023-11-14T22:13:21.000Z", "{waiting:#}");
    sign_in(&server, "bob").await.context("others do not wait")?;
    server.app.clock.advance(1_000);
    sign_in(&server, "ann").await?;
    fail_until_waiting(&server, "ann").await.context("a success has forgotten the failures")
}

#[tokio::test]
async fn an_unknown_handle_fails_waits_and_costs_like_a_known_one() -> Result<()> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    register(&server, "ann").await?;
    let mut answers = Vec::new();
    for handle in ["ann", "nobody"] {
        let mut of_handle = Vec::new();
        for _ in 0..=FREE_ATTEMPTS {
            let before = server.app.store.statements();
            let answer = try_sign_in(&server, handle, "wrong").await?;
            of_handle.push((answer, server.app.store.statements() - before));
        }
        answers.push(of_handle);
    }
    ensure!(answers[0] == answers[1], "{answers:#?}");
    Ok(())
}

#[tokio::test]
async fn a_refused_sign_in_always_costs_one_hash() -> Result<()> {
    let it = CommandLine::embedded()?.with("TIDEFEED__LOG__FORMAT", "json");
    let it = it.with("TIDEFEED__SERVER__LISTEN", "127.0.0.1:0");
    let (_node, peer) = Node::listening(&it, &["serve"], "Serving the API.").await?;
    let input = format!("{{ handle: \"ann\", name: \"Ann\", password: \"{PASSWORD}\" }}");
    peer.query(None, &format!("mutation {{ registerUser(input: {input}) {{ userErrors {{ code }} }} }}")).await?;
    let paid = async || peer.metric(PASSWORD_KIBIBYTES).await?.context("nothing was hashed");
    let usual = PasswordSettings::default();
    let one_hash = f64::from(usual.memory_kib * usual.iterations);
    let endless = "x".repeat(2_000);
    for (handle, password, code) in [
        ("ann", "wrong", Some("WRONG_CREDENTIALS")),
        ("nobody", "wrong", Some("WRONG_CREDENTIALS")),
        ("no handle at all", "wrong", Some("WRONG_CREDENTIALS")),
        ("", "", Some("WRONG_CREDENTIALS")),
        ("ann", endless.as_str(), Some("WRONG_CREDENTIALS")),
        ("nobody", endless.as_str(), Some("WRONG_CREDENTIALS")),
        ("ann", PASSWORD, None),
    ] {
        let before = paid().await?;
        let input = format!("{{ handle: \"{handle}\", password: \"{password}\" }}");
        let answer =
            peer.query(None, &format!("mutation {{ signIn(input: {input}) {{ userErrors {{ code }} }} }}")).await?;
        ensure!(answer["data"]["signIn"]["userErrors"][0]["code"].as_str() == code, "{handle}: {answer}");
        ensure!((paid().await? - before - one_hash).abs() < 1.0, "{handle} {} bytes", password.len());
    }
    Ok(())
}

#[tokio::test]
async fn waits_hold_on_every_node_and_after_a_restart() -> Result<()> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    register(&server, "ann").await?;
    fail_until_waiting(&server, "ann").await?;
    let other = beside(&server, &short()).await?;
    let waiting = try_sign_in(&other, "ann", PASSWORD).await?;
    ensure!(waiting["userErrors"][0]["code"] == "TOO_MANY_ATTEMPTS", "{waiting:#}");
    Ok(())
}

/// The use case, called from any address.
fn service(app: &TestApp, passwords: PasswordSettings) -> Result<AccountsService> {
    let tokens = Tokens::new(TokenKey::try_new(&[7; 32])?, Duration::from_mins(1), app.clock.clone());
    let (tokens, readers, settings) = (Arc::new(tokens), app.readers.clone(), SessionSettings::default());
    let sessions = SessionsService::new(&app.ports, tokens, readers, settings, app.ambient());
    let passwords = Passwords::try_new(passwords, app.rng.clone())?;
    Ok(AccountsService::new(app.ports.accounts.clone(), Arc::new(passwords), Arc::new(sessions), app.ambient()))
}

fn cheap() -> PasswordSettings {
    PasswordSettings { memory_kib: 64, iterations: 1, ..PasswordSettings::default() }
}

fn from(address: [u8; 4]) -> Caller {
    Caller { network: Some(address.into()), ..Caller::default() }
}

#[tokio::test]
async fn strangers_cannot_lock_out_a_user_from_a_known_network() -> Result<()> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    register(&server, "ann").await?;
    let service = service(&server.app, cheap())?;
    let (home, abroad) = (from([192, 0, 2, 1]), from([192, 0, 2, 2]));
    let signs_in = async |caller: &Caller| service.sign_in("ann", PASSWORD.to_owned(), caller).await;
    ensure!(matches!(signs_in(&home).await?, SignInOutcome::SignedIn(_)));
    // Each stranger stays below the limit of one network.
    for stranger in 0..60 {
        let refused = service.sign_in("ann", "wrong".to_owned(), &from([198, 51, 100, stranger])).await?;
        ensure!(matches!(refused, SignInOutcome::WrongCredentials | SignInOutcome::NotBefore(_)), "{refused:?}");
    }
    ensure!(matches!(signs_in(&home).await?, SignInOutcome::SignedIn(_)));
    let SignInOutcome::NotBefore(at) = signs_in(&abroad).await? else { anyhow::bail!("an unknown network waits") };
    ensure!(at <= server.app.now_ms() + 60_000, "but never for longer than a minute");
    Ok(())
}

#[tokio::test]
async fn right_passwords_that_are_checked_at_once_are_no_failures() -> Result<()> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    register(&server, "ann").await?;
    let (service, home) = (service(&server.app, cheap())?, from([192, 0, 2, 1]));
    let at_once = (0..30).map(|_| service.sign_in("ann", PASSWORD.to_owned(), &home));
    for outcome in join_all(at_once).await {
        let outcome = outcome?;
        ensure!(matches!(outcome, SignInOutcome::SignedIn(_)), "{outcome:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_client_that_leaves_while_its_password_is_checked_has_not_failed() -> Result<()> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    register(&server, "ann").await?;
    let (service, home) = (service(&server.app, PasswordSettings::default())?, from([192, 0, 2, 1]));
    let begun = Instant::now();
    service.sign_in("ann", PASSWORD.to_owned(), &home).await?;
    // Most of a sign-in is the hash, so half of it is longer than an attempt takes to be counted.
    let (mut patience, mut left) = (begun.elapsed() / 2, 0);
    while left < 2 * FREE_ATTEMPTS {
        match timeout(patience, service.sign_in("ann", PASSWORD.to_owned(), &home)).await {
            Err(_) => left += 1,
            // The first one took longer than usual.
            Ok(_) => patience /= 2,
        }
    }
    let outcome = service.sign_in("ann", PASSWORD.to_owned(), &home).await?;
    ensure!(matches!(outcome, SignInOutcome::SignedIn(_)), "{outcome:?}");
    Ok(())
}

#[tokio::test]
async fn the_next_sign_in_rehashes_a_password_with_cheaper_parameters() -> Result<()> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    register(&server, "ann").await?;
    let hash = async || -> Result<String> {
        let stored = server.app.store.credential(&Handle::try_new("ann")?).await?;
        Ok(stored.context("a credential")?.1.0)
    };
    ensure!(hash().await?.contains("m=64,t=1,p=1"));
    let dearer = service(&server.app, PasswordSettings { memory_kib: 128, iterations: 2, ..cheap() })?;
    let refused = dearer.sign_in("ann", "wrong".to_owned(), &from([192, 0, 2, 1])).await?;
    ensure!(
        refused == SignInOutcome::WrongCredentials && hash().await?.contains("m=64,"),
        "only the right password tells"
    );
    for _ in 0..2 {
        let welcome = dearer.sign_in("ann", PASSWORD.to_owned(), &from([192, 0, 2, 1])).await?;
        ensure!(matches!(welcome, SignInOutcome::SignedIn(_)) && hash().await?.contains("m=128,t=2,p=1"));
    }
    let before = hash().await?;
    sign_in(&server, "ann").await?;
    ensure!(hash().await? == before, "less is no reason to hash anew");
    Ok(())
}

#[tokio::test]
async fn a_new_password_takes_the_old_one_and_ends_the_other_sessions() -> Result<()> {
    let everything_asked = ApiSettings {
        sessions: SessionSettings { revocation: std::time::Duration::ZERO, ..SessionSettings::default() },
        ..short()
    };
    let server =
        ApiServer::start_with(TestApp::start(Backend::Sqlite, CacheBackend::NoCache).await?, &everything_asked).await?;
    let here = register(&server, "ann").await?;
    let there = sign_in(&server, "ann").await?;
    let change = async |old: &str, new: &str| {
        let input = json!({ "oldPassword": old, "newPassword": new });
        let selection = "{ endedSessionCount retryAt userErrors { code field } }";
        ask(&server, Some(&here.access), "changePassword", "ChangePasswordInput", input, selection).await
    };
    for (old, new, code, field) in [
        ("wrong", "another long one", "WRONG_CREDENTIALS", "oldPassword"),
        (PASSWORD, "short", "INVALID", "newPassword"),
    ] {
        let refused = change(old, new).await?;
        ensure!(refused["userErrors"] == json!([{ "code": code, "field": ["input", field] }]), "{refused:#}");
        ensure!(who(&server, &there.access).await? == "ann", "nothing has ended");
    }
    let changed = change(PASSWORD, "another long one").await?;
    ensure!(changed == json!({ "endedSessionCount": 1, "retryAt": null, "userErrors": [] }), "{changed:#}");
    ensure!(who(&server, &here.access).await? == "ann" && who(&server, &there.access).await? == "UNAUTHENTICATED");
    ensure!(try_sign_in(&server, "ann", PASSWORD).await?["token"].is_null());
    ensure!(try_sign_in(&server, "ann", "another long one").await?["token"].is_string());
    for _ in 0..FREE_ATTEMPTS {
        change("guess", "another long one").await?;
    }
    let waiting = change("another long one", PASSWORD).await?;
    ensure!(
        waiting["userErrors"][0]["code"] == "TOO_MANY_ATTEMPTS" && waiting["retryAt"].is_string(),
        "a stolen token guesses no faster: {waiting:#}"
    );
    Ok(())
}
