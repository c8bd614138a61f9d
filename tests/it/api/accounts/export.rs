//! Tests `exportViewer`: the link, its file, and the users who get none.

use std::num::NonZeroU32;

use anyhow::{Context as _, Result, ensure};
use graphql_transport::http::{HttpSettings, RateLimits, TokenBucket};
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use tidefeed::{
    accounts::{TokenKey, Tokens as Signer, Viewer},
    app::ApiSettings,
    domain::{
        ContentId, UserId,
        account::{profile::Registration, service::Scope},
        content::Draft,
    },
    store::{
        Seeding as _,
        seeding::{SeedAuthor, SeedContent},
    },
};

use super::client::{PASSWORD, Tokens, ask, beside, register, server, service_key, who};
use crate::{
    api::server::{ApiServer, settings},
    binary::process::until,
    harness::CacheBackend,
    servers::{Backend, connect_sql, execute, on_each_backend},
};

const TEN_MINUTES_MS: i64 = 10 * 60 * 1_000;
const LEEWAY_MS: i64 = 5_000;
/// More contents than the buffers of a connection hold.
const LONG_CONTENTS: i64 = 4_000;

/// The path of a fresh link.
async fn link(server: &ApiServer, token: &str) -> Result<String> {
    let query = "mutation { exportViewer { url expiresAt userErrors { code } } }";
    let payload = server.data(token, query, json!({})).await?["exportViewer"].take();
    ensure!(payload["expiresAt"].is_string(), "{payload}");
    Ok(payload["url"].as_str().context("no url")?.to_owned())
}

async fn follow(server: &ApiServer, path: &str) -> Result<Response> {
    Ok(server.http.get(format!("http://{}{path}", server.address)).send().await?)
}

/// Status and text of the answer to a link without a file.
async fn refused(server: &ApiServer, path: &str) -> Result<(StatusCode, String)> {
    let response = follow(server, path).await?;
    ensure!(
        response.headers()["cache-control"] == "no-store" && response.headers()["referrer-policy"] == "no-referrer"
    );
    Ok((response.status(), response.text().await?))
}

async fn file(server: &ApiServer, token: &str) -> Result<Value> {
    let response = follow(server, &link(server, token).await?).await?;
    ensure!(response.status() == StatusCode::OK, "{response:?}");
    Ok(response.json().await?)
}

async fn mutate(server: &ApiServer, by: &Tokens, mutation: &str, input: Value) -> Result<Value> {
    let kind = format!("{}{}Input", mutation[..1].to_uppercase(), &mutation[1..]);
    let payload = ask(server, Some(&by.access), mutation, &kind, input, "{ userErrors { code } }").await?;
    ensure!(payload["userErrors"] == json!([]), "{mutation}: {payload}");
    Ok(payload)
}

async fn publish(server: &ApiServer, by: &Tokens, input: Value) -> Result<String> {
    server.app.clock.advance(1);
    let selection = "{ timelineEdge { node { id } } userErrors { code } }";
    let payload = ask(server, Some(&by.access), "publishContent", "PublishContentInput", input, selection).await?;
    Ok(payload["timelineEdge"]["node"]["id"].as_str().with_context(|| payload.to_string())?.to_owned())
}

fn check_headers(response: &reqwest::Response) -> Result<()> {
    let header =
        |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or("none").to_owned();
    let headers = ["content-type", "content-disposition", "cache-control", "referrer-policy", "x-content-type-options"]
        .map(header);
    ensure!(
        headers
            == ["application/json", "attachment; filename=\"tidefeed-ann.json\"", "no-store", "no-referrer", "nosniff"],
        "{headers:?}"
    );
    Ok(())
}

