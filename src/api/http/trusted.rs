//! Documents that the operator trusts: a manifest, made when the clients were built, of all that they will ever ask.
//!
//! Apart from the cache of other documents, because these are never forgotten. It refuses to know where the file lies.

use std::{collections::HashMap, sync::Arc};

use async_graphql::{Executor, Request};
use futures_util::FutureExt as _;
use serde::Deserialize;

use super::documents::{DocumentHash, Known};
use crate::api::gate::{Gate, SafeDocument};

/// What a manifest says: ids and texts, not looked into yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest(Vec<(String, String)>);

/// Problems told at once, at most; more are counted.
const TOLD: usize = 20;

/// What is wrong with a manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n  "))]
pub struct ManifestError(Vec<String>);

impl ManifestError {
    /// One reason.
    pub fn because(reason: impl Into<String>) -> Self {
        Self(vec![reason.into()])
    }

    fn of(mut problems: Vec<String>) -> Self {
        let more = problems.len().saturating_sub(TOLD);
        problems.truncate(TOLD);
        if more > 0 {
            problems.push(format!("and {more} more"));
        }
        Self(problems)
    }
}

/// The two forms that are in use.
#[derive(Deserialize)]
#[serde(untagged)]
enum Form {
    /// Apollo's `generate-persisted-query-manifest`.
    Apollo { format: String, version: u32, operations: Vec<Operation> },
    /// Relay's `persistConfig.file`: `{id: text}`.
    Relay(HashMap<String, String>),
}

#[derive(Deserialize)]
struct Operation {
    id: String,
    body: String,
}

impl Manifest {
    /// Reads either form.
    pub fn parse(json: &str) -> Result<Self, ManifestError> {
        let form = serde_json::from_str(json).map_err(|error| {
            let expected = "expected {\"id\": \"text\", ..} (Relay) or {\"format\": \"apollo-persisted-query-manifest\", \
                            \"version\": 1, \"operations\": [..]} (Apollo)";
            ManifestError::because(format!("{expected}: {error}"))
        })?;
        let mut documents: Vec<(String, String)> = match form {
            Form::Apollo { format, version: 1, operations } if format == "apollo-persisted-query-manifest" => {
                operations.into_iter().map(|it| (it.id, it.body)).collect()
            }
            Form::Apollo { format, version, .. } => {
                let message = format!("the format \"{format}\", version {version}, is not known");
                return Err(ManifestError::because(message));
            }
            Form::Relay(documents) => documents.into_iter().collect(),
        };
        documents.sort();
        let twice = documents.windows(2).filter(|pair| matches!(pair, [a, b] if a.0 == b.0 && a.1 != b.1));
        let twice: Vec<String> = twice.map(|pair| format!("\"{}\" stands for two documents", pair[0].0)).collect();
        if !twice.is_empty() {
            return Err(ManifestError::of(twice));
        }
        documents.dedup();
        Ok(Self(documents))
    }

    /// Documents in it.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A manifest whose documents have passed the gate and the schema's validation.
#[derive(Debug, Default)]
pub(super) struct Trusted {
    by_id: HashMap<String, Known>,
    by_hash: HashMap<DocumentHash, Known>,
}

impl Trusted {
    /// Opens every document of `manifest` and lets `schema` validate it.
    pub(super) fn load<E: Executor>(manifest: &Manifest, gate: &Gate, schema: &E) -> Result<Self, ManifestError> {
        let (mut trusted, mut problems) = (Self::default(), Vec::new());
        for (id, text) in &manifest.0 {
            match gate.open(text).map_err(|refusal| refusal.to_string()).and_then(|it| validate(it, schema)) {
                Ok(document) => {
                    let known = Known { document: Arc::new(document), text: text.as_str().into() };
                    trusted.by_hash.insert(DocumentHash::of(text), known.clone());
                    trusted.by_id.insert(id.clone(), known);
                }
                Err(problem) => problems.push(format!("\"{id}\": {problem}")),
            }
        }
        if problems.is_empty() { Ok(trusted) } else { Err(ManifestError::of(problems)) }
    }

    pub(super) fn by_id(&self, id: &str) -> Option<&Known> {
        self.by_id.get(id)
    }

    /// By the text's own hash, or by an id that is this hash: ids are made by tools that print the text anew.
    pub(super) fn by_hash(&self, hash: &DocumentHash) -> Option<&Known> {
        self.by_hash.get(hash).or_else(|| self.by_id.get(&hash.to_string()))
    }
}

/// An operation name that no document can have.
const NO_NAME: &str = "-";

/// The executor validates before it looks for the operation; asked for one that cannot be there it runs nothing.
fn validate<E: Executor>(document: SafeDocument, schema: &E) -> Result<SafeDocument, String> {
    let mut request = Request::new("").operation_name(NO_NAME);
    request.set_parsed_query(document.parsed().clone());
    let errors = schema.execute(request).now_or_never().map(|response| response.errors).unwrap_or_default();
    match errors.into_iter().find(|error| !error.message.starts_with("Unknown operation named")) {
        Some(error) => Err(error.message),
        None => Ok(document),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;
    use crate::api::{gate::GateLimits, http::tests::schema::schema};

    fn loaded(json: &str) -> Result<Trusted, ManifestError> {
        let gate = Gate::new(GateLimits::default(), crate::api::gate::Shape::default());
        Trusted::load(&Manifest::parse(json)?, &gate, &schema())
    }

    #[test]
    fn both_forms_are_read() {
        let relay = loaded(r#"{"abc": "{ hello }", "def": "query Q($t: String!) { echo(text: $t) }"}"#).unwrap();
        assert!(relay.by_id("abc").is_some() && relay.by_id("x").is_none());
        assert!(relay.by_hash(&DocumentHash::of("{ hello }")).is_some());
        let apollo = loaded(
            r#"{"format": "apollo-persisted-query-manifest", "version": 1,
                "operations": [{"id": "abc", "name": "Q", "type": "query", "body": "query Q { hello }"}]}"#,
        );
        assert!(apollo.unwrap().by_id("abc").is_some());
    }

    #[test]
    fn every_problem_is_told_with_its_id() {
        for (json, told) in [
            ("", "expected {"),
            ("[]", "expected {"),
            (r#"{"a": 1}"#, "expected {"),
            (r#"{"format": "other", "version": 1, "operations": []}"#, "\"other\", version 1"),
            (
                r#"{"format": "apollo-persisted-query-manifest", "version": 1, "operations":
                [{"id": "a", "body": "{ hello }"}, {"id": "a", "body": "{ a: hello }"}]}"#,
                "\"a\" stands for two documents",
            ),
            (r#"{"a": "{"}"#, "\"a\": Syntax error"),
            (r#"{"a": "{ missing }"}"#, "\"a\": Unknown field \"missing\""),
            (r#"{"a": "subscription { silence silence }"}"#, "\"a\": A subscription selects exactly one"),
        ] {
            let error = loaded(json).unwrap_err().to_string();
            assert!(error.contains(told), "{json}: {error}");
        }
        let both = loaded(r#"{"a": "{", "b": "{ missing }"}"#).unwrap_err().to_string();
        assert!(both.contains("\"a\"") && both.contains("\"b\""), "{both}");
    }
}
