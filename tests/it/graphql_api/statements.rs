//! How many statements an operation costs: the same for a long page as for a short one.

use serde_json::{Value, json};

use super::api::{Api, Person};

const CONTENT: &str = "{ id text counters { likes comments } viewerIsAuthor viewerHasLiked viewerHasFavourited
    author { id handle followerCount followingCount contentCount viewerIsFollowing isViewer
        viewerHasMuted viewerHasBlocked viewerIsHiding } }";

/// A reader of twenty authors with two contents each.
async fn read_by_ann() -> (Api, Person, Vec<String>) {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let mut ids = vec![ann.id.clone()];
    for number in 0..20 {
        let author = api.person(&format!("author_{number}")).await;
        api.follow(&ann, &author).await;
        ids.extend([author.id.clone(), api.publish(&author, "one").await, api.publish(&author, "two").await]);
    }
    (api, ann, ids)
}

async fn cost(api: &Api, reader: &Person, query: &str, variables: Value) -> u64 {
    let before = api.store.statements();
    api.data(Some(reader), query, variables).await;
    api.store.statements() - before
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_timeline_page_of_twenty_costs_what_a_page_of_two_does() {
    let (api, ann, _) = read_by_ann().await;
    let query = format!(
        "query($first: Int) {{ timeline(first: $first) {{ edges {{ cursor node {CONTENT} }} nodes {CONTENT} }} }}"
    );
    for first in [1, 2, 20, 40] {
        let statements = cost(&api, &ann, &query, json!({ "first": first })).await;
        assert_eq!(
            statements, 9,
            "page, originals, contents, counters, reactions, profiles, counts, follows, standings; for {first}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_timeline_costs_only_what_is_selected() {
    let (api, ann, _) = read_by_ann().await;
    // Two at least: the page itself, and which of its entries are reposts.
    for (selection, statements) in [
        ("pageInfo { hasNextPage }", 2),
        ("edges { cursor }", 2),
        ("nodes { text }", 3),
        ("edges { node { counters { likes } } }", 4),
        ("edges { node { viewerHasLiked viewerHasFavourited } }", 4),
        ("edges { node { author { handle } } }", 4),
        ("edges { node { ...f } } ", 5),
        ("nodes { author { viewerHasMuted viewerIsHiding } }", 5),
        ("nodes @include(if: false) { counters { likes } } edges { cursor }", 2),
    ] {
        let fragment =
            if selection.contains("...f") { "fragment f on Content { author { viewerIsFollowing } }" } else { "" };
        let query = format!("{{ timeline {{ {selection} }} }} {fragment}");
        assert_eq!(cost(&api, &ann, &query, json!({})).await, statements, "{selection}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_a_page_refers_to_costs_the_same_however_much_it_is() {
    let (api, ann, ids) = read_by_ann().await;
    for content in ids.iter().skip(2).step_by(3).take(10) {
        api.reply(&ann, content, "reply").await;
        api.repost(&ann, content).await;
    }
    let card = "{ id viewerHasReposted counters { reposts } author { handle } }";
    let query = format!(
        "query($first: Int) {{ timeline(first: $first) {{ nodes {{ id viewerHasReposted repostOf {card} inReplyTo {card} }} }} }}"
    );
    for first in [2, 20] {
        let statements = cost(&api, &ann, &query, json!({ "first": first })).await;
        let page = "page, originals, contents, counters, profile";
        assert_eq!(
            statements, 9,
            "{page}; contents, counters and profiles of what they refer to; reposted; for {first}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_authors_page_costs_the_same_however_long() {
    let (api, ann, _) = read_by_ann().await;
    let query = format!(
        "query($first: Int) {{ user(handle: \"author_3\") {{ contents(first: $first) {{ edges {{ node {CONTENT} }} }} }} }}"
    );
    for first in [1, 2] {
        let statements = cost(&api, &ann, &query, json!({ "first": first })).await;
        assert_eq!(statements, 8, "user, page, contents, counters, reactions, counts, follows, standings; for {first}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_nodes_cost_what_two_do() {
    let (api, ann, ids) = read_by_ann().await;
    let query = format!(
        "query($ids: [ID!]!) {{ nodes(ids: $ids) {{ ... on Content {CONTENT} ... on User {{ handle followerCount }} }} }}"
    );
    let few = cost(&api, &ann, &query, json!({"ids": ids[1..3]})).await;
    assert_eq!(few, 7, "contents, counters, reactions, profiles, counts, follows, standings");
    assert_eq!(few, cost(&api, &ann, &query, json!({ "ids": ids })).await);
    let one = "query($id: ID!) { content(id: $id) { text author { followerCount followingCount contentCount } } }";
    assert_eq!(cost(&api, &ann, one, json!({"id": ids[2]})).await, 3, "content, profile, counts");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_list_of_muted_users_costs_the_same_however_long() {
    let (api, ann, ids) = read_by_ann().await;
    let mute = "mutation($id: ID!) { muteUser(input: {userId: $id}) { userErrors { code } } }";
    for author in ids.iter().skip(1).step_by(3) {
        api.data(Some(&ann), mute, json!({ "id": author })).await;
    }
    let query =
        "query($first: Int) { viewer { mutedUsers(first: $first) { nodes { handle followerCount viewerHasMuted } } } }";
    for first in [1, 20] {
        let statements = cost(&api, &ann, query, json!({ "first": first })).await;
        assert_eq!(statements, 5, "viewer, list, profiles, counts, standings; for {first}");
    }
}
