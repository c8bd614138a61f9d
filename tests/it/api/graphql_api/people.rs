//! Tests `searchUsers` and `suggestedUsers` as a client uses them.

use serde_json::{Value, json};

use super::api::{Api, Person, faults};

const SEARCH: &str = "query($text: String!, $first: Int, $after: String) {
    searchUsers(text: $text, first: $first, after: $after) {
        edges { cursor node { handle followerCount viewerIsFollowing } }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }";
const SUGGEST: &str = "query($first: Int) { suggestedUsers(first: $first) { handle followerCount viewerIsFollowing } }";

async fn named(api: &Api, person: &Person, name: &str) {
    let query = "mutation($name: String!) { updateProfile(input: {name: $name}) { userErrors { code } } }";
    let renamed = api.data(Some(person), query, json!({ "name": name })).await;
    assert_eq!(renamed["updateProfile"]["userErrors"], json!([]));
}

fn handles(nodes: &Value) -> Vec<&str> {
    let nodes = nodes.as_array().unwrap().iter();
    nodes.map(|node| node["node"]["handle"].as_str().or(node["handle"].as_str()).unwrap()).collect()
}

async fn found(api: &Api, viewer: Option<&Person>, text: &str) -> Vec<String> {
    let page = api.data(viewer, SEARCH, json!({ "text": text })).await["searchUsers"].take();
    handles(&page["edges"]).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn anybody_finds_people_by_the_beginning_of_a_name_or_a_handle() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    named(&api, &ann, "Ada LOVELACE").await;
    named(&api, &bob, "王小明").await;
    for (text, expected) in [("lo", "ann"), ("ada lo", "ann"), ("ＡＮ", "ann"), ("@B", "bob"), ("小", "bob")] {
        assert_eq!(found(&api, None, text).await, [expected], "{text}");
        assert_eq!(found(&api, Some(&bob), text).await, [expected], "{text}");
    }
    assert!(found(&api, None, "@ada").await.is_empty());
    named(&api, &ann, "Augusta").await;
    assert!(found(&api, None, "lo").await.is_empty());
    api.block(&ann, &bob).await;
    assert!(found(&api, Some(&bob), "augusta").await.is_empty() && found(&api, Some(&ann), "@bob").await.is_empty());
    assert_eq!(found(&api, None, "augusta").await, ["ann"]);
}

#[tokio::test]
async fn pages_of_people_follow_each_other_by_cursor() {
    let api = Api::new().await;
    for number in 0..5 {
        api.person(&format!("tide_{number}")).await;
    }
    let first = api.data(None, SEARCH, json!({"text": "tide", "first": 3})).await["searchUsers"].take();
    let (edges, info) = (&first["edges"], &first["pageInfo"]);
    assert_eq!(handles(edges), ["tide_0", "tide_1", "tide_2"]);
    assert_eq!((&info["startCursor"], &info["endCursor"]), (&edges[0]["cursor"], &edges[2]["cursor"]));
    assert_eq!((&info["hasNextPage"], &info["hasPreviousPage"]), (&json!(true), &json!(false)));
    let after = json!({"text": "tide", "first": 3, "after": info["endCursor"]});
    let second = api.data(None, SEARCH, after).await["searchUsers"].take();
    assert_eq!(handles(&second["edges"]), ["tide_3", "tide_4"]);
    assert_eq!(second["pageInfo"]["hasNextPage"], json!(false));
    let nobody = api.data(None, SEARCH, json!({"text": "nobody"})).await["searchUsers"].take();
    let info = json!({"hasNextPage": false, "hasPreviousPage": false, "startCursor": null, "endCursor": null});
    assert_eq!(nobody, json!({"edges": [], "pageInfo": info}));
}

#[tokio::test]
async fn an_empty_search_for_people_is_refused_with_a_message() {
    let api = Api::new().await;
    for (variables, words) in [
        (json!({"text": " "}), "`text` is blank"),
        (json!({"text": "潮".repeat(61)}), "61 characters"),
        (json!({"text": "@"}), "at least one letter"),
        (json!({"text": "?!"}), "at least one letter"),
        (json!({"text": "a", "first": 101}), "1 to 100"),
        (json!({"text": "a", "after": "x"}), "`after` is not a cursor"),
        (json!({"text": "a", "after": "AQAAAYlFlLlQAAAAAAAAgFI"}), "a cursor of another list"),
    ] {
        let answer = api.ask(None, SEARCH, variables.clone()).await;
        assert_eq!(faults(&answer), [("BAD_USER_INPUT".to_owned(), json!(["searchUsers"]))], "{variables}");
        let message = answer["errors"][0]["message"].as_str().unwrap();
        assert!(message.contains(words), "{variables}: {message}");
    }
    for first in [0, 51] {
        let answer = api.ask(None, SUGGEST, json!({ "first": first })).await;
        assert_eq!(faults(&answer), [("BAD_USER_INPUT".to_owned(), json!(["suggestedUsers"]))]);
        assert!(answer["errors"][0]["message"].as_str().unwrap().contains("1 to 50"), "{answer}");
    }
}

#[tokio::test]
async fn suggestions_prefer_users_whom_followed_users_follow() {
    let api = Api::new().await;
    let mut people = Vec::new();
    for handle in ["ann", "bob", "cleo", "dan", "eve"] {
        people.push(api.person(handle).await);
    }
    let [ann, bob, cleo, dan, eve] = [0, 1, 2, 3, 4].map(|place: usize| &people[place]);
    for (reader, author) in [(ann, bob), (bob, cleo), (cleo, dan), (eve, dan)] {
        api.follow(reader, author).await;
    }
    let suggested = api.data(Some(ann), SUGGEST, json!({})).await["suggestedUsers"].take();
    assert_eq!(handles(&suggested), ["cleo", "dan", "eve"]);
    assert_eq!(suggested[0], json!({"handle": "cleo", "followerCount": 1, "viewerIsFollowing": false}));
    let one = api.data(Some(ann), SUGGEST, json!({"first": 1})).await["suggestedUsers"].take();
    assert_eq!(handles(&one), ["cleo"]);
    let anonymous = api.data(None, SUGGEST, json!({"first": 1})).await["suggestedUsers"].take();
    assert_eq!(anonymous, json!([{"handle": "dan", "followerCount": 2, "viewerIsFollowing": null}]));
    api.follow(ann, cleo).await;
    let next = api.data(Some(ann), SUGGEST, json!({})).await["suggestedUsers"].take();
    assert_eq!(handles(&next), ["dan", "eve"], "whom one has followed is suggested no more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_long_page_of_people_costs_what_a_short_one_does() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    for number in 0..30 {
        let author = api.person(&format!("tide_{number}")).await;
        if number % 2 == 0 {
            api.follow(&ann, &author).await;
        }
    }
    let only = "query($text: String!) { searchUsers(text: $text) { pageInfo { hasNextPage } } }";
    for (query, variables, statements) in [
        (only, json!({"text": "tide"}), 1),
        (SEARCH, json!({"text": "tide", "first": 2}), 2),
        (SEARCH, json!({"text": "tide", "first": 30}), 2),
        (SUGGEST, json!({"first": 2}), 4),
        (SUGGEST, json!({"first": 15}), 4),
    ] {
        let before = api.store.statements();
        api.data(Some(&ann), query, variables.clone()).await;
        let sent = api.store.statements() - before;
        assert_eq!(sent, statements, "names or three for suggestions; cards: {variables}");
    }
}
