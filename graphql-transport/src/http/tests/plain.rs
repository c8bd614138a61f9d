//! Tests requests over plain HTTP: the answer, its status, and what it hides.

use std::sync::Mutex;

use serde_json::json;

use super::*;

const INTROSPECTION: &str = include_str!("../../guard/introspection.graphql");

/// Each layer around a request holds its future, and some of them move it. It was 26 kB, and is below 1 kB.
#[test]
fn the_future_of_a_request_is_small() {
    fn bytes<A, B, F>(_: impl Fn(A, B) -> F) -> usize {
        size_of::<F>()
    }
    let bytes = bytes(crate::http::handler::serve::<schema::TestSchema, schema::Person>);
    assert!(bytes <= 2_048, "{bytes} bytes");
}

#[tokio::test]
async fn a_query_is_answered_in_the_media_type_that_was_asked_for() {
    for (accept, expected) in [
        ("application/json", "application/json; charset=utf-8"),
        ("application/graphql-response+json", "application/graphql-response+json; charset=utf-8"),
        ("*/*", "application/json; charset=utf-8"),
    ] {
        let answer = send(HttpSettings::default(), post("{\"query\":\"{ hello }\"}", &[("accept", accept)])).await;
        assert_eq!((answer.status, answer.header("content-type")), (StatusCode::OK, expected));
        assert_eq!(answer.body, json!({"data": {"hello": "world"}}));
    }
    let refused = send(HttpSettings::default(), post("{\"query\":\"{ hello }\"}", &[("accept", "text/html")])).await;
    assert_eq!((refused.status, refused.extension("code")), (StatusCode::NOT_ACCEPTABLE, "BAD_USER_INPUT"));
}

#[tokio::test]
async fn the_introspection_query_of_graphql_js_passes() {
    let answer = ask(INTROSPECTION).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body["errors"]);
    assert!(answer.body["data"]["__schema"]["types"].as_array().is_some_and(|types| types.len() > 10));
}

#[tokio::test]
async fn a_get_runs_queries_and_sends_mutations_away() {
    let answer =
        get_with("query=query%20Q(%24t:String!)%7Becho(text:%24t)%7D&variables=%7B%22t%22:%22x%22%7D&operationName=Q")
            .await;
    assert_eq!((answer.status, &answer.body), (StatusCode::OK, &json!({"data": {"echo": "x"}})));
    let mutation = get_with("query=mutation%7Bbump%7D").await;
    assert_eq!((mutation.status, mutation.header("allow")), (StatusCode::METHOD_NOT_ALLOWED, "POST"));
    assert_eq!(mutation.message(), "A mutation has to be sent by POST.");
}

#[tokio::test]
async fn an_unreadable_request_gets_400_for_either_media_type() {
    for accept in ["application/json", "application/graphql-response+json"] {
        for body in ["", "{", "[]", "{}", "{\"query\":1}", "{\"query\":\"{hello}\",\"variables\":[]}"] {
            let answer = send(HttpSettings::default(), post(body, &[("accept", accept)])).await;
            assert_eq!(
                (answer.status, answer.extension("code")),
                (StatusCode::BAD_REQUEST, "BAD_USER_INPUT"),
                "{body}"
            );
            assert!(answer.body.get("data").is_none());
        }
    }
    for query_string in ["", "query=", "query=%7Bhello%7D&variables=%7B", "query=%7Bhello%7D&query=%7Bhello%7D"] {
        let answer = get_with(query_string).await;
        assert!(answer.body.get("errors").is_some(), "{query_string}: {}", answer.body);
    }
}

