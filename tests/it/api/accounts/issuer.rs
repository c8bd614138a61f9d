//! Tests tokens of an external issuer. A real endpoint on this machine serves its keys, which rotate and are
//! unavailable for a while.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result, ensure};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::Algorithm;
use ring::hmac;
use serde_json::{Value, json};
use tidefeed::{
    accounts::{
        SessionSettings,
        issuer::{ClaimNames, IssuerSettings, KeySettings},
    },
    app::{ApiSettings, ExternalIssuer, HttpKeys},
    domain::account::service::Scopes,
};

use super::{
    client::{Socket, ask, register, service_key, short, try_sign_in, who},
    key_endpoint::{KeyEndpoint, SHORT_MODULUS, SHORT_TOKEN, Signer, message},
};
use crate::{
    api::server::ApiServer,
    harness::{CacheBackend, TestApp},
    servers::Backend,
};

const ISSUER: &str = "https://issuer.example";
const AUDIENCE: &str = "tidefeed-tests";
const KEYS_AGE: Duration = Duration::from_mins(10);
const WAIT: Duration = Duration::from_secs(30);

fn ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

pub(super) fn trusting(endpoint: &KeyEndpoint) -> Result<ExternalIssuer> {
    Ok(ExternalIssuer {
        issuer: IssuerSettings {
            issuer: ISSUER.to_owned(),
            audience: AUDIENCE.to_owned(),
            algorithms: vec![Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA],
        },
        keys: KeySettings { max_age: KEYS_AGE, wait: WAIT },
        source: Arc::new(HttpKeys::try_new(&endpoint.url)?),
        provisions: true,
        claims: ClaimNames {
            handle: "preferred_username".to_owned(),
            name: "name".to_owned(),
            avatar: "picture".to_owned(),
            attributes: "attributes".to_owned(),
            updated_at: None,
        },
        only: false,
    })
}

pub(super) async fn server(issuer: ExternalIssuer) -> Result<ApiServer> {
    let settings = ApiSettings { issuer: Some(issuer), ..short() };
    ApiServer::start_with(TestApp::start(Backend::Sqlite, CacheBackend::NoCache).await?, &settings).await
}

/// The claims of a good token of `subject`, valid for an hour.
pub(super) fn claims(server: &ApiServer, subject: &str) -> Value {
    let now = server.app.now_ms() / 1000;
    json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": subject, "exp": now + 3600, "preferred_username": subject })
}

/// `claims` with one of them replaced, or removed by null.
pub(super) fn but(mut claims: Value, name: &str, value: Value) -> Value {
    if value.is_null() {
        claims.as_object_mut().and_then(|claims| claims.remove(name));
    } else {
        claims[name] = value;
    }
    claims
}

#[tokio::test]
async fn an_issuers_token_is_accepted_under_each_published_key() -> Result<()> {
    let signers = [Signer::ec("ec")?, Signer::ed("ed")?, Signer::rsa("rsa")?];
    let endpoint = KeyEndpoint::publishing(&signers).await?;
    let server = server(trusting(&endpoint)?).await?;
    for signer in &signers {
        ensure!(who(&server, &signer.sign(&claims(&server, "ann"))?).await? == "ann", "{}", signer.kid);
    }
    let listed = but(claims(&server, "ann"), "aud", json!(["another", AUDIENCE]));
    ensure!(who(&server, &signers[0].sign(&listed)?).await? == "ann", "one of several audiences");
    ensure!(endpoint.asked() == 1, "keys are kept");
    let local = register(&server, "bob").await?;
    ensure!(who(&server, &local.access).await? == "bob", "tokens of this service are taken as before");
    Ok(())
}

#[tokio::test]
async fn a_socket_ends_when_its_subject_is_that_user_no_more() -> Result<()> {
    let signer = Signer::ec("ec")?;
    let endpoint = KeyEndpoint::publishing(std::slice::from_ref(&signer)).await?;
    let sessions = SessionSettings { revocation: Duration::from_millis(100), ..SessionSettings::default() };
    let settings = ApiSettings { issuer: Some(trusting(&endpoint)?), sessions, ..short() };
    let server =
        ApiServer::start_with(TestApp::start(Backend::Sqlite, CacheBackend::NoCache).await?, &settings).await?;
    let key = service_key(&server, Scopes::all()).await?;
    let mut sockets = Vec::new();
    for subject in ["42", "7"] {
        let token = signer.sign(&claims(&server, subject))?;
        let mut socket = Socket::open_as(&server, (Some(&token), None)).await?;
        ensure!(socket.hear().await? == Ok(json!({ "type": "connection_ack" })));
        let payload = json!({ "query": "subscription { newFeed { __typename } }" });
        socket.say(&json!({ "type": "subscribe", "id": "1", "payload": payload })).await?;
        sockets.push(socket);
    }
    let rebind = "mutation { rebindExternalId(input: { userId: \"ext:42\", externalId: \"43\" }) \
                  { userErrors { code } } }";
    let done = server.post(Some(&key), rebind, json!({})).await?;
    ensure!(done["data"]["rebindExternalId"]["userErrors"] == json!([]), "{done}");
    ensure!(sockets[0].hear().await? == Err(4403));
    sockets[1].say(&json!({ "type": "ping" })).await?;
    ensure!(sockets[1].hear().await? == Ok(json!({ "type": "pong" })), "that of another user stays open");
    Ok(())
}

