//! Tests `search` as a client uses it.

use serde_json::{Value, json};

use super::api::{Api, Person, faults};

const SEARCH: &str = "query($text: String, $author: ID, $from: DateTime, $to: DateTime, $first: Int, $after: String) {
    search(text: $text, author: $author, from: $from, to: $to, first: $first, after: $after) {
        edges { cursor node { text author { handle } } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }";

async fn texts(api: &Api, viewer: Option<&Person>, variables: Value) -> Vec<String> {
    let found = api.data(viewer, SEARCH, variables).await;
    let edges = found["search"]["edges"].as_array().unwrap().clone();
    edges.iter().map(|edge| edge["node"]["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn text_author_and_time_are_found_together_by_anybody() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    for (author, text) in [(&ann, "Low tide"), (&bob, "今天看潮汐"), (&ann, "High tide, 潮汐"), (&bob, "tide 🎉")]
    {
        api.publish(author, text).await;
    }
    assert_eq!(texts(&api, None, json!({"text": "TIDE"})).await, ["tide 🎉", "High tide, 潮汐", "Low tide"]);
    assert_eq!(texts(&api, Some(&bob), json!({"text": "潮"})).await, ["High tide, 潮汐", "今天看潮汐"]);
    assert_eq!(texts(&api, None, json!({"text": "潮汐", "author": ann.id})).await, ["High tide, 潮汐"]);
    assert_eq!(texts(&api, None, json!({"author": bob.id})).await, ["tide 🎉", "今天看潮汐"]);
    // The clock showed 09:30:00.000 before the first.
    let times = json!({"text": "tide", "from": "2026-11-21T09:30:00.003Z", "to": "2026-11-21T10:30:00.004+01:00"});
    assert_eq!(texts(&api, None, times).await, ["High tide, 潮汐"], "from is inclusive, to is not");
}

#[tokio::test]
async fn pages_follow_each_other_by_cursor() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    for number in 0..5 {
        api.publish(&ann, &format!("tide {number}")).await;
    }
    let first = api.data(None, SEARCH, json!({"text": "tide", "first": 3})).await["search"].take();
    let (edges, info) = (first["edges"].as_array().unwrap(), &first["pageInfo"]);
    assert_eq!((info["hasNextPage"].as_bool(), info["hasPreviousPage"].as_bool()), (Some(true), Some(false)));
    assert_eq!((&info["startCursor"], &info["endCursor"]), (&edges[0]["cursor"], &edges[2]["cursor"]));
    api.publish(&ann, "tide meanwhile").await;
    let after = json!({"text": "tide", "first": 3, "after": info["endCursor"]});
    let second = api.data(None, SEARCH, after.clone()).await["search"].take();
    assert_eq!(second["pageInfo"]["hasNextPage"], json!(false));
    assert_eq!(texts(&api, None, after).await, ["tide 1", "tide 0"]);
    let nothing = api.data(None, SEARCH, json!({"text": "nothing"})).await["search"].take();
    let info = json!({"hasNextPage": false, "hasPreviousPage": false, "startCursor": null, "endCursor": null});
    assert_eq!(nothing, json!({"edges": [], "pageInfo": info}));
}

#[tokio::test]
async fn an_impossible_search_is_refused_with_a_message() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    for (variables, words) in [
        (json!({}), "`text`, `author` or both"),
        (json!({"text": "  "}), "`text`, `author` or both"),
        (json!({"from": "2026-11-21T09:30:00Z"}), "`text`, `author` or both"),
        (json!({"text": "?!"}), "at least one letter"),
        (json!({"text": "潮".repeat(101)}), "101 characters"),
        (json!({"author": "ann"}), "not an id of this service"),
        (json!({"author": "C_AAAAAAAAAAE"}), "id of a user"),
        (json!({"author": ann.id, "from": "2026-11-21T09:30:00Z", "to": "2026-11-21T09:30:00Z"}), "earlier"),
        (json!({"text": "a", "first": 0}), "1 to 100"),
        (json!({"text": "a", "after": "x"}), "`after` is"),
    ] {
        let answer = api.ask(Some(&ann), SEARCH, variables.clone()).await;
        assert_eq!(faults(&answer), [("BAD_USER_INPUT".to_owned(), json!(["search"]))], "{variables}");
        let message = answer["errors"][0]["message"].as_str().unwrap();
        assert!(message.contains(words), "{variables}: {message}");
        assert_eq!(answer["data"]["search"], json!(null));
    }
}

#[tokio::test]
async fn deleted_and_blocked_contents_are_not_found() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let gone = api.publish(&ann, "tide one").await;
    let kept = api.publish(&ann, "tide two").await;
    api.delete(&ann, &gone).await;
    api.repost(&bob, &kept).await;
    assert_eq!(texts(&api, Some(&bob), json!({"text": "tide"})).await, ["tide two"]);
    assert!(texts(&api, None, json!({"author": bob.id})).await.is_empty(), "a repost is not found");
    api.block(&ann, &bob).await;
    for variables in [json!({"text": "tide"}), json!({"author": ann.id})] {
        assert!(texts(&api, Some(&bob), variables).await.is_empty());
    }
    assert_eq!(texts(&api, None, json!({"text": "tide"})).await, ["tide two"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_long_page_costs_what_a_short_one_does() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    for number in 0..30 {
        api.publish(&ann, &format!("low tide {number}")).await;
    }
    for (variables, statements) in [
        (json!({"text": "tide", "first": 2}), 3),
        (json!({"text": "tide", "first": 25}), 3),
        (json!({"text": "low tide", "first": 25}), 4),
        (json!({"text": "tide", "first": 100}), 3),
        (json!({"text": "nothing"}), 2),
        (json!({"text": "nothing tide"}), 2),
    ] {
        let before = api.store.statements();
        api.data(None, SEARCH, variables.clone()).await;
        assert_eq!(
            api.store.statements() - before,
            statements,
            "what waits, counts if several words, look, cards: {variables}"
        );
    }
}
