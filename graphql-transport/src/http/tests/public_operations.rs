//! Tests operations that need no token, sent with an expired one.

use serde_json::json;

use super::*;

/// The answer to `query` with an expired token.
async fn expired(query: &str) -> Answer {
    let headers = [("authorization", "Bearer expired"), ("accept", "application/graphql-response+json")];
    send(HttpSettings::default(), post(json!({ "query": query }).to_string(), &headers)).await
}

#[tokio::test]
async fn a_token_that_has_expired_keeps_nobody_from_signing_in() {
    for query in ["mutation { bump }", "mutation Sign { a: bump __typename }"] {
        let answer = expired(query).await;
        assert_eq!(answer.status, StatusCode::OK, "{query}: {}", answer.body);
    }
}

#[tokio::test]
async fn anything_else_is_401_with_it_also_beside_a_sign_in() {
    for query in ["{ hello }", "mutation { bump whoamiToo: secretBump }", "query A { hello } mutation B { bump }", "{"]
    {
        let answer = expired(query).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{query}: {}", answer.body);
    }
}

#[tokio::test]
async fn signing_in_with_an_expired_token_counts_as_anonymous() {
    let one = std::num::NonZeroU32::MIN;
    let bucket = |points| TokenBucket { points: one.saturating_add(points), per_second: one };
    let rate = Some(RateLimits { viewer: bucket(1_000), service: bucket(1_000), address: bucket(99), known: 100 });
    let settings = HttpSettings { rate, ..HttpSettings::default() };
    let answer =
        send(settings, post("{\"query\":\"mutation { bump }\"}", &[("authorization", "Bearer expired")])).await;
    assert_eq!(answer.body["extensions"]["cost"]["limit"], 100, "{}", answer.body);
}