/// Checks the lists of people: bob follows and is followed, and foe is excluded in each way.
fn check_people(file: &Value) -> Result<()> {
    for (list, handles) in [
        ("following", json!(["bob"])),
        ("followers", json!(["bob"])),
        ("mutedUsers", json!(["foe"])),
        ("blockedUsers", json!(["foe"])),
        ("hiddenFollowers", json!(["foe"])),
    ] {
        let people: Vec<_> =
            file[list].as_array().context(list)?.iter().map(|it| it["user"]["handle"].clone()).collect();
        ensure!(json!(people) == handles, "{list}: {people:?}");
    }
    Ok(())
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    async fn an_export_holds_the_viewers_data_and_nothing_private_of_others(backend: Backend) -> Result<()> {
        let server = server(backend, CacheBackend::NoCache).await?;
        let (ann, bob, foe) =
            (register(&server, "ann").await?, register(&server, "bob").await?, register(&server, "foe").await?);
        mutate(&server, &ann, "updateProfile", json!({ "name": "Ann A.", "bio": "hi", "avatarUrl": "https://service.invalid/a.svg", "attributes": [{ "key": "city", "value": "Kiel" }] })).await?;
        mutate(&server, &bob, "updateProfile", json!({ "bio": "bob's own words", "attributes": [{ "key": "bobs", "value": "secret" }] })).await?;
        let picture = json!({ "kind": "PICTURE", "url": "https://a.example/1.png", "width": 8, "height": 6, "alt": "low tide" });
        let post = publish(&server, &ann, json!({ "text": "a \"post\"", "media": [picture] })).await?;
        let asked = publish(&server, &bob, json!({ "text": "a question" })).await?;
        let hidden = publish(&server, &foe, json!({ "text": "hidden by a block" })).await?;
        let answer = publish(&server, &ann, json!({ "text": "an answer", "replyTo": asked })).await?;
        publish(&server, &bob, json!({ "text": "not ann's" })).await?;
        server.app.clock.advance(1);
        mutate(&server, &ann, "repostContent", json!({ "contentId": asked })).await?;
        for (by, mutation, input) in [
            (&ann, "likeContent", json!({ "contentId": asked })),
            (&ann, "bookmarkContent", json!({ "contentId": hidden })),
            (&bob, "bookmarkContent", json!({ "contentId": post })),
            (&bob, "likeContent", json!({ "contentId": post })),
            (&ann, "followUser", json!({ "userId": bob.id })),
            (&bob, "followUser", json!({ "userId": ann.id })),
            (&bob, "muteUser", json!({ "userId": foe.id })),
            (&ann, "muteUser", json!({ "userId": foe.id })),
            (&ann, "hideFromFollower", json!({ "userId": foe.id })),
            (&ann, "blockUser", json!({ "userId": foe.id })),
        ] {
            mutate(&server, by, mutation, input).await?;
        }
        let response = follow(&server, &link(&server, &ann.access).await?).await?;
        check_headers(&response)?;
        let text = response.text().await?;
        for private in ["bob's own words", "secret", "hidden by a block", "not ann's", &ann.refresh, &ann.access] {
            ensure!(!text.contains(private), "{private} is in it: {text}");
        }
        let file: Value = serde_json::from_str(&text)?;
        ensure!(file["format"] == "tidefeed-export" && file["version"] == 1 && file["complete"] == true, "{file:#}");
        let attributes = json!([{ "key": "city", "value": "Kiel" }]);
        let profile = &file["profile"];
        ensure!(profile["id"] == json!(ann.id) && profile["name"] == "Ann A." && profile["attributes"] == attributes, "{profile}");
        ensure!(profile["bio"] == "hi" && profile["createdAt"].is_string(), "{profile}");
        let in_api = server.data(&ann.access, "{ viewer { avatarUrl } }", json!({})).await?["viewer"]["avatarUrl"].take();
        ensure!(profile["avatarUrl"] == in_api && in_api != "https://service.invalid/a.svg", "{profile} {in_api}");
        let contents = file["contents"].as_array().context("no contents")?;
        let shown: Vec<_> = contents.iter().map(|it| (&it["kind"], &it["text"], &it["inReplyTo"], &it["repostOf"])).collect();
        let nothing = Value::Null;
        ensure!(shown == [
            (&json!("REPOST"), &json!(""), &nothing, &json!(asked)),
            (&json!("REPLY"), &json!("an answer"), &json!(asked), &nothing),
            (&json!("POST"), &json!("a \"post\""), &nothing, &nothing),
        ], "{contents:#?}");
        ensure!(contents[1]["id"] == json!(answer) && contents[2]["media"] == json!([picture]), "{contents:#?}");
        let counts = ["replyCount", "likeCount", "repostCount", "bookmarkCount"].map(|count| &contents[2][count]);
        ensure!(counts == [&json!(0), &json!(1), &json!(0), &json!(1)], "{contents:#?}");
        ensure!(file["likes"][0]["content"]["text"] == "a question" && file["likes"][0]["content"]["author"]["handle"] == "bob");
        ensure!(file["bookmarks"][0]["createdAt"].is_string() && file["bookmarks"][0]["content"].is_null(), "{file:#}");
        check_people(&file)?;
        let session = file["sessions"][0].as_object().context("no session")?;
        ensure!(session.keys().eq(["createdAt", "expiresAt", "lastUsedAt", "userAgent"]), "{session:?}");
        Ok(())
    }

    async fn an_account_of_thousands_of_contents_arrives_whole(backend: Backend) -> Result<()> {
        let server = server(backend, CacheBackend::NoCache).await?;
        let (_, token) = prolific(&server, 4_321, "short").await?;
        let file = file(&server, &token).await?;
        let contents = file["contents"].as_array().context("no contents")?;
        let wanted = (0..4_321).rev().map(|nth| json!(format!("{nth} short")));
        ensure!(contents.iter().map(|it| it["text"].clone()).eq(wanted), "{} contents", contents.len());
        ensure!(file["complete"] == true);
        Ok(())
    }
}