#[tokio::test]
async fn a_request_error_has_no_data_and_its_media_types_status() {
    for (body, code) in [
        (json!({"query": "{"}), "GRAPHQL_PARSE_FAILED"),
        (json!({"query": "{ missing }"}), "GRAPHQL_VALIDATION_FAILED"),
        (json!({"query": "query($i: ID!) { byId(id: $i) }"}), "BAD_USER_INPUT"),
        (json!({"query": "query($i: ID!) { byId(id: $i) }", "variables": {"i": null}}), "BAD_USER_INPUT"),
        (json!({"query": "query($i: Int!) { slow(ms: $i) }", "variables": {"i": "x"}}), "BAD_USER_INPUT"),
        (json!({"query": "query A { hello }", "operationName": "B"}), "OPERATION_RESOLUTION_FAILURE"),
        (json!({"query": format!("{{ hello(a: {}) }}", "[".repeat(1700))}), "QUERY_TOO_COMPLEX"),
    ] {
        for (accept, status) in
            [("application/json", StatusCode::OK), ("application/graphql-response+json", StatusCode::BAD_REQUEST)]
        {
            let answer = send(HttpSettings::default(), post(body.to_string(), &[("accept", accept)])).await;
            assert_eq!((answer.status, answer.extension("code")), (status, code), "{body} -> {}", answer.body);
            assert!(answer.body.get("data").is_none(), "{body}");
        }
    }
}

