//! Tests the pages that have addresses of their own: their status, what they say to others, and whose limits count.

use std::num::NonZeroU32;

use anyhow::{Context as _, Result, ensure};
use graphql_transport::http::{HttpSettings, RateLimits, TokenBucket};
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tidefeed::app::ApiSettings;

use super::server::{ApiServer, settings};
use crate::{
    harness::{CacheBackend, TestApp},
    servers::{Backend, connect_sql, execute},
};

const BASE: &str = "https://feed.example";
const PAGE: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

async fn start(settings: &ApiSettings) -> Result<ApiServer> {
    ApiServer::start_with(TestApp::start(Backend::Sqlite, CacheBackend::NoCache).await?, settings).await
}

fn public() -> ApiSettings {
    ApiSettings { public_pages: true, ..settings() }
}

fn asked(server: &ApiServer, path: &str) -> RequestBuilder {
    server.http.get(format!("http://{}{path}", server.address)).header("accept", PAGE)
}

async fn open(server: &ApiServer, path: &str) -> Result<Response> {
    Ok(asked(server, path).send().await?)
}

/// Status and text.
async fn seen(server: &ApiServer, path: &str) -> Result<(u16, String)> {
    let response = open(server, path).await?;
    Ok((response.status().as_u16(), response.text().await?))
}

async fn publish(server: &ApiServer, token: &str, input: Value) -> Result<String> {
    server.app.clock.advance(1);
    let query = "mutation($input: PublishContentInput!) { publishContent(input: $input) { timelineEdge { node { id } } userErrors { message } } }";
    let data = server.data(token, query, json!({ "input": input })).await?;
    Ok(data["publishContent"]["timelineEdge"]["node"]["id"].as_str().context("no id")?.to_owned())
}

#[tokio::test]
async fn a_post_and_a_profile_say_what_they_are_to_others() -> Result<()> {
    let server = start(&public()).await?;
    let (_, ann) = server.register("ann").await?;
    let media = json!([{ "kind": "PICTURE", "url": "https://a.example/1.png", "width": 8, "height": 6, "alt": "low \"tide\"" }]);
    let post = publish(&server, &ann, json!({ "text": "<b>The tide</b>\nis in", "media": media })).await?;
    let (status, page) = seen(&server, &format!("/post/{post}")).await?;
    ensure!(status == 200, "{status}");
    for expected in [
        "<title data-page>ann: &lt;b&gt;The tide&lt;/b&gt;\nis in · Tidefeed</title>",
        &format!("<link rel=\"canonical\" href=\"{BASE}/post/{post}\" data-page />"),
        "<meta property=\"og:type\" content=\"article\"",
        "<meta property=\"og:description\" content=\"&lt;b&gt;The tide&lt;/b&gt; is in\"",
        "<meta property=\"og:image\" content=\"https://a.example/1.png\"",
        "<meta property=\"og:image:alt\" content=\"low &quot;tide&quot;\"",
        "<meta name=\"twitter:card\" content=\"summary_large_image\"",
        "<h1>ann (@ann)</h1>",
        "<meta name=\"tidefeed-root\" content=\"../\" />",
    ] {
        ensure!(page.contains(expected), "{expected} is missing: {page}");
    }
    ensure!(!page.contains("<b>"), "{page}");
    let link =
        page.split("json+oembed\" href=\"").nth(1).and_then(|rest| rest.split('"').next()).context("no oEmbed")?;
    let link = link.replace("&amp;", "&");
    let embedded: Value = open(&server, link.strip_prefix(BASE).context(link.clone())?).await?.json().await?;
    ensure!(embedded["type"] == "link" && embedded["author_url"] == format!("{BASE}/@ann"), "{embedded}");
    ensure!(embedded["thumbnail_width"] == 8 && embedded.get("html").is_none(), "{embedded}");
    let (status, page) = seen(&server, "/@ann/followers").await?;
    ensure!(status == 200 && page.contains("<title data-page>ann (@ann) · Tidefeed</title>"), "{status} {page}");
    ensure!(
        page.contains(&format!("href=\"{BASE}/@ann/followers\"")) && page.contains("content=\"profile\""),
        "{page}"
    );
    let (status, page) = seen(&server, "/settings").await?;
    ensure!(status == 200 && page.contains("content=\"noindex\"") && !page.contains("og:title"), "{status} {page}");
    let (status, robots) = seen(&server, "/robots.txt").await?;
    ensure!(status == 200 && robots.contains("Disallow: /graphql"), "{status} {robots}");
    Ok(())
}

