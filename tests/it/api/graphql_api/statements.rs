//! Counts the statements of operations: a long page costs as many as a short one.

use serde_json::{Value, json};
use tidefeed::{
    domain::delivery::{DeliveryPolicy, EdgeRule},
    store::{Deliveries as _, Inboxes as _, deliveries::AtOnce},
};

use super::api::{Api, Person};

const CONTENT: &str =
    "{ id text externalId url type attributes likeCount replyCount viewerIsAuthor viewerHasLiked viewerHasBookmarked
    author { id handle followerCount followingCount contentCount viewerIsFollowing isViewer
        viewerHasMuted viewerHasBlocked viewerIsHiding } }";

/// A reader of twenty authors with two contents each, all in the inbox.
async fn read_by_ann() -> (Api, Person, Vec<String>) {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let mut ids = vec![ann.id.clone()];
    for number in 0..20 {
        let author = api.person(&format!("author_{number}")).await;
        api.follow(&ann, &author).await;
        ids.extend([author.id.clone(), api.publish(&author, "one").await, api.publish(&author, "two").await]);
        api.store.cover(ann.viewer.id, author.viewer.id, 300, author.viewer.id.get()).await.unwrap();
    }
    api.store.extend(ann.viewer.id, 300).await.unwrap();
    (api, ann, ids)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_page_that_pulls_does_not_try_the_inbox_first_each_time() {
    let (api, ann, ids) = read_by_ann().await;
    let carl = api.person("carl").await;
    api.follow(&ann, &carl).await;
    let latest = api.publish(&carl, "latest").await;
    let query = "{ timeline { edges { cursor } } }";
    cost(&api, &ann, query, json!({})).await;
    assert_eq!(cost(&api, &ann, query, json!({})).await, 1, "pulled at once");
    let page = api.data(Some(&ann), "{ timeline { edges { node { id } } } }", json!({})).await;
    assert_eq!(page["timeline"]["edges"][0]["node"]["id"], json!(latest), "{ids:?}");
    api.store.cover(ann.viewer.id, carl.viewer.id, 300, carl.viewer.id.get()).await.unwrap();
    let mut costs = Vec::new();
    for _ in 0..20 {
        costs.push(cost(&api, &ann, query, json!({})).await);
    }
    let extra: u64 = costs.iter().map(|cost| cost - 1).sum();
    assert!(extra <= 2, "covered again: one each, and once the authors and a stretch of others: {costs:?}");
}

/// Delivers everything in flight.
async fn deliver(api: &Api) {
    let rule = EdgeRule::Threshold { push_threshold: 1_000, active_days: 7 };
    let policy = DeliveryPolicy { rule, dormant_days: 30 };
    for delivery in api.store.due(i64::MIN, i64::MAX - 1, i64::MAX, 1_000).await.unwrap() {
        let delivered = api.store.deliver_at_once(delivery.entry.content, 1_000, &policy).await.unwrap();
        assert!(matches!(delivered, AtOnce::Ended { .. }));
    }
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
    let known = "page, cards";
    assert_eq!(cost(&api, &ann, &query, json!({ "first": 40 })).await, 4, "{known}; authors and originals, once");
    for first in [1, 2, 20, 40] {
        assert_eq!(cost(&api, &ann, &query, json!({ "first": first })).await, 2, "{known}; for {first}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_external_ids_cost_what_one_does() {
    let (api, ann, _) = read_by_ann().await;
    let nodes = "query($ids: [ID!]!) { nodes(ids: $ids) { id } }";
    let ids = |count: usize| json!({ "ids": (0..count).map(|number| format!("ext:{number}")).collect::<Vec<_>>() });
    for count in [1, 2, 100] {
        let statements = cost(&api, &ann, nodes, ids(count)).await;
        assert_eq!(statements, 3, "whose they are, of users and contents, and the users; for {count}");
    }
    let each: Vec<_> = (0..20).map(|number| format!("n{number}: node(id: \"ext:{number}\") {{ id }}")).collect();
    assert_eq!(cost(&api, &ann, &format!("{{ {} }}", each.join(" ")), json!({})).await, 3);
    let page = |fields: &str| format!("{{ timeline(first: 40) {{ nodes {{ author {{ id {fields} }} }} }} }}");
    for query in [page(""), page("externalId state")] {
        cost(&api, &ann, &query, json!({})).await;
    }
    let plain = cost(&api, &ann, &page(""), json!({})).await;
    assert_eq!(cost(&api, &ann, &page("externalId state"), json!({})).await, plain + 1, "one for all authors");
}

/// The node learns of a like by the version in the page's snapshot.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_page_below_the_inbox_shows_likes_at_once() {
    let (api, ann, _) = read_by_ann().await;
    api.store.trim(ann.viewer.id, 1).await.unwrap();
    let query = "query($after: String) { timeline(first: 8, after: $after) {
        edges { cursor node { id likeCount viewerHasLiked } } pageInfo { hasPreviousPage } } }";
    let mut after = json!(null);
    for _ in 0..3 {
        let page = api.data(Some(&ann), query, json!({ "after": after })).await;
        after = page["timeline"]["edges"][7]["cursor"].clone();
    }
    for is_liked in [false, true, false, true] {
        let (mut costs, mut id) = (Vec::new(), Value::Null);
        for _ in 0..3 {
            let before = api.store.statements();
            let page = api.data(Some(&ann), query, json!({ "after": after })).await;
            costs.push(api.store.statements() - before);
            let content = &page["timeline"]["edges"][0]["node"];
            assert_eq!(content["viewerHasLiked"], json!(is_liked), "{page:#}");
            assert_eq!(content["likeCount"], json!(i64::from(is_liked)));
            id = content["id"].clone();
            assert_eq!(page["timeline"]["pageInfo"]["hasPreviousPage"], json!(true));
        }
        assert_eq!(costs[1..], [1, 1], "a stretch with what its cards show: {costs:?}");
        let change = if is_liked { "unlikeContent" } else { "likeContent" };
        let change =
            format!("mutation($id: ID!) {{ {change}(input: {{contentId: $id}}) {{ userErrors {{ code }} }} }}");
        api.data(Some(&ann), &change, json!({ "id": id })).await;
    }
}