#[tokio::test]
async fn only_json_may_be_posted() {
    for (content_type, status) in [
        ("application/json", StatusCode::OK),
        ("Application/JSON; charset=\"UTF-8\"", StatusCode::OK),
        ("application/json; charset=latin1", StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("application/graphql", StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("text/plain", StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("application/x-www-form-urlencoded", StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("multipart/form-data; boundary=x", StatusCode::UNSUPPORTED_MEDIA_TYPE),
    ] {
        let request = HttpRequest::post("/graphql").header("content-type", content_type);
        let answer = send(HttpSettings::default(), request.body("{\"query\":\"{hello}\"}".into()).unwrap()).await;
        assert_eq!(answer.status, status, "{content_type}");
    }
}

#[tokio::test]
async fn an_encoded_body_is_415_and_the_encoding_is_named() {
    for (encoding, status) in [("gzip", 415), ("br", 415), ("identity", 200), ("Identity", 200)] {
        let answer =
            send(HttpSettings::default(), post("{\"query\":\"{hello}\"}", &[("content-encoding", encoding)])).await;
        assert_eq!(answer.status.as_u16(), status, "{encoding}");
        assert!(
            status == 200 || answer.message().contains(&format!("Content-Encoding: {encoding}")),
            "{}",
            answer.body
        );
    }
}

#[tokio::test]
async fn a_subscription_by_plain_http_is_refused_with_a_hint() {
    let answer = ask("subscription { count(to: 1) }").await;
    assert_eq!((answer.status, answer.extension("code")), (StatusCode::BAD_REQUEST, "BAD_USER_INPUT"));
    assert!(answer.message().contains("/graphql/ws") && answer.message().contains("text/event-stream"));
}

#[tokio::test]
async fn the_viewer_is_the_tokens_user() {
    let whoami = |headers: &'static [(&'static str, &'static str)]| {
        send(HttpSettings::default(), post("{\"query\":\"{ whoami }\"}", headers))
    };
    assert_eq!(whoami(&[("authorization", "Bearer good")]).await.body["data"]["whoami"][0], "ann");
    assert_eq!(whoami(&[("authorization", "bearer nobody")]).await.body["data"]["whoami"][0], "nobody");
    assert_eq!(whoami(&[]).await.body["data"]["whoami"][0], "nobody");
}

#[tokio::test]
async fn who_may_not_act_as_somebody_gets_403_and_for_nobody_400() {
    for (token, act_as, status, code) in [
        (Some("Bearer good"), "ann", StatusCode::FORBIDDEN, "FORBIDDEN"),
        (None, "ann", StatusCode::FORBIDDEN, "FORBIDDEN"),
        (Some("Bearer service"), "eve", StatusCode::BAD_REQUEST, "BAD_USER_INPUT"),
    ] {
        let headers = [Some((ACT_AS, act_as)), token.map(|token| ("authorization", token))];
        let headers: Vec<_> = headers.into_iter().flatten().collect();
        let answer = send(HttpSettings::default(), post("{\"query\":\"{hello}\"}", &headers)).await;
        assert_eq!((answer.status, answer.extension("code")), (status, code), "{token:?}");
    }
    let headers = [(ACT_AS, "ann"), ("authorization", "Bearer service")];
    let answer = send(HttpSettings::default(), post("{\"query\":\"{ whoami }\"}", &headers)).await;
    assert_eq!(answer.body["data"]["whoami"][0], "ann");
}

#[tokio::test]
async fn invalid_tokens_get_401_and_uncheckable_ones_503() {
    for header in ["Bearer expired", "Basic YTpi", "Bearer ", "good"] {
        let answer = send(HttpSettings::default(), post("{\"query\":\"{hello}\"}", &[("authorization", header)])).await;
        assert_eq!(
            (answer.status, answer.extension("code")),
            (StatusCode::UNAUTHORIZED, "UNAUTHENTICATED"),
            "{header}"
        );
        assert!(answer.header("www-authenticate").starts_with("Bearer"));
    }
    let down =
        send(HttpSettings::default(), post("{\"query\":\"{hello}\"}", &[("authorization", "Bearer down")])).await;
    assert_eq!((down.status, down.extension("code")), (StatusCode::SERVICE_UNAVAILABLE, "INTERNAL_SERVER_ERROR"));
    assert!(!down.body.to_string().contains("10.0.0.7"), "{}", down.body);
    assert!(down.message().ends_with("Try again in a moment."), "{}", down.message());
}

#[tokio::test]
async fn only_errors_with_a_code_are_shown() {
    let answer = ask("{ hello secretFailure codedFailure }").await;
    assert_eq!((answer.status, &answer.body["data"]["hello"]), (StatusCode::OK, &json!("world")));
    assert!(!answer.body.to_string().contains("hunter2"), "{}", answer.body);
    let errors = answer.body["errors"].as_array().unwrap();
    let mut codes: Vec<&str> = errors.iter().filter_map(|error| error["extensions"]["code"].as_str()).collect();
    codes.sort_unstable();
    assert_eq!(codes, ["INTERNAL_SERVER_ERROR", "UNAUTHENTICATED"]);
    assert!(
        errors.iter().any(|error| error["message"] == "Sign in first." && error["path"] == json!(["codedFailure"]))
    );
    assert!(errors.iter().any(|error| error["path"] == json!(["secretFailure"])));
}

/// Collects the log lines while it is the subscriber.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_hidden_error_is_logged_once_with_its_request_id() {
    let body = "{\"query\":\"{ secretFailure a: secretFailure codedFailure }\"}";
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let guard = tracing::subscriber::set_default(subscriber);
    // Whether a span is enabled is cached at its first use, perhaps by another test's thread without a subscriber. So
    // the request uses all spans first, and then the cache is rebuilt.
    send(HttpSettings::default(), post(body, &[])).await;
    tracing::callsite::rebuild_interest_cache();
    log.0.lock().unwrap().clear();
    send(HttpSettings::default(), post(body, &[("x-request-id", "find-me")])).await;
    drop(guard);
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("ERROR")).collect();
    let [line] = lines.as_slice() else { unreachable!("one line: {text}") };
    assert!(
        line.contains("find-me") && line.contains("count=2") && line.contains("secretFailure: password=hunter2"),
        "{line}"
    );
    assert!(!line.contains("Sign in first."), "{line}");
}

#[tokio::test]
async fn an_argument_that_its_type_refuses_is_shown_as_the_clients_own() {
    for query in ["{ slow(ms: -1) }", "{ atMostTen(number: 11) }"] {
        let answer = ask(query).await;
        assert_eq!(answer.extension("code"), "BAD_USER_INPUT", "{query}: {}", answer.body);
        assert!(answer.message().starts_with("Failed to parse"), "{}", answer.body);
    }
}

#[tokio::test]
async fn a_value_its_scalar_does_not_take_is_bad_user_input() {
    let answer = ask("{ picked(of: 5) }").await;
    assert_eq!(answer.extension("code"), "BAD_USER_INPUT", "{}", answer.body);
    assert!(answer.message().starts_with("Expected input type \"Picky\""), "{}", answer.body);
}

#[tokio::test]
async fn a_failure_that_nulls_all_data_is_still_an_execution() {
    let answer = ask("{ requiredFailure }").await;
    assert_eq!((answer.status, answer.extension("code")), (StatusCode::OK, "INTERNAL_SERVER_ERROR"));
    assert_eq!(answer.body["data"], Json::Null);
    assert!(answer.body.get("data").is_some());
}

#[tokio::test]
async fn a_panic_is_500_and_tells_nothing() {
    let answer = ask("{ panic }").await;
    assert_eq!((answer.status, answer.extension("code")), (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_SERVER_ERROR"));
    assert!(answer.body.get("data").is_none() && !answer.body.to_string().contains("hunter2"));
    assert_eq!(answer.extension("requestId"), answer.header("x-request-id"));
}

#[tokio::test]
async fn one_request_id_is_in_the_header_the_errors_and_the_resolvers() {
    let body = "{\"query\":\"{ whoami secretFailure }\"}";
    let chosen = send(HttpSettings::default(), post(body, &[("x-request-id", "abc-1")])).await;
    assert_eq!(chosen.header("x-request-id"), "abc-1");
    assert_eq!(chosen.extension("requestId"), "abc-1");
    assert_eq!(chosen.body["data"]["whoami"][1], "abc-1");
    let drawn = send(HttpSettings::default(), post("{", &[("x-request-id", "no good")])).await;
    assert_eq!(drawn.header("x-request-id").len(), 32);
    assert_eq!(drawn.extension("requestId"), drawn.header("x-request-id"));
}

#[tokio::test]
async fn skip_and_include_see_the_defaults_of_variables() {
    let answer = ask("query($on: Boolean! = true) { hello @skip(if: $on) echo(text: \"x\") @include(if: $on) }").await;
    assert_eq!(answer.body, json!({"data": {"echo": "x"}}));
}

#[tokio::test]
async fn a_method_that_is_not_there_is_405_with_a_code() {
    let answer = send(HttpSettings::default(), HttpRequest::patch("/graphql").body(Body::empty()).unwrap()).await;
    assert_eq!((answer.status, answer.extension("code")), (StatusCode::METHOD_NOT_ALLOWED, "BAD_USER_INPUT"));
    assert_eq!(answer.header("allow"), "GET, POST, PUT, DELETE, OPTIONS");
}

#[tokio::test]
async fn every_answer_has_its_id_and_safe_headers() {
    for path in ["/graphql", "/graphql/ws"] {
        let request = HttpRequest::get(path).header("x-request-id", "find-me").body(Body::empty()).unwrap();
        let answer = send(HttpSettings::default(), request).await;
        assert_eq!(answer.header("x-request-id"), "find-me", "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin", "{path}");
        assert!(answer.header("content-security-policy").contains("frame-ancestors 'none'"), "{path}");
    }
}

#[tokio::test]
async fn pages_of_allowed_origins_may_read_answers_and_no_others() {
    let allowed_origins =
        Origins { listed: vec!["https://app.example.org".to_owned()], local: false, ..Origins::default() };
    let settings = HttpSettings { allowed_origins, ..HttpSettings::default() };
    for (origin, seen) in [("https://app.example.org", "https://app.example.org"), ("https://evil.example", "")] {
        let answer = send(settings.clone(), post("{\"query\":\"{hello}\"}", &[("origin", origin)])).await;
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (StatusCode::OK, seen));
        assert_eq!(answer.header("access-control-allow-credentials"), "");
        assert_eq!(answer.header("access-control-expose-headers"), "x-request-id,retry-after,date");
        let headers = "authorization,baggage,content-type,graphql-client-name,sentry-trace,traceparent,tracestate";
        let preflight = HttpRequest::options("/graphql")
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", headers);
        let answer = send(settings.clone(), preflight.body(Body::empty()).unwrap()).await;
        let allowed = if seen.is_empty() { "" } else { headers };
        assert_eq!(answer.header("access-control-allow-headers"), allowed, "tracing adds headers by itself");
        assert_eq!(answer.header("access-control-allow-origin"), seen);
        assert_eq!(answer.status, if seen.is_empty() { StatusCode::FORBIDDEN } else { StatusCode::OK });
    }
    let answer =
        send(HttpSettings::default(), post("{\"query\":\"{hello}\"}", &[("origin", "https://a.example")])).await;
    assert_eq!(answer.header("access-control-allow-origin"), "", "none by default");
}

#[tokio::test]
async fn a_mutation_selected_twice_under_one_key_runs_once() {
    for query in [
        "mutation { add(by: 2) { total } add(by: 2) { added } }",
        "mutation { add(by: 2) { total } ...f } fragment f on Mutation { add(by: 2) { added } }",
        "mutation { ...f ... on Mutation { add(by: 2) { total } } ...f } fragment f on Mutation { add(by: 2) { added } }",
        "mutation { add(by: 2) { total } ... @include(if: true) { add(by: 2) { added } } }",
        "mutation { ...f ... @skip(if: true) { ...g } } fragment f on Mutation { add(by: 2) { total } ...g } \
         fragment g on Mutation { add(by: 2) { added } }",
    ] {
        let answer = ask(query).await;
        assert_eq!(answer.body["data"], json!({"add": {"total": 2, "added": 2}}), "{query}: {}", answer.body);
    }
    let body = json!({
        "query": "mutation A($b: Boolean = true) { add(by: 2) { total } ... @include(if: $b) { ...f } } \
                  mutation B { add(by: 2) { total } } fragment f on Mutation { add(by: 2) { added } }",
        "operationName": "A",
    });
    let answer = send(HttpSettings::default(), post(body.to_string(), &[])).await;
    assert_eq!(answer.body["data"], json!({"add": {"total": 2, "added": 2}}), "{}", answer.body);
    let two = ask("mutation { add(by: 2) { total } b: add(by: 2) { total } }").await;
    assert_eq!(two.body["data"], json!({"add": {"total": 2}, "b": {"total": 4}}), "two keys are two");
}

#[tokio::test]
async fn a_variable_of_an_incompatible_type_is_refused_whatever_its_value() {
    for variables in [json!({}), json!({"t": null}), json!({"t": "x"})] {
        let body = json!({"query": "query($t: String) { echo(text: $t) }", "variables": variables}).to_string();
        let answer = send(HttpSettings::default(), post(body, &[])).await;
        assert_eq!(answer.extension("code"), "GRAPHQL_VALIDATION_FAILED", "{}", answer.body);
    }
}

#[tokio::test]
async fn a_schema_that_is_not_described_is_not_given_away_either() {
    let guard = crate::guard::GuardLimits { introspection: false, ..Default::default() };
    let settings = HttpSettings { guard, ..HttpSettings::default() };
    let ask = async |query: &str| {
        let body = json!({ "query": query }).to_string();
        send(settings.clone(), post(body, &[("accept", "application/graphql-response+json")])).await
    };
    for query in [
        "{ __schema { types { name } } }",
        "{ hello ...f } fragment f on Query { a: __type(name: \"Query\") { name } }",
        "{ ... on Query { ... { __schema { types { name } } } } }",
    ] {
        let answer = ask(query).await;
        assert_eq!(answer.extension("code"), "GRAPHQL_VALIDATION_FAILED", "{query}: {}", answer.body);
        assert!(answer.message().contains("does not describe its schema"), "{}", answer.body);
    }
    for query in ["{ helo }", "{ echo(txt: \"x\") }", "{ hello @skip(iff: true) }"] {
        let answer = ask(query).await;
        assert_eq!(answer.extension("code"), "GRAPHQL_VALIDATION_FAILED");
        assert!(!answer.message().contains("mean"), "{query}: {}", answer.message());
    }
    assert_eq!(ask("{ __typename }").await.body, json!({"data": {"__typename": "Query"}}));
    assert!(self::ask("{ helo }").await.message().contains("Did you mean"), "otherwise there are suggestions");
}