#[tokio::test]
async fn what_is_gone_or_nowhere_has_its_status_and_a_way_on() -> Result<()> {
    let server = start(&public()).await?;
    let (_, ann) = server.register("ann").await?;
    let post = publish(&server, &ann, json!({ "text": "soon gone" })).await?;
    let repost = "mutation($id: ID!) { repostContent(input: { contentId: $id }) { timelineEdge { node { id } } userErrors { message } } }";
    let (_, bob) = server.register("bob").await?;
    let data = server.data(&bob, repost, json!({ "id": post })).await?;
    let repost = data["repostContent"]["timelineEdge"]["node"]["id"].as_str().context("no repost")?.to_owned();
    let (status, page) = seen(&server, &format!("/post/{repost}")).await?;
    ensure!(status == 200 && page.contains(&format!("{BASE}/post/{post}\" data-page")), "{status} {page}");
    let first = open(&server, &format!("/post/{post}")).await?;
    let etag = first.headers()["etag"].clone();
    ensure!(first.headers()["cache-control"] == "no-cache", "{first:?}");
    let again = asked(&server, &format!("/post/{post}")).header("if-none-match", &etag).send().await?;
    ensure!(again.status() == StatusCode::NOT_MODIFIED, "{again:?}");
    let delete = "mutation($id: ID!) { deleteContent(input: { contentId: $id }) { userErrors { message } } }";
    server.data(&ann, delete, json!({ "id": post })).await?;
    let (_, cat) = server.register("cat").await?;
    let cats_post = publish(&server, &cat, json!({ "text": "gone with its author" })).await?;
    let leave = "mutation { deleteViewer(input: { password: \"correct horse battery\" }) { userErrors { message } } }";
    server.data(&cat, leave, json!({})).await?;
    let again = asked(&server, &format!("/post/{post}")).header("if-none-match", &etag).send().await?;
    ensure!(again.status() == StatusCode::GONE && again.headers()["cache-control"] == "no-store", "{again:?}");
    for (path, expected, title) in [
        (format!("/post/{post}"), 410, "This post has been deleted"),
        (format!("/post/{repost}"), 410, "This post has been deleted"),
        ("/post/C_AAAAAAAAAAE".to_owned(), 404, "There is no such page"),
        ("/@cat".to_owned(), 410, "This account has been deleted"),
        ("/@Cat/followers".to_owned(), 410, "This account has been deleted"),
        (format!("/post/{cats_post}"), 410, "This post has been deleted"),
        ("/@nobody".to_owned(), 404, "There is no such page"),
        ("/ann".to_owned(), 404, "There is no such page"),
    ] {
        let (status, page) = seen(&server, &path).await?;
        ensure!(status == expected && page.contains(&format!("<h1>{title}</h1>")), "{path}: {status} {page}");
        ensure!(page.contains("Go to Tidefeed</a>") && page.contains("noindex"), "{path}: {page}");
        ensure!(
            !page.contains("soon gone") && !page.contains("its author") && !page.contains("og:title"),
            "{path}: {page}"
        );
    }
    for path in [format!("/post/{post}"), "/@cat".to_owned()] {
        let embedded = open(&server, &format!("/oembed?url={BASE}{path}")).await?;
        ensure!(embedded.status() == StatusCode::GONE, "{embedded:?}");
    }
    let program = server.http.get(format!("http://{}/nowhere", server.address)).send().await?;
    ensure!(program.status() == StatusCode::NOT_FOUND && program.text().await?.starts_with("There is nothing"));
    execute(&connect_sql(server.app.database_url()).await?, "ALTER TABLE users RENAME TO users_away").await?;
    let away = open(&server, "/@ann").await?;
    ensure!(away.status() == StatusCode::SERVICE_UNAVAILABLE && away.headers().contains_key("retry-after"), "{away:?}");
    ensure!(away.text().await?.contains("<h1>This page cannot be shown now</h1>"));
    Ok(())
}

#[tokio::test]
async fn who_opens_pages_spends_what_their_queries_would() -> Result<()> {
    let points = |points| NonZeroU32::new(points).context("no points");
    let small = TokenBucket { points: points(400)?, per_second: points(1)? };
    let rate = Some(RateLimits { viewer: small, service: small, address: small, known: 100 });
    let trusted_proxies = vec!["127.0.0.0/8".parse()?];
    let http = HttpSettings { rate, trusted_proxies, ..settings().http };
    let server = start(&ApiSettings { http, ..public() }).await?;
    let from = async |address: &str| asked(&server, "/@ann").header("x-forwarded-for", address).send().await;
    let mut opened = 0;
    let refused = loop {
        let page = from("192.0.2.1").await?;
        if page.status() == StatusCode::TOO_MANY_REQUESTS {
            break page;
        }
        opened += 1;
        ensure!(opened < 400, "nothing is ever refused");
    };
    ensure!(opened > 0 && refused.headers().contains_key("retry-after"), "{refused:?}");
    ensure!(from("192.0.2.2").await?.status() == StatusCode::NOT_FOUND, "another client has points of their own");
    Ok(())
}

#[tokio::test]
async fn without_public_pages_there_is_one_page() -> Result<()> {
    let server = start(&settings()).await?;
    server.register("ann").await?;
    let (status, page) = seen(&server, "/").await?;
    ensure!(status == 200 && !page.contains("tidefeed-root"), "{status} {page}");
    for path in ["/@ann", "/robots.txt", "/oembed", "/explore"] {
        let (status, _) = seen(&server, path).await?;
        ensure!(status == 404, "{path}: {status}");
    }
    Ok(())
}