#[tokio::test]
async fn who_was_upserted_and_who_signs_in_are_one_user() -> Result<()> {
    let signer = Signer::ec("ec")?;
    let endpoint = KeyEndpoint::publishing(std::slice::from_ref(&signer)).await?;
    let server = server(trusting(&endpoint)?).await?;
    let key = service_key(&server, Scopes::all()).await?;
    let upsert = "mutation($id: String!) { upsertUsers(input: { users: [{ externalId: $id, handle: \"mara\" }] }) \
                  { results { outcome user { handle } } } }";
    let upserted = async |id: &str| -> Result<Value> {
        let answer = server.post(Some(&key), upsert, json!({ "id": id })).await?;
        Ok(answer["data"]["upsertUsers"]["results"][0]["outcome"].clone())
    };
    ensure!(upserted("42").await? == "CREATED");
    ensure!(who(&server, &signer.sign(&claims(&server, "42"))?).await? == "mara");
    ensure!(who(&server, &signer.sign(&claims(&server, "bob"))?).await? == "bob");
    ensure!(upserted("bob").await?.is_null(), "the handle is taken");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upserts_beside_first_sign_ins_make_one_user() -> Result<()> {
    let signer = Signer::ec("ec")?;
    let endpoint = KeyEndpoint::publishing(std::slice::from_ref(&signer)).await?;
    let server = server(trusting(&endpoint)?).await?;
    let key = service_key(&server, Scopes::all()).await?;
    let upsert = "mutation($users: [UpsertUserInput!]!) { it: upsertUsers(input: { users: $users }) \
                  { results { user { id } } } }";
    let subjects: Vec<String> = (0..20).map(|number| format!("person_{number}")).collect();
    let users: Vec<Value> = subjects.iter().map(|subject| json!({ "externalId": subject, "name": "x" })).collect();
    let tokens = subjects.iter().map(|subject| signer.sign(&claims(&server, subject))).collect::<Result<Vec<_>>>()?;
    let sign_ins = tokens.iter().map(|token| server.data(token, "{ viewer { id } }", json!({})));
    let (brought, answers) = tokio::join!(
        server.post(Some(&key), upsert, json!({ "users": users })),
        futures_util::future::try_join_all(sign_ins),
    );
    let (brought, answers) = (brought?, answers?);
    for (number, answer) in answers.iter().enumerate() {
        let id = &brought["data"]["it"]["results"][number]["user"]["id"];
        ensure!(id.is_string() && answer["viewer"]["id"] == *id, "{number}: {brought} {answer}");
    }
    Ok(())
}

#[tokio::test]
async fn a_token_of_an_issuer_ends_with_its_user() -> Result<()> {
    let signer = Signer::ec("ec")?;
    let endpoint = KeyEndpoint::publishing(std::slice::from_ref(&signer)).await?;
    let server = server(trusting(&endpoint)?).await?;
    let key = service_key(&server, Scopes::all()).await?;
    let token = signer.sign(&claims(&server, "42"))?;
    let change = async |mutation: &str| -> Result<()> {
        let query = format!("mutation {{ it: {mutation} {{ __typename }} }}");
        let answer = server.post(Some(&key), &query, json!({})).await?;
        ensure!(answer["errors"].is_null(), "{answer}");
        Ok(())
    };
    ensure!(who(&server, &token).await? == "42");
    for (mutation, then) in [
        ("deactivateUser(input: { userId: \"ext:42\" })", "UNAUTHENTICATED"),
        ("reactivateUser(input: { userId: \"ext:42\" })", "42"),
        ("deleteUser(input: { userId: \"ext:42\" })", "UNAUTHENTICATED"),
        ("upsertUsers(input: { users: [{ externalId: \"42\", handle: \"back\" }] })", "back"),
        ("rebindExternalId(input: { userId: \"ext:42\", externalId: \"43\" })", "42_"),
    ] {
        change(mutation).await?;
        server.app.clock.advance(10_000);
        let is = who(&server, &token).await?;
        ensure!(is == then || then.ends_with('_') && is.starts_with(then), "{mutation}: {is}");
    }
    Ok(())
}

#[tokio::test]
async fn every_kind_of_faulty_token_is_refused() -> Result<()> {
    let (ec, ed, rsa) = (Signer::ec("ec")?, Signer::ed("ed")?, Signer::rsa("rsa")?);
    let endpoint = KeyEndpoint::publishing(&[ec.clone(), ed.clone(), rsa.clone()]).await?;
    let server = server(trusting(&endpoint)?).await?;
    let (good, now) = (claims(&server, "ann"), server.app.now_ms() / 1000);
    ensure!(who(&server, &ec.sign(&good)?).await? == "ann");
    let under = |header: &Value, signer: &Signer| signer.sign_under(header, &good);
    let critical = but(ec.header(), "crit", json!(["exp"]));
    let by_secret = |secret: &[u8]| {
        let message = message(&json!({ "typ": "JWT", "alg": "HS256", "kid": "ec" }), &good)?;
        let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
        anyhow::Ok(format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature)))
    };
    let mut refused = vec![
        ("no signature", Signer::unsigned(&good)?),
        ("the public key as a secret", by_secret(&serde_json::to_vec(&ec.public())?)?),
        ("another key under this name", Signer::ec("ec")?.sign(&good)?),
        ("a key for another algorithm", ec.named("ed").sign(&good)?),
        ("an algorithm that is not listed", under(&but(rsa.header(), "alg", json!("RS512")), &rsa)?),
        ("a name that nobody has", ec.named("unknown").sign(&good)?),
        ("no name where there are several keys", under(&but(ec.header(), "kid", Value::Null), &ec)?),
        ("something critical that is not understood", under(&critical, &ec)?),
        ("a signature of something else", Signer::with_claims_of(&ec.sign(&good)?, &ec.sign(&claims(&server, "eve"))?)),
    ];
    for (what, name, value) in [
        ("an end that was", "exp", json!(now - 6)),
        ("no end", "exp", Value::Null),
        ("an end in words", "exp", json!("tomorrow")),
        ("a beginning to come", "nbf", json!(now + 60)),
        ("another audience", "aud", json!("another")),
        ("other audiences", "aud", json!(["another", "a third"])),
        ("no audience", "aud", Value::Null),
        ("another issuer", "iss", json!("https://issuer.example.evil")),
        ("no issuer", "iss", Value::Null),
        ("issuers in a list", "iss", json!([ISSUER])),
        ("nobody", "sub", Value::Null),
        ("an empty name", "sub", json!("")),
    ] {
        refused.push((what, ec.sign(&but(good.clone(), name, value))?));
    }
    for (what, token) in refused {
        ensure!(who(&server, &token).await? == "UNAUTHENTICATED", "{what} was taken");
    }
    ensure!(who(&server, &ec.sign(&but(good, "exp", json!(now - 4)))?).await? == "ann", "clocks may differ a little");
    Ok(())
}

