//! Runs the lines of a body one after the other. The next one is read when the client has taken the last result.

use std::{borrow::Cow, collections::HashMap, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header, request::Parts},
};
use futures_util::future::BoxFuture;
use graphql_transport::{http::Charges, payer::Payer};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tokio::time::{sleep, timeout};
use tower::ServiceExt as _;

use super::{
    lines::{BrokenOff, Found, Lines, MAX_LINE_BYTES},
    outcome::{LineResult, Meaning, Outcome, Summary, meaning},
};
use crate::{
    api::{
        order::wait_beyond,
        service_lines::{self, AnswerWriter, NotTaken, Stopped},
    },
    clock::SharedClock,
};

/// A client that sends no line for this long has forgotten the end.
const IDLE_AFTER: Duration = Duration::from_mins(1);
/// Points of a line, beside those of its mutation.
const LINE_POINTS: u64 = 1;
/// Most bytes of an answer of the API.
const ANSWER_BYTES: usize = 1 << 20;
/// Characters of an unknown mutation's name that its result repeats.
const NAME_CHARS: usize = 64;
/// After this many failures in a row the rest is not tried.
const FAILURES_IN_A_ROW: usize = 10;
/// Mutations whose order timelines show.
const PUBLISHING: [&str; 2] = ["publishContent", "repostContent"];
/// As whom a line acts.
const ACT_AS: HeaderName = HeaderName::from_static("tidefeed-act-as");
/// Headers of the request that each line has, too.
const CARRIED: [&str; 5] = ["authorization", "tidefeed-act-as", "x-forwarded-for", "user-agent", "traceparent"];

/// A line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Order<'a> {
    #[serde(borrow)]
    op: Cow<'a, str>,
    #[serde(borrow, rename = "as", default)]
    act_as: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

/// What is under way for one request.
pub(super) struct Bulk {
    /// The API's own routes: each line is a request there, and so has the same rules, limits and log.
    pub(super) api: Router,
    pub(super) documents: Arc<HashMap<&'static str, String>>,
    pub(super) parts: Parts,
    pub(super) payer: Payer,
    pub(super) charges: Charges,
    pub(super) lines: Lines,
    pub(super) answer: AnswerWriter,
    pub(super) closing: BoxFuture<'static, Stopped>,
    pub(super) clock: SharedClock,
    /// The time at which the last content was there.
    pub(super) published_ms: i64,
}

/// Why the rest of the lines is not read.
enum Early {
    Stopped(Stopped),
    /// Nobody is there to be told.
    Left,
}

impl From<NotTaken> for Early {
    fn from(_: NotTaken) -> Self {
        Self::Left
    }
}

impl From<BrokenOff> for Early {
    fn from(_: BrokenOff) -> Self {
        Self::Left
    }
}

impl Bulk {
    /// Runs all lines, and says at the end how it went.
    pub(super) async fn run(mut self) {
        let mut summary = Summary::default();
        let ended = self.all(&mut summary).await;
        summary.lines = self.lines.read();
        let last = match ended {
            Ok(()) => service_lines::line("summary", &summary),
            Err(Early::Stopped(stopped)) => service_lines::line("stopped", &stopped),
            Err(Early::Left) => return tracing::debug!(lines = summary.lines, "The client of a bulk has left."),
        };
        // Who has left before the end is not told.
        let _ = self.answer.end(last).await;
    }

    async fn all(&mut self, summary: &mut Summary) -> Result<(), Early> {
        let (mut done, mut failures) = (0, 0);
        loop {
            let next = tokio::select! {
                biased;
                stopped = &mut self.closing => return Err(Early::Stopped(stopped.after(done))),
                () = self.answer.left() => return Err(Early::Left),
                next = timeout(IDLE_AFTER, self.lines.next()) => next,
            };
            let Ok(next) = next else {
                let message = "No line has come for a minute. Send the rest again when it is there.";
                let stopped = Stopped::new(StatusCode::REQUEST_TIMEOUT, "TIMED_OUT", message);
                return Err(Early::Stopped(stopped.after(done)));
            };
            let Some(found) = next? else { return Ok(()) };
            let number = found.number;
            let result = self.result(found).await.map_err(|early| match early {
                Early::Stopped(stopped) => Early::Stopped(stopped.after(done)),
                Early::Left => Early::Left,
            })?;
            summary.note(result.outcome);
            failures = if result.outcome == Outcome::Failed { failures + 1 } else { 0 };
            done = number;
            let line = serde_json::to_string(&result).unwrap_or_default();
            self.answer.send(line + "\n").await?;
            if failures == FAILURES_IN_A_ROW {
                let message = "Ten lines have failed one after the other. Send them and the rest again a little later.";
                return Err(Early::Stopped(Stopped::failed(message).after(done)));
            }
        }
    }

