//! Tests the contents and profiles that nodes remember: they save statements, and a page never shows an outdated one.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use serde_json::{Value, json};
use tidefeed::domain::timeline::outside::NodeId;

use super::{
    accounts::client::{beside, server, short},
    server::ApiServer,
};
use crate::{
    harness::{CacheBackend, Inboxes, TestApp, settings},
    memory_inboxes::MemoryInboxes,
    servers::{Backend, on_each_backend},
};

const PAGE: &str = "{ timeline { nodes { id text viewerHasLiked author { name } } } }";
/// Number of readers.
const READERS: usize = 12;

async fn publish(server: &ApiServer, token: &str, text: &str) -> Result<String> {
    server.app.clock.advance(1);
    let query = "mutation($text: String!) { publishContent(input: {text: $text}) { timelineEdge { node { id } } userErrors { code } } }";
    let published = server.data(token, query, json!({ "text": text })).await?;
    let id = published["publishContent"]["timelineEdge"]["node"]["id"].as_str();
    id.map(str::to_owned).with_context(|| format!("{published:#}"))
}

/// `count` readers who follow the author `star`, and the author's token. All inboxes are up to date.
async fn followed(server: &ApiServer, count: usize) -> Result<(String, Vec<String>)> {
    let (star, token) = server.register("star").await?;
    let mut readers = Vec::with_capacity(count);
    for number in 0..count {
        let (_, reader) = server.register(&format!("reader_{number}")).await?;
        let follow = "mutation($id: ID!) { followUser(input: {userId: $id}) { userErrors { code } } }";
        server.data(&reader, follow, json!({ "id": star })).await?;
        readers.push(reader);
    }
    server.app.settle().await?;
    Ok((token, readers))
}

/// The page, and how many statements it took. The node has checked the reader's token before.
async fn page(server: &ApiServer, reader: &str) -> Result<(Value, u64)> {
    server.data(reader, "{ viewer { id } }", json!({})).await?;
    let before = server.app.store.statements();
    let page = server.data(reader, PAGE, json!({})).await?;
    Ok((page["timeline"]["nodes"].clone(), server.app.store.statements() - before))
}

/// As [`server`], with inboxes outside SQL.
async fn server_outside(backend: Backend) -> Result<ApiServer> {
    // Further nodes share them.
    let inboxes = Inboxes::Own(Arc::new(MemoryInboxes::new(NodeId::of([3; 20]))));
    let app = TestApp::start_outside(backend, CacheBackend::NoCache, inboxes, settings()).await?;
    ApiServer::start_with(app, &short()).await
}

async fn deleted_contents_are_shown_by_no_node(here: ApiServer) -> Result<()> {
    let (star, readers) = followed(&here, 1).await?;
    let there = beside(&here, &short()).await?;
    let kept = [publish(&here, &star, "kept").await?];
    for round in 0..4 {
        let id = publish(&here, &star, &format!("gone {round}")).await?;
        if round % 2 == 0 {
            here.app.settle().await?;
        }
        for node in [&here, &there, &here, &there] {
            let (shown, _) = page(node, &readers[0]).await?;
            ensure!(shown[0]["id"] == json!(id) && shown[0]["text"] == json!(format!("gone {round}")), "{shown:#}");
        }
        let deleting = if round < 2 { &here } else { &there };
        let delete =
            "mutation($id: ID!) { deleteContent(input: {contentId: $id}) { deletedContentId userErrors { code } } }";
        deleting.data(&star, delete, json!({ "id": id })).await?;
        for node in [&there, &here] {
            let (shown, _) = page(node, &readers[0]).await?;
            let ids: Vec<&str> =
                shown.as_array().context("no list")?.iter().filter_map(|it| it["id"].as_str()).collect();
            ensure!(ids == kept, "round {round}: {shown:#}");
            let by_id = "query($id: ID!) { content(id: $id) { text } }";
            let by_id = node.data(&readers[0], by_id, json!({ "id": id })).await?;
            ensure!(by_id["content"].is_null(), "round {round}: {by_id:#}");
        }
    }
    Ok(())
}

