//! Tests, for each protocol, what happens to operations beyond the limits of running and waiting ones.

use serde_json::json;
use tokio::task::JoinHandle;

use super::{
    client::{PATIENCE, Server},
    schema::Barrier,
    *,
};

/// Limits of one running and `waiting` waiting operations of each kind. They may wait longer than any test takes.
fn narrow(waiting: usize) -> HttpSettings {
    let each = AdmissionLimit { running: 1, waiting, wait_time: PATIENCE };
    let admission = AdmissionLimits { queries: each, mutations: each, services: each, client_percent: 100 };
    HttpSettings { admission, ..HttpSettings::default() }
}

/// A transport whose held fields wait at `barrier`.
fn gated(settings: HttpSettings, barrier: &Barrier) -> Transport<TestSchema, Person> {
    let barrier = barrier.clone();
    let attach = move |request: Request, _: &RequestContext<Person>| request.data(barrier.clone());
    Transport { attach: Arc::new(attach), ..transport(settings) }
}

async fn sent(router: Router, query: &str, accept: &str) -> (StatusCode, HeaderMap, String) {
    let body = json!({ "query": query }).to_string();
    let response = router.oneshot(post(body, &[("accept", accept)])).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    (parts.status, parts.headers, String::from_utf8(bytes.into()).unwrap())
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// Sends `query` from a task.
fn spawned(router: &Router, query: &'static str) -> JoinHandle<(StatusCode, String)> {
    let router = router.clone();
    #[expect(clippy::disallowed_methods, reason = "the test waits for it")]
    tokio::spawn(async move {
        let (status, _, text) = sent(router, query, JSON).await;
        (status, text)
    })
}

#[tokio::test(start_paused = true)]
async fn an_operation_beyond_the_queue_gets_503_and_never_runs() {
    for (held, name) in [("{ held }", "held"), ("mutation { hold }", "hold")] {
        let barrier = Barrier::default();
        let router = router(gated(narrow(1), &barrier)).unwrap();
        let running = spawned(&router, held);
        barrier.wait_for(1).await;
        let waiting = spawned(&router, held);
        tokio::task::yield_now().await;
        for accept in [JSON, "application/graphql-response+json", EVENTS] {
            // As the refusal before has said.
            tokio::time::advance(Duration::from_secs(1)).await;
            let begin = tokio::time::Instant::now();
            let (status, headers, text) = sent(router.clone(), held, accept).await;
            assert_eq!(
                (status, headers["retry-after"].to_str().unwrap()),
                (StatusCode::SERVICE_UNAVAILABLE, "1"),
                "{text}"
            );
            assert!(text.contains("\"OVERLOADED\"") && text.contains("\"retryAfter\":1"), "{text}");
            assert!(!text.contains("\"data\""), "{text}");
            assert_eq!((begin.elapsed(), barrier.come()), (Duration::ZERO, 1));
        }
        barrier.let_go(1);
        let done = (StatusCode::OK, json!({ "data": { name: true } }).to_string());
        assert_eq!(running.await.unwrap(), done);
        barrier.wait_for(2).await;
        barrier.let_go(1);
        assert_eq!(waiting.await.unwrap(), done);
        assert_eq!(barrier.come(), 2, "those that were refused never ran");
    }
}

#[tokio::test(start_paused = true)]
async fn who_repeats_at_once_is_refused_when_the_wait_is_over() {
    let barrier = Barrier::default();
    let router = router(gated(narrow(0), &barrier)).unwrap();
    let running = spawned(&router, "{ held }");
    barrier.wait_for(1).await;
    let second = Duration::from_secs(1);
    let begin = tokio::time::Instant::now();
    for (query, waited) in [("{ hello }", 0), ("{ hello }", 1), ("{ unknown: hello }", 2), ("{ hello }", 3)] {
        let (status, _, text) = sent(router.clone(), query, JSON).await;
        assert_eq!((status, begin.elapsed()), (StatusCode::SERVICE_UNAVAILABLE, second * waited), "{text}");
    }
    // The same where the document is known, so that nothing else is asked.
    barrier.let_go(1);
    assert_eq!(running.await.unwrap().0, StatusCode::OK);
    assert_eq!(sent(router.clone(), "{ hello }", JSON).await.0, StatusCode::OK);
    let _running = spawned(&router, "{ held }");
    barrier.wait_for(2).await;
    let refused = async || {
        let begin = tokio::time::Instant::now();
        assert_eq!(sent(router.clone(), "{ hello }", JSON).await.0, StatusCode::SERVICE_UNAVAILABLE);
        begin.elapsed()
    };
    assert_eq!((refused().await, refused().await), (second, second));
    tokio::time::advance(second * 2).await;
    assert_eq!((refused().await, refused().await), (Duration::ZERO, second));
}

#[tokio::test(start_paused = true)]
async fn a_permit_is_given_back_for_a_while() {
    let barrier = Barrier::default();
    let router = router(gated(narrow(0), &barrier)).unwrap();
    let away = spawned(&router, "mutation { without }");
    barrier.wait_for(1).await;
    assert_eq!(sent(router.clone(), "mutation { bump }", JSON).await.0, StatusCode::OK, "its permit is free");
    let running = spawned(&router, "mutation { hold }");
    barrier.wait_for(2).await;
    barrier.let_go(1);
    tokio::task::yield_now().await;
    assert!(!away.is_finished(), "it waits for a permit to go on");
    barrier.let_go(1);
    assert_eq!((running.await.unwrap().0, away.await.unwrap().0), (StatusCode::OK, StatusCode::OK));
}

#[tokio::test(start_paused = true)]
async fn a_viewer_has_room_while_others_of_the_address_flood() {
    let barrier = Barrier::default();
    let each = AdmissionLimit { running: 2, waiting: 2, wait_time: PATIENCE };
    let admission = AdmissionLimits { queries: each, mutations: each, services: each, client_percent: 50 };
    let router = router(gated(HttpSettings { admission, ..HttpSettings::default() }, &barrier)).unwrap();
    let _flood = [spawned(&router, "{ held }"), spawned(&router, "{ held }")];
    barrier.wait_for(1).await;
    assert_eq!(sent(router.clone(), "{ hello }", JSON).await.0, StatusCode::SERVICE_UNAVAILABLE);
    let signed_in = post(json!({ "query": "{ hello }" }).to_string(), &[("authorization", "Bearer good")]);
    assert_eq!(router.oneshot(signed_in).await.unwrap().status(), StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn who_waits_too_long_is_503() {
    let barrier = Barrier::default();
    let mut settings = narrow(1);
    settings.admission.queries.wait_time = Duration::from_secs(3);
    let router = router(gated(settings, &barrier)).unwrap();
    let _running = spawned(&router, "{ held }");
    barrier.wait_for(1).await;
    let begin = tokio::time::Instant::now();
    let (status, headers, text) = sent(router, "{ held }", JSON).await;
    assert_eq!((status, headers["retry-after"].to_str().unwrap()), (StatusCode::SERVICE_UNAVAILABLE, "1"), "{text}");
    assert_eq!((begin.elapsed(), barrier.come()), (Duration::from_secs(3), 1));
}

#[tokio::test(start_paused = true)]
async fn unlimited_operations_run_while_all_queues_are_full() {
    let barrier = Barrier::default();
    let router = router(gated(narrow(0), &barrier)).unwrap();
    let _held = [spawned(&router, "{ held }"), spawned(&router, "mutation { hold }")];
    barrier.wait_for(2).await;
    for (query, accept, is_served) in [
        ("{ hello }", JSON, false),
        ("mutation { bump }", JSON, false),
        ("mutation { leave }", JSON, true),
        ("subscription { count(to: 1) }", EVENTS, true),
    ] {
        let (status, _, text) = sent(router.clone(), query, accept).await;
        let expected = if is_served { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        assert_eq!(status, expected, "{query}: {text}");
        assert_eq!(text.contains("\"data\""), is_served, "{query}: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_known_document_is_refused_before_its_session_is_looked_up() {
    let barrier = Barrier::default();
    let router = router(gated(narrow(0), &barrier)).unwrap();
    let status = async |query: &str| {
        let body = json!({ "query": query }).to_string();
        let request = post(body, &[("accept", JSON), ("authorization", "Bearer ended")]);
        router.clone().oneshot(request).await.unwrap().status()
    };
    for known in ["{ hello }", "mutation { leave }"] {
        assert_eq!(sent(router.clone(), known, JSON).await.0, StatusCode::OK);
    }
    let ended = status("{ hello }").await;
    assert_ne!(ended, StatusCode::SERVICE_UNAVAILABLE);
    let _held = spawned(&router, "{ held }");
    barrier.wait_for(1).await;
    assert_eq!(status("{ hello }").await, StatusCode::SERVICE_UNAVAILABLE);
    for (query, why) in [("{ again: hello }", "unknown"), ("mutation { leave }", "always admitted")] {
        assert_eq!(status(query).await, ended, "{why}");
    }
}

#[tokio::test(start_paused = true)]
async fn queries_do_not_hold_up_mutations() {
    let barrier = Barrier::default();
    let router = router(gated(narrow(1), &barrier)).unwrap();
    let _queries = [spawned(&router, "{ held }"), spawned(&router, "{ held }")];
    barrier.wait_for(1).await;
    let (status, _, text) = sent(router, "mutation { bump }", JSON).await;
    assert_eq!(status, StatusCode::OK, "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_refused_operation_costs_no_points() {
    let points = std::num::NonZeroU32::new(104).unwrap();
    let each = TokenBucket { points, per_second: std::num::NonZeroU32::MIN };
    let rate = Some(RateLimits { viewer: each, service: each, address: each, known: 100 });
    let barrier = Barrier::default();
    let router = router(gated(HttpSettings { rate, ..narrow(0) }, &barrier)).unwrap();
    let held = spawned(&router, "{ held }");
    barrier.wait_for(1).await;
    // Each takes a second, because nobody waits between them.
    for _ in 0..20 {
        let (status, _, text) = sent(router.clone(), "{ held }", JSON).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{text}");
    }
    barrier.let_go(1);
    assert_eq!(held.await.unwrap().0, StatusCode::OK);
    let (status, _, text) = sent(router, "{ hello }", JSON).await;
    assert_eq!(status, StatusCode::OK, "{text}");
}

#[tokio::test]
async fn a_client_that_leaves_gives_its_place_to_the_next() {
    let barrier = Barrier::default();
    let server = Server::of(gated(narrow(0), &barrier), ConnectionLimits::default()).await;
    let client = posted(&server, "{ held }");
    barrier.wait_for(1).await;
    client.abort();
    assert!(client.await.unwrap_err().is_cancelled());
    let mut other = server.acknowledged().await;
    let answered = async {
        for id in 0.. {
            other.subscribe(&id.to_string(), "{ hello }").await;
            if other.hear().await["type"] == "next" {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, answered).await.unwrap();
}

/// A POST over its own connection, which closes when the task is aborted.
fn posted(server: &Server, query: &'static str) -> JoinHandle<()> {
    let address = server.address;
    #[expect(clippy::disallowed_methods, reason = "the test waits for it")]
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let body = json!({ "query": query }).to_string();
        let head = format!(
            "POST /graphql HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).await.unwrap();
        let _ = stream.read(&mut [0; 1]).await;
    })
}

#[tokio::test]
async fn an_operation_that_a_socket_may_not_run_is_refused_alone() {
    let barrier = Barrier::default();
    let server = Server::of(gated(narrow(0), &barrier), ConnectionLimits::default()).await;
    let mut client = server.acknowledged().await;
    client.subscribe("held", "mutation { hold }").await;
    barrier.wait_for(1).await;
    client.subscribe("refused", "mutation { hold }").await;
    let error = client.hear().await;
    assert_eq!((&error["type"], &error["id"]), (&json!("error"), &json!("refused")), "{error}");
    let received = &error["payload"][0]["extensions"];
    assert_eq!((&received["code"], &received["retryAfter"]), (&json!("OVERLOADED"), &json!(1)), "{error}");
    client.subscribe("counts", "subscription { count(to: 1) }").await;
    assert_eq!(client.hear().await["payload"]["data"], json!({"count": 1}));
    assert_eq!(client.hear().await["type"], "complete");
    barrier.let_go(1);
    assert_eq!(client.hear().await["payload"]["data"], json!({"hold": true}));
    assert_eq!(client.hear().await["type"], "complete");
    assert_eq!(barrier.come(), 1);
}

#[tokio::test]
async fn an_operation_that_waits_on_a_socket_is_ended_by_complete() {
    let barrier = Barrier::default();
    let server = Server::of(gated(narrow(1), &barrier), ConnectionLimits::default()).await;
    let mut client = server.acknowledged().await;
    client.subscribe("held", "{ held }").await;
    barrier.wait_for(1).await;
    // The first of the others waits. While it does, each one after it is refused.
    client.subscribe("waits", "{ held }").await;
    for id in 0.. {
        client.subscribe(&format!("probe{id}"), "{ held }").await;
        if client.hear().await["type"] == "error" {
            break;
        }
    }
    client.say(json!({"type": "complete", "id": "waits"})).await;
    client.subscribe("next", "{ held }").await;
    client.subscribe("last", "{ held }").await;
    let error = client.hear().await;
    assert_eq!((&error["type"], &error["id"]), (&json!("error"), &json!("last")), "{error}");
    barrier.let_go(2);
    for id in ["held", "next"] {
        let result = client.hear().await;
        assert_eq!((&result["id"], &result["payload"]["data"]), (&json!(id), &json!({"held": true})));
        assert_eq!(client.hear().await, json!({"type": "complete", "id": id}));
    }
    assert_eq!(barrier.come(), 2);
}

#[tokio::test]
async fn a_reserved_stream_stays_open_where_an_operation_is_refused() {
    let barrier = Barrier::default();
    let router = router(gated(narrow(0), &barrier)).unwrap();
    let reserve = HttpRequest::put("/graphql").body(Body::empty()).unwrap();
    let response = router.clone().oneshot(reserve).await.unwrap();
    assert_eq!(response.status(), StatusCode::CREATED);
    let token = axum::body::to_bytes(response.into_body(), 1 << 10).await.unwrap();
    let token = String::from_utf8(token.into()).unwrap();
    let open = HttpRequest::get("/graphql")
        .header("accept", EVENTS)
        .header("x-graphql-event-stream-token", &token)
        .body(Body::empty())
        .unwrap();
    let stream = router.clone().oneshot(open).await.unwrap();
    let ask = |id: &str, query: &str| {
        let body = json!({ "query": query, "extensions": { "operationId": id } }).to_string();
        router.clone().oneshot(post(body, &[("x-graphql-event-stream-token", &token)]))
    };
    assert_eq!(ask("held", "{ held }").await.unwrap().status(), StatusCode::ACCEPTED);
    barrier.wait_for(1).await;
    let refused = ask("refused", "{ held }").await.unwrap();
    assert_eq!(
        (refused.status(), refused.headers()["retry-after"].to_str().unwrap()),
        (StatusCode::SERVICE_UNAVAILABLE, "1")
    );
    barrier.let_go(1);
    let mut events = stream.into_body().into_data_stream();
    let mut received = String::new();
    while !received.contains("event: complete") {
        let event = futures_util::StreamExt::next(&mut events).await.unwrap().unwrap();
        received += std::str::from_utf8(&event).unwrap();
    }
    assert!(received.contains("\"held\":true") && !received.contains("OVERLOADED"), "{received}");
}

#[tokio::test]
async fn the_health_endpoint_answers_while_everything_is_full() {
    let barrier = Barrier::default();
    let alive = Router::new().route("/healthz", axum::routing::get(async || "alive"));
    let router = router(gated(narrow(0), &barrier)).unwrap().merge(alive);
    let _held = [spawned(&router, "{ held }"), spawned(&router, "mutation { hold }")];
    barrier.wait_for(2).await;
    assert_eq!(sent(router.clone(), "{ hello }", JSON).await.0, StatusCode::SERVICE_UNAVAILABLE);
    let request = HttpRequest::get("/healthz").body(Body::empty()).unwrap();
    assert_eq!(router.oneshot(request).await.unwrap().status(), StatusCode::OK);
}