#[tokio::test]
async fn rsa_keys_below_2048_bits_verify_nothing() -> Result<()> {
    let endpoint = KeyEndpoint::publishing(&[]).await?;
    let short = json!({ "kty": "RSA", "alg": "RS256", "kid": "short", "n": SHORT_MODULUS, "e": "AQAB" });
    endpoint.answer(200, &json!({ "keys": [short] }).to_string());
    let server = server(trusting(&endpoint)?).await?;
    ensure!(who(&server, SHORT_TOKEN).await? == "UNAUTHENTICATED" && endpoint.asked() == 1);
    Ok(())
}

#[tokio::test]
async fn new_and_withdrawn_keys_are_noticed_at_a_bounded_rate() -> Result<()> {
    let (old, new) = (Signer::ec("old")?, Signer::ec("new")?);
    let endpoint = KeyEndpoint::publishing(std::slice::from_ref(&old)).await?;
    let server = server(trusting(&endpoint)?).await?;
    let (by_old, by_new) = (old.sign(&claims(&server, "ann"))?, new.sign(&claims(&server, "ann"))?);
    ensure!(who(&server, &by_old).await? == "ann");
    endpoint.publish(std::slice::from_ref(&new));
    let stranger = Signer::ec("stranger")?;
    for number in 0..50 {
        let token = stranger.named(&format!("stranger {number}")).sign(&claims(&server, "eve"))?;
        ensure!(who(&server, &token).await? == "UNAUTHENTICATED");
    }
    ensure!(endpoint.asked() == 1, "asked {} times within the wait", endpoint.asked());
    ensure!(who(&server, &by_new).await? == "UNAUTHENTICATED" && who(&server, &by_old).await? == "ann");
    server.app.clock.advance(ms(WAIT));
    ensure!(who(&server, &by_new).await? == "ann", "the unknown name made us ask");
    ensure!(who(&server, &by_old).await? == "UNAUTHENTICATED", "the issuer has withdrawn it");
    ensure!(endpoint.asked() == 2);
    Ok(())
}