/// A user with so many contents, a millisecond apart, and a token of theirs without a session.
async fn prolific(server: &ApiServer, contents: i64, text: &str) -> Result<(UserId, String)> {
    let id = UserId::try_new(7)?;
    let now = server.app.now_ms();
    let content = |nth: i64| {
        let (id, publish_time) = (ContentId::try_new(nth + 1)?, now - contents + nth);
        let draft = Draft::try_new(&format!("{nth} {text}"), Vec::new(), None)?;
        Ok(SeedContent { id, draft, publish_time, reactions: Vec::new() })
    };
    let author = SeedAuthor {
        id,
        registration: Registration::try_new("prolific", "Prolific", "", None)?,
        created_at: now - contents - 1,
        last_seen: now,
        incarnation: 1,
        contents: (0..contents).map(content).collect::<Result<_>>()?,
    };
    server.app.store.add_authors(&[author]).await?;
    Ok((id, sessionless(server, id)?))
}

/// A token signed with the same secret by another service, and as long-lived as a token of an external issuer.
fn sessionless(server: &ApiServer, user: UserId) -> Result<String> {
    let key = TokenKey::try_new(&settings().secret)?;
    let signer = Signer::new(key, std::time::Duration::from_hours(1), server.app.clock.clone());
    Ok(signer.issue_as(&Viewer::without_session(user, 0))?.1.text)
}

#[tokio::test]
async fn signing_out_or_deleting_the_account_ends_its_links() -> Result<()> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let ann = register(&server, "ann").await?;
    let path = link(&server, &ann.access).await?;
    ensure!(follow(&server, &path).await?.status() == StatusCode::OK);
    ask(&server, Some(&ann.access), "signOut", "SignOutInput", json!({}), "{ endedSessionCount }").await?;
    let (status, words) = refused(&server, &path).await?;
    ensure!(status == StatusCode::UNAUTHORIZED && words.contains("Sign in"), "{status} {words}");

    let bob = register(&server, "bob").await?;
    let id: Value = server.data(&bob.access, "{ viewer { id } }", json!({})).await?["viewer"]["id"].take();
    let profiles = server.app.ports.accounts.by_handle(&tidefeed::domain::Handle::try_new("bob")?).await?;
    let user = profiles.context("bob")?.id;
    ensure!(id == json!(bob.id));
    let (own, foreign) = (link(&server, &bob.access).await?, link(&server, &sessionless(&server, user)?).await?);
    mutate(&server, &bob, "deleteViewer", json!({ "password": PASSWORD })).await?;
    ensure!(refused(&server, &own).await?.0 == StatusCode::UNAUTHORIZED);
    let (status, words) = refused(&server, &foreign).await?;
    ensure!(status == StatusCode::GONE && words.contains("deleted"), "{status} {words}");
    Ok(())
}

#[tokio::test]
async fn a_link_ends_with_the_key_that_issued_its_viewers_token() -> Result<()> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let ann = register(&server, "ann").await?;
    let key = service_key(&server, [Scope::Tokens].into_iter().collect()).await?;
    let issue = "mutation($id: ID!) { issueToken(input: { userId: $id }) { token } }";
    let issued = server.post(Some(&key), issue, json!({ "id": ann.id })).await?;
    let token = issued["data"]["issueToken"]["token"].as_str().with_context(|| issued.to_string())?;
    let path = link(&server, token).await?;
    ensure!(follow(&server, &path).await?.status() == StatusCode::OK);
    let service = server.app.ports.accounts.keys().await?.remove(0).service;
    server.app.ports.accounts.revoke_keys(&service).await?;
    ensure!(refused(&server, &path).await?.0 == StatusCode::UNAUTHORIZED);
    Ok(())
}

