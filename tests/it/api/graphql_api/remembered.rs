//! What is remembered of a page whose viewer's sign-in ends while it is read.

use std::sync::Arc;

use async_graphql::Variables;
use graphql_transport::{
    execution::PreparedExecutor as _,
    guard::{Guard, GuardLimits, Prepared, Shape},
};
use serde_json::{Value, json};
use tidefeed::api::graphql::schema_sdl;

use super::api::{Api, Person, request};

const PAGE: &str = "{ timeline { nodes { text viewerHasLiked viewerIsAuthor author { viewerIsFollowing } } } }";

/// `query` as the transport prepares it, which keeps it for later requests.
fn prepared(query: &str) -> Arc<Prepared> {
    let guard = Guard::new(GuardLimits::default(), Shape::of_sdl(&schema_sdl()).unwrap());
    let document = guard.open(query).unwrap();
    guard.admit(&document, None, &mut Variables::default()).unwrap().operation
}

async fn page(api: &Api, reader: &Person, operation: &Arc<Prepared>) -> Value {
    let response = api.schema.execute_prepared(operation.clone(), request(Some(reader), "", json!({}))).await;
    read(response.data)["timeline"]["nodes"].take()
}

/// What the transport makes of an answer, remembered JSON included.
fn read(value: async_graphql::Value) -> Value {
    match value {
        async_graphql::Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name.to_string(), read(value))).collect()
        }
        async_graphql::Value::List(values) => values.into_iter().map(read).collect(),
        async_graphql::Value::Binary(json) => serde_json::from_slice(&json).unwrap(),
        plain => plain.into_json().unwrap(),
    }
}

#[tokio::test]
async fn a_page_whose_viewers_sign_in_ended_is_not_remembered_for_others() {
    let api = Api::new().await;
    let [star, ann, bob] = [api.person("star").await, api.person("ann").await, api.person("bob").await];
    for reader in [&ann, &bob] {
        api.follow(reader, &star).await;
    }
    api.publish(&star, "older").await;
    let warm = prepared("{ timeline { nodes { id text author { name } } } }");
    for reader in [&ann, &bob, &ann, &bob] {
        page(&api, reader, &warm).await;
    }
    api.publish(&star, "newer").await;
    // The older content is on hand; the sign-in ends while the newer one is read.
    let (operation, clock, wait_ms) = (prepared(PAGE), api.clock.clone(), ann.viewer.good_until_ms);
    *api.contents.meanwhile.lock().unwrap() = Some(Box::pin(async move { clock.advance(wait_ms) }));
    let of_ann = page(&api, &ann, &operation).await;
    assert!(api.contents.meanwhile.lock().unwrap().is_none(), "the newer content was on hand, too: {of_ann:#}");
    let mut bob = bob;
    bob.viewer.good_until_ms = i64::MAX;
    let shown = |text: &str| json!({ "text": text, "viewerHasLiked": false, "viewerIsAuthor": false, "author": { "viewerIsFollowing": true } });
    for _ in 0..2 {
        assert_eq!(page(&api, &bob, &operation).await, json!([shown("newer"), shown("older")]));
    }
}
