//! Tests that no request that passes the guard makes the executor panic. Requests are random sequences of the schema's
//! words, with random variables.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// How many times as many requests as a property has cases by default.
const TIMES: u32 = 4;

/// All names of the schema, except fields that panic, fail or take time, and all punctuation.
const TOKENS: &[&str] = &[
    "{",
    "{",
    "}",
    "}",
    "(",
    ")",
    "[",
    "]",
    "...",
    "...f",
    "...f",
    " on Query",
    "query Q",
    "mutation",
    "subscription",
    "fragment f on Query",
    "fragment f on Int",
    "hello",
    "hello",
    "echo",
    "echo(text: $v)",
    "echo(text: \"x\")",
    "byId(id: 7)",
    "byId(id: $v)",
    "atMostTen(number: 11)",
    "atMostTen(number: $v)",
    "nested",
    "nested",
    "nested {",
    "whoami",
    "codedFailure",
    "bump",
    "count(to: 2)",
    "refused",
    "stumble",
    "missing",
    "__typename",
    "__schema",
    "__type(name: \"Query\")",
    "fields { name }",
    "types { name }",
    "a:",
    "$v",
    ":",
    "=",
    "!",
    "@skip(if: $v)",
    "@include(if: false)",
    "@deprecated",
    "@skip",
    "($v: Int = 1)",
    "($v: [Missing] = 1)",
    "($v: String! = null)",
    "($v: [[Int!]]! = [[1], 2])",
    "($v: Query)",
    "($v: Boolean = $v)",
    "true",
    "null",
    "1",
    "-1e9",
    "\"s\"",
    "\"\"\"b\"\"\"",
    "{ a: [1] }",
    "#\n",
    ",",
];

fn token() -> impl Strategy<Value = &'static str> {
    prop::sample::select(TOKENS)
}

fn value() -> impl Strategy<Value = Json> {
    prop::sample::select(vec![
        json!(null),
        json!(1),
        json!(2_147_483_648_i64),
        json!(1.5),
        json!(true),
        json!("x"),
        json!([]),
        json!([[1], null]),
        json!({"a": {"b": []}}),
    ])
}

/// Sends the generated documents. Fails if one is answered with an internal error.
fn ask_all(documents: impl Strategy<Value = String>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let router = router(transport(HttpSettings::default())).unwrap();
    let config = ProptestConfig::with_cases(TIMES * ProptestConfig::default().cases);
    proptest!(config, |(query in documents, v in value(), named in proptest::bool::ANY)| {
        let name = if named { json!("Q") } else { Json::Null };
        let body = json!({"query": query, "variables": {"v": v}, "operationName": name}).to_string();
        for accept in ["application/graphql-response+json", "text/event-stream"] {
            let answer = router.clone().oneshot(post(body.clone(), &[("accept", accept)]));
            let answered = runtime.block_on(async {
                let response = answer.await.unwrap();
                let status = response.status();
                (status, axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap())
            });
            let text = String::from_utf8_lossy(&answered.1);
            prop_assert!(!answered.0.is_server_error(), "{}: {}", query, text);
            prop_assert!(!text.contains("INTERNAL_SERVER_ERROR"), "{}: {}", query, text);
        }
    });
}

#[test]
fn no_random_tokens_is_answered_as_a_fault_of_ours() {
    ask_all(prop::collection::vec(token(), 0..40).prop_map(|tokens| tokens.join(" ")));
}

#[test]
fn no_document_that_nearly_fits_is_answered_as_a_fault_of_ours() {
    let declared = prop::sample::select(vec![
        "",
        "query Q",
        "query Q($v: Int)",
        "query Q($v: Int! = 3)",
        "query Q($v: [Int!])",
        "query Q($v: [Missing] = 1)",
        "query Q($v: Missing)",
        "query Q($v: Query)",
        "query Q($v: String = 7)",
        "query Q($v: ID)",
        "subscription Q",
        "mutation Q",
    ]);
    let inside = prop::collection::vec(token(), 1..12).prop_map(|tokens| tokens.join(" "));
    ask_all((declared, inside).prop_map(|(declared, inside)| format!("{declared} {{ hello {inside} }}")));
}