#[tokio::test]
async fn issuer_keys_are_refetched_and_stay_usable_during_an_outage() -> Result<()> {
    let signer = Signer::ed("only")?;
    let endpoint = KeyEndpoint::publishing(std::slice::from_ref(&signer)).await?;
    let server = server(trusting(&endpoint)?).await?;
    let lasting = |server: &ApiServer| signer.sign(&but(claims(server, "ann"), "exp", json!(9_999_999_999_i64)));
    let token = lasting(&server)?;
    ensure!(who(&server, &token).await? == "ann");
    server.app.clock.advance(ms(KEYS_AGE));
    ensure!(who(&server, &token).await? == "ann" && endpoint.asked() == 2);
    endpoint.answer(500, "away");
    server.app.clock.advance(ms(KEYS_AGE));
    for _ in 0..10 {
        ensure!(who(&server, &token).await? == "ann");
    }
    ensure!(endpoint.asked() == 3, "one try for each wait, not for each token");
    server.app.clock.advance(24 * ms(KEYS_AGE));
    ensure!(who(&server, &token).await? == "INTERNAL_SERVER_ERROR", "too old to be believed");
    endpoint.publish(std::slice::from_ref(&signer));
    server.app.clock.advance(ms(WAIT));
    ensure!(who(&server, &token).await? == "ann");
    Ok(())
}

#[tokio::test]
async fn an_invalid_key_set_does_not_replace_a_valid_one() -> Result<()> {
    let signer = Signer::ec("only")?;
    let endpoint = KeyEndpoint::publishing(&[]).await?;
    let server = server(trusting(&endpoint)?).await?;
    let token = signer.sign(&claims(&server, "ann"))?;
    let huge = format!("{{\"keys\": [], \"padding\": \"{}\"}}", "x".repeat(300 * 1024));
    for (status, text) in [(200, "no json"), (200, "{}"), (200, huge.as_str()), (302, ""), (404, "")] {
        endpoint.answer(status, text);
        ensure!(who(&server, &token).await? == "INTERNAL_SERVER_ERROR", "{status}");
        server.app.clock.advance(ms(WAIT));
    }
    let encrypts = json!({ "keys": [but(signer.public(), "use", json!("enc"))] });
    endpoint.answer(200, &encrypts.to_string());
    ensure!(who(&server, &token).await? == "UNAUTHENTICATED", "a key for something else checks no signature");
    server.app.clock.advance(ms(WAIT));
    let strange = json!({ "keys": [{ "kty": "strange", "kid": "odd" }, signer.public()] });
    endpoint.answer(200, &strange.to_string());
    ensure!(who(&server, &token).await? == "ann", "keys of another kind are passed over");
    for nothing in ["no json", "{\"keys\": []}"] {
        endpoint.answer(200, nothing);
        server.app.clock.advance(ms(KEYS_AGE));
        ensure!(who(&server, &token).await? == "ann", "what was known stays");
    }
    Ok(())
}

#[tokio::test]
async fn settings_refuse_unknown_identities_or_all_passwords() -> Result<()> {
    let signer = Signer::ed("only")?;
    let endpoint = KeyEndpoint::publishing(std::slice::from_ref(&signer)).await?;
    let closed = server(ExternalIssuer { provisions: false, ..trusting(&endpoint)? }).await?;
    ensure!(who(&closed, &signer.sign(&claims(&closed, "ann"))?).await? == "UNAUTHENTICATED");
    let alone = server(ExternalIssuer { only: true, ..trusting(&endpoint)? }).await?;
    ensure!(who(&alone, &signer.sign(&claims(&alone, "ann"))?).await? == "ann");
    let input = json!({ "handle": "bob", "name": "Bob", "password": "correct horse battery" });
    let selection = "{ token userErrors { code } }";
    let refused = ask(&alone, None, "registerUser", "RegisterUserInput", input, selection).await?;
    ensure!(refused["token"].is_null() && refused["userErrors"][0]["code"] == "NOT_ALLOWED", "{refused:#}");
    let refused = try_sign_in(&alone, "ann", "whatever").await?;
    ensure!(refused["token"].is_null() && refused["userErrors"][0]["code"] == "NOT_ALLOWED", "{refused:#}");
    let answer = alone.post(None, "{ user(handle: \"ann\") { handle } }", json!({})).await?;
    answer["data"]["user"]["handle"].as_str().context("the user is there for everybody")?;
    Ok(())
}
