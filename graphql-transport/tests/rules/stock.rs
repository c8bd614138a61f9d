//! Tests the handlers of async-graphql-axum beside ours. If one fails because the stock handler has learned what this
//! crate does, that part of the crate can go.

use std::sync::atomic::Ordering;

use async_graphql_axum::{GraphQL, GraphQLProtocol};
use axum::{
    Router,
    extract::FromRequestParts as _,
    http::{Request as HttpRequest, StatusCode},
    routing::any_service,
};
use serde_json::json;

use super::{
    Answer, Service, answer, get, post,
    schema::{Shelf, library},
};

/// The stock handler over a library of its own.
fn stock() -> (Router, Shelf) {
    let (schema, shelf) = library();
    (Router::new().route("/graphql", any_service(GraphQL::new(schema))), shelf)
}

fn books(shelf: &Shelf) -> u32 {
    shelf.books.load(Ordering::Relaxed)
}

#[tokio::test]
async fn the_stock_handler_runs_a_mutation_by_get_and_ours_does_not() {
    let ((router, shelf), ours) = (stock(), Service::usual());
    let [theirs, own]: [Answer; 2] =
        [answer(router, get("mutation%7Bput%7D")).await, ours.send(get("mutation%7Bput%7D")).await];
    assert_eq!((theirs.status, books(&shelf)), (StatusCode::OK, 1));
    assert_eq!((own.status, books(&ours.shelf)), (StatusCode::METHOD_NOT_ALLOWED, 0));
}

#[tokio::test]
async fn the_stock_handler_reads_any_content_type_and_ours_only_json() {
    let ((router, shelf), ours) = (stock(), Service::usual());
    let request = || post("text/plain", &json!({"query": "mutation { put }"}), &[]);
    assert_eq!((answer(router, request()).await.status, books(&shelf)), (StatusCode::OK, 1));
    assert_eq!((ours.send(request()).await.status, books(&ours.shelf)), (StatusCode::UNSUPPORTED_MEDIA_TYPE, 0));
}

#[tokio::test]
async fn the_stock_handler_runs_batches_and_ours_does_not() {
    let ((router, shelf), ours) = (stock(), Service::usual());
    let many = json!(vec![json!({"query": "mutation { put }"}); 500]);
    assert_eq!(
        (answer(router, post("application/json", &many, &[])).await.status, books(&shelf)),
        (StatusCode::OK, 500)
    );
    assert_eq!((ours.post(many, &[]).await.status, books(&ours.shelf)), (StatusCode::BAD_REQUEST, 0));
}

#[tokio::test]
async fn the_stock_extractor_takes_the_outdated_subprotocol_too() {
    let request = HttpRequest::get("/graphql/ws").header("sec-websocket-protocol", "graphql-ws").body(()).unwrap();
    let extracted = GraphQLProtocol::from_request_parts(&mut request.into_parts().0, &()).await;
    assert!(extracted.is_ok(), "and nothing tells which of the two it is");
}