#[tokio::test]
async fn opening_a_link_costs_its_viewer_points() -> Result<()> {
    let free = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let ann = register(&free, "ann").await?;
    let bucket = TokenBucket { points: nonzero(15_000)?, per_second: nonzero(1)? };
    let http = HttpSettings {
        rate: Some(RateLimits { viewer: bucket, service: bucket, address: bucket, known: 10 }),
        ..settings().http
    };
    let charging = beside(&free, &ApiSettings { http, ..settings() }).await?;
    let path = link(&charging, &ann.access).await?;
    ensure!(follow(&charging, &path).await?.status() == StatusCode::OK);
    let refused = follow(&charging, &path).await?;
    let wait: u64 = refused.headers()["retry-after"].to_str()?.parse()?;
    ensure!(refused.status() == StatusCode::TOO_MANY_REQUESTS && (4_000..10_000).contains(&wait), "{wait}");
    ensure!(refused.text().await?.contains("too often"));
    Ok(())
}

fn nonzero(points: u32) -> Result<NonZeroU32> {
    NonZeroU32::new(points).context("zero")
}

#[tokio::test]
async fn an_export_token_opens_its_export_and_nothing_else() -> Result<()> {
    let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let ann = register(&server, "ann").await?;
    let path = link(&server, &ann.access).await?;
    let token = path.strip_prefix("/export?token=").context("another path")?;
    ensure!(who(&server, token).await? == "UNAUTHENTICATED", "a link is no access token");
    ensure!(super::client::refresh(&server, token).await?.is_none(), "and no refresh token");
    let other = Signer::new(
        TokenKey::for_purpose(&[9; 32], "tidefeed export link")?,
        std::time::Duration::from_hours(1),
        server.app.clock.clone(),
    );
    let foreign = other.issue_as(&Viewer::without_session(UserId::try_new(7)?, 0))?.1.text;
    let (head, rest) = token.split_once('.').context("no token")?;
    let tampered = format!("{head}.x{rest}");
    for bad in [ann.access.as_str(), &ann.refresh, &foreign, &tampered, "", "x"] {
        let (status, words) = refused(&server, &format!("/export?token={bad}")).await?;
        ensure!(status == StatusCode::UNAUTHORIZED && words.contains("exportViewer"), "{bad}: {status} {words}");
    }
    for bad in ["/export", "/export?token=a&token=b", "/export?token=%FF"] {
        let status = follow(&server, bad).await?.status();
        ensure!(status == StatusCode::UNAUTHORIZED, "{bad}: {status}");
    }
    server.app.clock.advance(TEN_MINUTES_MS - 1_000);
    ensure!(follow(&server, &path).await?.status() == StatusCode::OK);
    server.app.clock.advance(1_000 + LEEWAY_MS);
    let (status, words) = refused(&server, &path).await?;
    ensure!(
        status == StatusCode::GONE && words.contains("expired") && words.contains("exportViewer"),
        "{status} {words}"
    );
    Ok(())
}

mod slow {
    use super::*;

    #[tokio::test]
    async fn a_file_that_breaks_off_is_not_taken_for_a_whole_one() -> Result<()> {
        let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
        let (_, token) = prolific(&server, LONG_CONTENTS, &"x".repeat(4_900)).await?;
        let mut response = follow(&server, &link(&server, &token).await?).await?;
        ensure!(response.status() == StatusCode::OK && response.chunk().await?.is_some());
        let rows = connect_sql(server.app.database_url()).await?;
        execute(&rows, "ALTER TABLE contents RENAME TO lost").await?;
        let end = loop {
            match response.chunk().await {
                Ok(Some(_)) => {}
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        ensure!(end.is_some(), "the half looked whole");
        Ok(())
    }

    #[tokio::test]
    async fn a_viewer_has_one_export_at_a_time() -> Result<()> {
        let server = server(Backend::Sqlite, CacheBackend::NoCache).await?;
        let (_, token) = prolific(&server, LONG_CONTENTS, &"x".repeat(4_900)).await?;
        let path = link(&server, &token).await?;
        let mut first = follow(&server, &path).await?;
        ensure!(first.chunk().await?.is_some());
        let second = follow(&server, &path).await?;
        ensure!(second.status() == StatusCode::TOO_MANY_REQUESTS && second.headers().contains_key("retry-after"));
        ensure!(second.text().await?.contains("already"));
        let ann = register(&server, "ann").await?;
        ensure!(file(&server, &ann.access).await?["complete"] == true, "others have theirs");
        drop(first);
        until("the place is free", async || Ok(follow(&server, &path).await?.status() == StatusCode::OK)).await
    }
}