/// Everything that a page can miss: the reader's reactions have changed, the inbox does not reach far enough, and
/// neither what is reposted nor the cards are known.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_worst_page_costs_five_statements() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    api.follow(&ann, &bob).await;
    let mut latest = String::new();
    for _ in 0..22 {
        latest = api.publish(&bob, "latest").await;
    }
    api.store.cover(ann.viewer.id, bob.viewer.id, 300, bob.viewer.id.get()).await.unwrap();
    api.store.extend(ann.viewer.id, 300).await.unwrap();
    deliver(&api).await;
    cost(&api, &ann, "{ timeline(first: 8) { edges { cursor } } }", json!({})).await;
    api.store.trim(ann.viewer.id, 1).await.unwrap();
    let like = "mutation($id: ID!) { likeContent(input: {contentId: $id}) { userErrors { code } } }";
    api.data(Some(&ann), like, json!({ "id": latest })).await;
    let query = "{ timeline(first: 20) { nodes { text likeCount viewerHasLiked author { handle } } } }";
    let before = api.store.statements();
    let page = api.data(Some(&ann), query, json!({})).await;
    let statements = api.store.statements() - before;
    assert_eq!(page["timeline"]["nodes"].as_array().unwrap().len(), 20);
    assert_eq!(page["timeline"]["nodes"][0]["viewerHasLiked"], json!(true), "{page:#}");
    assert_eq!(statements, 5, "candidates, authors and reactions, definition; originals, cards");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_timeline_costs_only_what_is_selected() {
    let (api, ann, _) = read_by_ann().await;
    let first = cost(&api, &ann, "{ timeline { edges { cursor } } }", json!({})).await;
    assert_eq!(first, 3, "authors, page, originals");
    // At least the page itself: the node knows which of its entries are reposts.
    for (selection, statements) in [
        ("pageInfo { hasNextPage }", 1),
        ("edges { cursor }", 1),
        ("nodes { text }", 2),
        ("nodes { text }", 1),
        ("edges { node { likeCount } }", 1),
        ("edges { node { viewerHasLiked viewerHasBookmarked } }", 1),
        ("edges { node { author { handle } } }", 2),
        ("edges { node { text likeCount viewerHasLiked author { handle name avatarUrl } } }", 1),
        ("edges { node { ...f } } ", 1),
        ("nodes { author { viewerHasMuted viewerIsHiding } }", 2),
        ("nodes @include(if: false) { likeCount } edges { cursor }", 1),
    ] {
        let fragment =
            if selection.contains("...f") { "fragment f on Content { author { viewerIsFollowing } }" } else { "" };
        let query = format!("{{ timeline {{ {selection} }} }} {fragment}");
        assert_eq!(cost(&api, &ann, &query, json!({})).await, statements, "{selection}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn references_on_a_page_cost_a_constant_number_of_statements() {
    let (api, ann, ids) = read_by_ann().await;
    for content in ids.iter().skip(2).step_by(3).take(10) {
        api.reply(&ann, content, "reply").await;
        api.repost(&ann, content).await;
    }
    let in_flight = "{ timeline(first: 2) { nodes { id likeCount } } }";
    cost(&api, &ann, in_flight, json!({})).await;
    assert_eq!(cost(&api, &ann, in_flight, json!({})).await, 2, "page, cards of what is in flight");
    deliver(&api).await;
    assert_eq!(cost(&api, &ann, in_flight, json!({})).await, 1, "page");
    let card = "{ id viewerHasReposted repostCount author { handle } }";
    let query = format!(
        "query($first: Int) {{ timeline(first: $first) {{ nodes {{ id viewerHasReposted repostOf {card} inReplyTo {card} }} }} }}"
    );
    let first = cost(&api, &ann, &query, json!({ "first": 20 })).await;
    assert_eq!(first, 5, "page, originals, cards, cards of what they refer to, reposted");
    for first in [2, 20] {
        let statements = cost(&api, &ann, &query, json!({ "first": first })).await;
        assert_eq!(statements, 3, "page, cards of what they refer to, reposted; for {first}");
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
        assert_eq!(statements, 3, "user, page, cards; for {first}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_nodes_cost_what_two_do() {
    let (api, ann, ids) = read_by_ann().await;
    let query = format!(
        "query($ids: [ID!]!) {{ nodes(ids: $ids) {{ ... on Content {CONTENT} ... on User {{ handle followerCount }} }} }}"
    );
    let few = cost(&api, &ann, &query, json!({"ids": ids[1..3]})).await;
    assert_eq!(few, 2, "cards of contents, cards of users");
    assert_eq!(few, cost(&api, &ann, &query, json!({ "ids": ids })).await);
    let one = "query($id: ID!) { content(id: $id) { text author { followerCount followingCount contentCount } } }";
    assert_eq!(cost(&api, &ann, one, json!({"id": ids[2]})).await, 2, "content, the author's card");
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
        assert_eq!(statements, 3, "viewer, list, cards; for {first}");
    }
}

/// Lists that hang on the entries of a page. Each costs two statements beyond the page, whose cards are remembered: the
/// lists, and what they show.
const LISTS: [&str; 6] = [
    "replies(first: 3) { nodes { text author { handle } likeCount } }",
    "likers(first: 3) { nodes { handle followerCount } }",
    "ancestors { text likeCount }",
    "author { followers(first: 3) { nodes { handle } } }",
    "author { following(first: 3) { nodes { handle viewerIsFollowing } } }",
    "author { contents(first: 3) { nodes { text viewerHasLiked } } }",
];

/// A reader whose newest twenty entries are replies to others, each by another author, answered and liked by bob, whom
/// all authors follow.
async fn read_with_lists() -> (Api, Person) {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let mut authors = Vec::new();
    for number in 0..20 {
        let author = api.person(&format!("author_{number}")).await;
        api.follow(&ann, &author).await;
        api.follow(&author, &bob).await;
        let root = api.publish(&bob, "root").await;
        let first = api.reply(&author, &root, "first").await;
        api.store.cover(ann.viewer.id, author.viewer.id, 300, author.viewer.id.get()).await.unwrap();
        authors.push((author, first));
    }
    api.store.extend(ann.viewer.id, 300).await.unwrap();
    let like = "mutation($id: ID!) { likeContent(input: {contentId: $id}) { userErrors { code } } }";
    for (author, first) in &authors {
        let entry = api.reply(author, first, "second").await;
        api.reply(&bob, &entry, "answer").await;
        api.data(Some(&bob), like, json!({ "id": entry })).await;
    }
    deliver(&api).await;
    (api, ann)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nested_lists_cost_the_same_statements_on_any_page_size() {
    let (api, ann) = read_with_lists().await;
    let cost_of = async |lists: &str, first: u64| {
        let query = format!("query($first: Int) {{ timeline(first: $first) {{ nodes {{ id {lists} }} }} }}");
        cost(&api, &ann, &query, json!({ "first": first })).await
    };
    cost_of("author { handle }", 20).await; // From now on the cards of the entries are remembered.
    for list in LISTS {
        for first in [1, 2, 20] {
            assert_eq!(cost_of(list, first).await, 1 + 2, "for {first} times {list}");
        }
    }
    let more = "more: replies(first: 4) { nodes { text } }";
    let all = LISTS.join(" ") + " " + more;
    let few = cost_of(&all, 2).await;
    assert_eq!(few, 1 + 7 + 7, "seven lists; what each shows, as no two ask for the same of it");
    for _ in 0..5 {
        assert_eq!(cost_of(&all, 20).await, few, "all lists at once");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn lists_of_lists_cost_a_statement_a_level() {
    let (api, ann) = read_with_lists().await;
    let query = "query($first: Int) { timeline(first: $first) { nodes {
        ancestors { likers(first: 3) { nodes { id } } replies(first: 3) { nodes { id } } } } } }";
    cost(&api, &ann, query, json!({ "first": 20 })).await;
    let few = cost(&api, &ann, query, json!({ "first": 2 })).await;
    assert_eq!(few, 5, "page; ancestors, their contents; likers and replies of those");
    for _ in 0..5 {
        assert_eq!(cost(&api, &ann, query, json!({ "first": 20 })).await, few);
    }
}