async fn changed_names_are_shown_by_every_node(here: ApiServer) -> Result<()> {
    let (star, readers) = followed(&here, 1).await?;
    let there = beside(&here, &short()).await?;
    publish(&here, &star, "words").await?;
    here.app.settle().await?;
    let mut name = "star".to_owned();
    for round in 0..4 {
        for node in [&here, &there, &here, &there] {
            let (shown, _) = page(node, &readers[0]).await?;
            ensure!(shown[0]["author"]["name"] == json!(name), "round {round}: {shown:#}");
        }
        name = format!("star {round}");
        let rename = "mutation($name: String!) { updateProfile(input: {name: $name}) { userErrors { code } } }";
        let changing = if round % 2 == 0 { &here } else { &there };
        changing.data(&star, rename, json!({ "name": name })).await?;
    }
    Ok(())
}

/// Cards that were made from memory, and those that were not.
fn counted(metrics: &PrometheusHandle) -> [u64; 2] {
    ["hit", "miss"].map(|outcome| {
        let name = format!("tidefeed_remembered_total{{of=\"content\",outcome=\"{outcome}\"}} ");
        metrics.render().lines().find_map(|line| line.strip_prefix(&name)?.parse().ok()).unwrap_or(0)
    })
}

/// On one thread, where everything that the server does is measured.
#[tokio::test]
async fn each_remembered_card_of_a_page_counts_as_a_hit() -> Result<()> {
    let recorder = PrometheusBuilder::new().build_recorder();
    let _measuring = metrics::set_default_local_recorder(&recorder);
    let here = server(Backend::Sqlite, CacheBackend::NoCache).await?;
    let (star, readers) = followed(&here, 3).await?;
    for number in 0..5 {
        publish(&here, &star, &format!("post {number}")).await?;
    }
    here.app.settle().await?;
    page(&here, &readers[0]).await?;
    let [hits, misses] = counted(&recorder.handle());
    ensure!(hits == 0, "nothing was remembered: {hits}");
    for (number, reader) in readers[1..].iter().chain(&readers).enumerate() {
        page(&here, reader).await?;
        let due = [5 * (number as u64 + 1), misses];
        ensure!(
            counted(&recorder.handle()) == due,
            "page {number}: {:?} instead of {due:?}",
            counted(&recorder.handle())
        );
    }
    Ok(())
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    /// A10: every reader's page has the texts of the author's posts, and only one reader's page on each node reads
    /// them.
    async fn a_node_reads_an_authors_card_once_for_many_readers(backend: Backend) -> Result<()> {
        let here = server(backend, CacheBackend::NoCache).await?;
        let (star, readers) = followed(&here, READERS).await?;
        for number in 0..5 {
            publish(&here, &star, &format!("post {number}")).await?;
        }
        here.app.settle().await?;
        let there = beside(&here, &short()).await?;
        for node in [&here, &there] {
            let mut first = Vec::new();
            for reader in &readers {
                let (shown, statements) = page(node, reader).await?;
                ensure!(shown[4]["text"] == "post 0" && shown[0]["author"]["name"] == "star", "{shown:#}");
                first.push(statements);
            }
            let expected: Vec<u64> = std::iter::once(4).chain(std::iter::repeat_n(2, READERS - 1)).collect();
            ensure!(first == expected, "authors and page of each, what is reposted and the cards once: {first:?}");
            for reader in &readers {
                ensure!(page(node, reader).await?.1 == 1, "the page's own snapshot, and nothing else");
            }
        }
        Ok(())
    }

    /// A10: both nodes remember the texts, and only SQL connects them.
    async fn a_deleted_content_is_shown_by_no_node_once_that_is_acknowledged(backend: Backend) -> Result<()> {
        deleted_contents_are_shown_by_no_node(server(backend, CacheBackend::NoCache).await?).await
    }

    async fn a_changed_name_is_shown_by_every_node_once_that_is_acknowledged(backend: Backend) -> Result<()> {
        changed_names_are_shown_by_every_node(server(backend, CacheBackend::NoCache).await?).await
    }

    async fn a_deleted_content_is_shown_by_no_node_with_inboxes_outside_sql(backend: Backend) -> Result<()> {
        deleted_contents_are_shown_by_no_node(server_outside(backend).await?).await
    }

    async fn a_changed_name_is_shown_by_every_node_with_inboxes_outside_sql(backend: Backend) -> Result<()> {
        changed_names_are_shown_by_every_node(server_outside(backend).await?).await
    }

    /// The same with an inbox outside SQL: the statement between both slices also reads the cards' facts.
    async fn a_page_of_an_inbox_outside_sql_is_one_statement(backend: Backend) -> Result<()> {
        let here = server_outside(backend).await?;
        let (star, readers) = followed(&here, READERS).await?;
        let outside = here.app.outside()?.clone().states;
        ensure!(outside.occupancy().await?.claimed >= READERS as u64, "not all readers have theirs outside");
        for number in 0..5 {
            publish(&here, &star, &format!("post {number}")).await?;
        }
        here.app.settle().await?;
        let mut first = Vec::new();
        for reader in &readers {
            let (shown, statements) = page(&here, reader).await?;
            ensure!(shown[4]["text"] == "post 0" && shown[0]["author"]["name"] == "star", "{shown:#}");
            first.push(statements);
        }
        let expected: Vec<u64> = std::iter::once(4).chain(std::iter::repeat_n(2, READERS - 1)).collect();
        ensure!(first == expected, "authors and page of each, what is reposted and the cards once: {first:?}");
        for query in [
            PAGE,
            "{ timeline(first: 2) { nodes { id text likeCount viewerHasLiked author { name } } pageInfo { endCursor } } }",
        ] {
            for reader in &readers {
                let before = here.app.store.statements();
                here.data(reader, query, json!({})).await?;
                ensure!(here.app.store.statements() - before == 1, "{query}");
            }
        }
        let newest = here.data(&readers[0], "{ timeline(first: 2) { pageInfo { endCursor } } }", json!({})).await?;
        let after = newest["timeline"]["pageInfo"]["endCursor"].clone();
        let before = here.app.store.statements();
        let query = "query($after: String) { timeline(first: 2, after: $after) { nodes { text } pageInfo { hasPreviousPage } } }";
        let page = here.data(&readers[0], query, json!({ "after": after })).await?;
        ensure!(here.app.store.statements() - before == 1, "a page behind a cursor");
        ensure!(page["timeline"]["nodes"] == json!([{ "text": "post 2" }, { "text": "post 1" }]), "{page:#}");
        ensure!(page["timeline"]["pageInfo"]["hasPreviousPage"] == json!(true), "{page:#}");
        Ok(())
    }

    /// A new edge is uncovered until it is covered, and costs more until then.
    async fn an_outside_page_is_one_statement_once_follows_are_covered(
        backend: Backend,
    ) -> Result<()> {
        let here = server_outside(backend).await?;
        let (_, readers) = followed(&here, 1).await?;
        let (other, token) = here.register("other").await?;
        publish(&here, &token, "older").await?;
        here.app.settle().await?;
        page(&here, &readers[0]).await?;
        let follow = "mutation($id: ID!) { followUser(input: {userId: $id}) { userErrors { code } } }";
        here.data(&readers[0], follow, json!({ "id": other })).await?;
        let (shown, _) = page(&here, &readers[0]).await?;
        ensure!(shown[0]["text"] == "older", "it is pulled: {shown:#}");
        here.app.settle().await?;
        for _ in 0..3 {
            page(&here, &readers[0]).await?;
        }
        let (shown, statements) = page(&here, &readers[0]).await?;
        ensure!(shown[0]["text"] == "older" && statements == 1, "{statements} statements");
        Ok(())
    }

    /// Both nodes also remember the reader's reactions.
    async fn a_like_is_shown_by_every_node_once_that_is_acknowledged(backend: Backend) -> Result<()> {
        let here = server(backend, CacheBackend::NoCache).await?;
        let (star, readers) = followed(&here, 1).await?;
        let there = beside(&here, &short()).await?;
        let id = publish(&here, &star, "words").await?;
        here.app.settle().await?;
        for round in 0..4 {
            let due = json!(round % 2 == 1);
            for (node, again) in [(&here, false), (&there, false), (&here, true), (&there, true)] {
                let (shown, statements) = page(node, &readers[0]).await?;
                ensure!(shown[0]["viewerHasLiked"] == due, "round {round}: {shown:#}");
                ensure!(round == 0 || statements == if again { 1 } else { 2 }, "round {round}: {statements}, {again}");
            }
            let change = if round % 2 == 0 { "likeContent" } else { "unlikeContent" };
            let change =
                format!("mutation($id: ID!) {{ {change}(input: {{contentId: $id}}) {{ userErrors {{ code }} }} }}");
            let changing = if round < 2 { &here } else { &there };
            changing.data(&readers[0], &change, json!({ "id": id })).await?;
        }
        Ok(())
    }
}