    /// What becomes of a line.
    async fn result(&mut self, Found { number, text }: Found) -> Result<LineResult, Early> {
        while let Err(wait) = self.charges.charge(self.payer, LINE_POINTS) {
            self.wait(wait).await?;
        }
        let refused = |op, code, field: &[&str], message| Ok(LineResult::refused(number, op, (code, field, message)));
        let Some(text) = text else {
            return refused(None, "TOO_LONG", &[], format!("The line has more than {MAX_LINE_BYTES} bytes."));
        };
        let order: Order<'_> = match serde_json::from_slice(&text) {
            Ok(order) => order,
            Err(error) => {
                let what = format!("The line is not of the form {{\"op\":..,\"as\":..,\"data\":{{..}}}}: {error}.");
                return refused(None, "INVALID", &[], what);
            }
        };
        let documents = Arc::clone(&self.documents);
        let Some((op, document)) = documents.get_key_value(&*order.op) else {
            let name: String = order.op.chars().take(NAME_CHARS).collect();
            let what = "No line runs a mutation of this name. docs/services.md lists those that one may.".to_owned();
            return refused(Some(&name), "INVALID", &["op"], what);
        };
        let act_as = order.act_as.as_deref().map(|user| HeaderValue::from_bytes(user.as_bytes())).transpose();
        let Ok(act_as) = act_as else {
            return refused(Some(op), "INVALID", &["as"], "This is the id of no user.".to_owned());
        };
        if PUBLISHING.contains(op) {
            wait_beyond(self.published_ms, &self.clock).await;
        }
        let data = order.data.map_or("{}", RawValue::get);
        let body = format!("{{\"query\":{},\"variables\":{{\"input\":{data}}}}}", json!(document));
        loop {
            let request = self.request(act_as.clone(), body.clone());
            let (status, answer) = asked(self.api.clone(), request).await;
            match meaning(number, op, status, answer) {
                Meaning::Ended(result) => {
                    if PUBLISHING.contains(op) {
                        self.published_ms = self.clock.now_ms();
                    }
                    return Ok(result);
                }
                Meaning::Later(wait) => self.wait(wait).await?,
                Meaning::KeyOver => {
                    let message = "The service's key has ended. Send the rest again with another one.";
                    return Err(Early::Stopped(Stopped::without_key(message)));
                }
            }
        }
    }

    /// Waits, unless this has to end.
    async fn wait(&mut self, time: Duration) -> Result<(), Early> {
        tokio::select! {
            stopped = &mut self.closing => Err(Early::Stopped(stopped)),
            () = self.answer.left() => Err(Early::Left),
            () = sleep(time) => Ok(()),
        }
    }

    /// A request of this request's client to the API.
    fn request(&self, act_as: Option<HeaderValue>, body: String) -> Request<Body> {
        let mut request = Request::new(Body::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = Uri::from_static("/graphql");
        *request.extensions_mut() = self.parts.extensions.clone();
        let carried = self.parts.headers.iter().filter(|(name, _)| CARRIED.contains(&name.as_str()));
        for (name, value) in carried {
            request.headers_mut().append(name, value.clone());
        }
        if let Some(act_as) = act_as {
            request.headers_mut().insert(ACT_AS, act_as);
        }
        request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // Under this media type refusals have their status.
        let graphql = HeaderValue::from_static("application/graphql-response+json");
        request.headers_mut().insert(header::ACCEPT, graphql);
        request
    }
}

/// What the API answers.
async fn asked(api: Router, request: Request<Body>) -> (StatusCode, Value) {
    let response = match api.oneshot(request).await {
        Ok(response) => response,
        Err(infallible) => match infallible {},
    };
    let status = response.status();
    let body = to_bytes(response.into_body(), ANSWER_BYTES).await.unwrap_or_default();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}
