//! Tests the limits of requests, and which documents are cached.

use std::{fmt::Write as _, time::Duration};

use async_graphql::Variables;
use serde_json::json;

use super::*;
use crate::{
    guard::Guard,
    http::{
        admission::Admission,
        documents::{Documents, Naming},
        engine::Engine,
        kept_operations::KeptOperations,
        params,
        trusted::Trusted,
    },
    memory::Ledger,
};

fn settings(request: RequestLimits) -> HttpSettings {
    HttpSettings { request, ..HttpSettings::default() }
}

#[tokio::test]
async fn a_body_that_is_too_large_is_413() {
    let limits = RequestLimits { body_bytes: 100, ..RequestLimits::default() };
    let fits = format!("{{\"query\":\"{{hello}}\"{}}}", " ".repeat(81));
    let answer = send(settings(limits), post(fits.clone(), &[])).await;
    assert_eq!((fits.len(), answer.status), (100, StatusCode::OK));
    let too_large = format!("{fits} ");
    let chunks =
        too_large.as_bytes().chunks(10).map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec())).collect::<Vec<_>>();
    for body in [Body::from(too_large), Body::from_stream(futures_util::stream::iter(chunks))] {
        let answer = send(settings(limits), post(body, &[])).await;
        assert_eq!((answer.status, answer.extension("code")), (StatusCode::PAYLOAD_TOO_LARGE, "BAD_USER_INPUT"));
    }
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_refused_in_its_place() {
    let limits = RequestLimits { answer_bytes: 200, ..RequestLimits::default() };
    let body = |chars| json!({"query": "query($t: String!) { echo(text: $t) }", "variables": {"t": "x".repeat(chars)}});
    // {"data":{"echo":"..."}}
    for (chars, code) in [(200 - 20, ""), (200 - 19, "ANSWER_TOO_LARGE")] {
        for accept in ["application/json", "application/graphql-response+json"] {
            let answer = send(settings(limits), post(body(chars).to_string(), &[("accept", accept)])).await;
            assert_eq!((answer.status, answer.extension("code")), (StatusCode::OK, code), "{}", answer.body);
        }
    }
    let answer = send(settings(limits), post(body(181).to_string(), &[("accept", "text/event-stream")])).await;
    let text = answer.body.as_str().unwrap();
    assert!(text.contains("ANSWER_TOO_LARGE") && text.ends_with("event: complete\ndata: \n\n"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_takes_too_long_is_ended() {
    let limits = RequestLimits { time: Duration::from_secs(2), ..RequestLimits::default() };
    let answer = send(settings(limits), post("{\"query\":\"{ slow(ms: 1999) }\"}", &[])).await;
    assert_eq!(answer.body, json!({"data": {"slow": 1999}}));
    let answer = send(settings(limits), post("{\"query\":\"{ slow(ms: 2001) }\"}", &[])).await;
    assert_eq!((answer.status, answer.extension("code")), (StatusCode::SERVICE_UNAVAILABLE, "INTERNAL_SERVER_ERROR"));
    assert!(answer.message().contains("longer than 2 seconds"), "{}", answer.message());
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_is_given_up() {
    let body = Body::from_stream(futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>());
    let answer = send(HttpSettings::default(), post(body, &[])).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn both_bombs_are_refused_at_once() {
    let values = format!("{{ echo(text: {}1{}) }}", "[".repeat(1700), "]".repeat(1700));
    let mut chain = "{ ...f0 }".to_owned();
    for index in 0..24 {
        write!(chain, "fragment f{index} on Query{{...f{0} ...f{0}}}", index + 1).unwrap();
    }
    chain += "fragment f24 on Query{hello}";
    for bomb in [values, chain] {
        let answer = tokio::time::timeout(Duration::from_mins(1), ask(&bomb)).await.unwrap();
        assert_eq!((answer.status, answer.extension("code")), (StatusCode::BAD_REQUEST, "QUERY_TOO_COMPLEX"));
    }
}

#[tokio::test]
async fn the_spreads_of_a_fragment_do_not_multiply_its_long_strings() {
    let (spreads, text) = ("...f ".repeat(600), "x".repeat(50_000));
    let query = format!("{{ nested {{ {spreads} }} }} fragment f on Query {{ echo(text: \"{text}\") }}");
    let Transport { shape, settings, .. } = transport(HttpSettings::default());
    let guard = Guard::new(settings.guard, shape);
    let document = guard.open(&query).unwrap();
    let operation = guard.admit(&document, None, &mut Variables::default()).unwrap().operation;
    assert!(!operation.is_plain() && operation.bytes() < 2 << 20, "{}", operation.bytes());
    assert_eq!(operation.document().fragments.len(), 1, "it stays as it is written");
    assert_eq!(ask(&query).await.body["data"]["nested"]["echo"], text);
}

/// The documents that a transport has cached after these requests.
async fn remembered(queries: &[&str]) -> usize {
    let Transport { schema, shape, attach, settings, .. } = transport(HttpSettings::default());
    let naming = Naming { automatic: true, only_trusted: false };
    let guard = Guard::new(settings.guard, shape);
    let documents = Documents::new(guard, Trusted::default(), naming, &settings.request);
    let answers = Ledger::new("answers", settings.request.unsent, settings.metrics);
    let (admission, answer_bytes) = (Admission::new(settings.admission, &[], settings.metrics), 1 << 20);
    let kept = KeptOperations::new(answers.clone());
    let (budget, suggests, refused) = (None, true, settings.metrics.refused);
    let engine =
        Engine { schema, documents, attach, admission, budget, answer_bytes, answers, kept, suggests, refused };
    for query in queries {
        let context =
            RequestContext { viewer: None, request_id: RequestId::new(&counted()), client: Client::default() };
        let params = params::Params::of_json(json!({ "query": query })).unwrap();
        if let Ok(ready) = engine.prepare(params, &context, |_| Ok(())).await {
            engine.execute(ready, &context).await;
        }
    }
    engine.documents.len()
}

#[tokio::test]
async fn only_documents_that_were_executed_are_remembered() {
    assert_eq!(remembered(&["{ hello }", "{ hello }", "{ a: hello }"]).await, 2);
    assert_eq!(remembered(&["{ secretFailure }"]).await, 1, "an error of execution is not the document's fault");
    assert_eq!(remembered(&["{ missing }", "{", "query($a: Int!) { slow(ms: $a) }"]).await, 0);
}

#[tokio::test]
async fn a_remembered_document_answers_each_request_with_its_own_variables() {
    let router = router(transport(HttpSettings::default())).unwrap();
    for text in ["x", "y"] {
        let body = json!({"query": "query($t: String!) { echo(text: $t) }", "variables": {"t": text}}).to_string();
        let response = router.clone().oneshot(post(body, &[])).await.unwrap();
        let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
        assert_eq!(serde_json::from_slice::<Json>(&bytes).unwrap(), json!({"data": {"echo": text}}));
    }
}
