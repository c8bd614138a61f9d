//! What became of a line: the API's answer to its mutation, as a line of the result.

use std::{collections::BTreeMap, time::Duration};

use axum::http::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value};

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// All of it is so now, whether it was before or not.
    Done,
    /// Nothing of it was done; of several users, at least one was refused.
    Refused,
    /// The same, because what is there contradicts it.
    Conflict,
    /// The server failed. Whether it was done is unknown.
    Failed,
}

/// A line of the result.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct LineResult {
    pub(super) line: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) op: Option<String>,
    pub(super) outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    field: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    data: Map<String, Value>,
}

impl LineResult {
    fn done(line: u64, op: &str, data: Map<String, Value>) -> Self {
        let op = Some(op.to_owned());
        Self { line, op, outcome: Outcome::Done, code: None, field: Vec::new(), message: None, data }
    }

    /// A line that is not of the required form. `message`: a sentence.
    pub(super) fn refused(line: u64, op: Option<&str>, (code, field, message): (&str, &[&str], String)) -> Self {
        Self {
            op: op.map(str::to_owned),
            outcome: Outcome::Refused,
            code: Some(code.to_owned()),
            field: field.iter().map(|step| (*step).to_owned()).collect(),
            message: Some(message),
            ..Self::done(line, "", Map::new())
        }
    }
}

/// The numbers at the end.
#[derive(Debug, Default, Serialize)]
pub(super) struct Summary {
    /// Lines that were read, empty ones among them.
    pub(super) lines: u64,
    outcomes: BTreeMap<Outcome, u64>,
}

impl Summary {
    pub(super) fn note(&mut self, outcome: Outcome) {
        *self.outcomes.entry(outcome).or_default() += 1;
    }
}

/// What an answer of the API means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The line has its result.
    Ended(LineResult),
    /// Nothing was done, because too much is asked for: again after a while.
    Later(Duration),
    /// The key is not good any more.
    KeyOver,
}

/// Waits without a time of their own.
const A_WHILE: u64 = 1;

/// The meaning of the answer to line `line`, which named `op`.
pub(super) fn meaning(line: u64, op: &str, status: StatusCode, mut answer: Value) -> Meaning {
    if status == StatusCode::UNAUTHORIZED {
        return Meaning::KeyOver;
    }
    let error = &answer["errors"][0];
    if error.is_object() {
        let (code, wait) = (text(&error["extensions"]["code"]), error["extensions"]["retryAfter"].as_u64());
        let was_not_run = status == StatusCode::SERVICE_UNAVAILABLE && wait.is_some();
        if was_not_run || ["RATE_LIMITED", "OVERLOADED"].contains(&code.as_str()) {
            return Meaning::Later(Duration::from_secs(wait.unwrap_or(A_WHILE)));
        }
        let outcome = if has_failed(&code) { Outcome::Failed } else { Outcome::Refused };
        let refused = LineResult::refused(line, Some(op), (&code, &[], text(&error["message"])));
        return Meaning::Ended(LineResult { outcome, ..refused });
    }
    let Value::Object(mut payload) = answer["data"][op].take() else {
        let failed = ("INTERNAL_SERVER_ERROR", &[][..], "There was no answer.".to_owned());
        return Meaning::Ended(LineResult { outcome: Outcome::Failed, ..LineResult::refused(line, Some(op), failed) });
    };
    let user_errors = payload.remove("userErrors");
    let fault = fault(user_errors.as_ref(), payload.get("results"));
    payload.retain(|_, value| !value.is_null());
    let result = LineResult::done(line, op, payload);
    Meaning::Ended(match fault {
        None => result,
        Some(fault) => {
            let code = text(&fault["code"]);
            LineResult {
                outcome: if code == "CONFLICT" { Outcome::Conflict } else { Outcome::Refused },
                code: Some(code),
                field: field(&fault["field"]),
                message: Some(text(&fault["message"])),
                ..result
            }
        }
    })
}

fn has_failed(code: &str) -> bool {
    ["", "INTERNAL_SERVER_ERROR", "ANSWER_TOO_LARGE"].contains(&code)
}

/// The first user error, of the payload or of one of its results.
fn fault(user_errors: Option<&Value>, results: Option<&Value>) -> Option<Value> {
    let first = |errors: &Value| errors.get(0).cloned();
    user_errors.and_then(first).or_else(|| {
        let results = results?.as_array()?;
        results.iter().find_map(|result| first(&result["userErrors"]))
    })
}

/// What the API calls its input is the line's `data`.
fn field(path: &Value) -> Vec<String> {
    let mut path: Vec<String> = path.as_array().into_iter().flatten().map(text).collect();
    if let Some(first) = path.first_mut().filter(|first| *first == "input") {
        "data".clone_into(first);
    }
    path
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(status: StatusCode, answer: Value) -> Value {
        match meaning(3, "likeContent", status, answer) {
            Meaning::Ended(result) => json!(result),
            other => json!(format!("{other:?}")),
        }
    }

    fn error(code: &str, wait: Option<u64>) -> Value {
        json!({ "errors": [{ "message": "It is so.", "extensions": { "code": code, "retryAfter": wait } }] })
    }

    #[test]
    fn a_result_has_what_the_payload_says_or_its_first_fault() {
        let ok = StatusCode::OK;
        let done = json!({ "data": { "likeContent": { "content": { "id": "C" }, "clientMutationId": null, "userErrors": [] } } });
        assert_eq!(
            written(ok, done),
            json!({ "line": 3, "op": "likeContent", "outcome": "done", "data": { "content": { "id": "C" } } })
        );
        let fault = |code| json!({ "code": code, "field": ["input", "text"], "message": "It is so." });
        for (code, outcome) in [("CONFLICT", "conflict"), ("TOO_LONG", "refused")] {
            let payload = json!({ "content": null, "userErrors": [fault(code)] });
            let expected = json!({ "line": 3, "op": "likeContent", "outcome": outcome, "code": code,
                "field": ["data", "text"], "message": "It is so." });
            assert_eq!(written(ok, json!({ "data": { "likeContent": payload } })), expected);
        }
        let results =
            json!({ "results": [{ "userErrors": [] }, { "userErrors": [fault("TAKEN")] }], "userErrors": [] });
        assert_eq!(written(ok, json!({ "data": { "likeContent": results } }))["code"], "TAKEN");
    }

    #[test]
    fn what_was_not_done_for_lack_of_room_is_done_later() {
        let (ok, busy) = (StatusCode::OK, StatusCode::SERVICE_UNAVAILABLE);
        let later = |seconds| Meaning::Later(Duration::from_secs(seconds));
        assert_eq!(meaning(1, "x", busy, error("OVERLOADED", Some(4))), later(4));
        assert_eq!(meaning(1, "x", ok, error("RATE_LIMITED", None)), later(1));
        assert_eq!(meaning(1, "x", busy, error("INTERNAL_SERVER_ERROR", Some(2))), later(2));
        assert_eq!(meaning(1, "x", StatusCode::UNAUTHORIZED, error("UNAUTHENTICATED", None)), Meaning::KeyOver);
        assert_eq!(written(ok, error("FORBIDDEN", None))["outcome"], "refused");
        assert_eq!(written(ok, error("INTERNAL_SERVER_ERROR", None))["outcome"], "failed");
        assert_eq!(written(ok, json!({ "data": { "likeContent": null } }))["outcome"], "failed");
    }
}
