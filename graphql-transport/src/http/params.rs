//! Reads the parameters of a request from a URL or a JSON body: `query` or a name for it, `operationName`,
//! `variables`, `extensions`.

use async_graphql::{Value, Variables};
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::{
    document::DocumentHash,
    outcome::{Refused, no_room_for_body},
};
use crate::memory::Hold;

/// Memory of one value: a text of two bytes may have one.
const VALUE_BYTES: usize = size_of::<Value>();
/// Memory of a name in an object, beside the name itself.
const NAME_BYTES: usize = 2 * size_of::<String>();

/// Most memory of the values of a body of this length: a list has one for every two bytes.
pub(super) fn most_bytes(body_bytes: usize) -> usize {
    (body_bytes / 2).saturating_mul(VALUE_BYTES)
}

/// The document to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// Its text.
    Text(String),
    /// Its id in the operator's manifest.
    Id(String),
    /// Its hash. With its text if the client believes that the hash is unknown yet.
    Hash { hash: DocumentHash, text: Option<String> },
}

/// The parameters of a GraphQL request, with their types checked.
#[derive(Debug)]
pub(super) struct Params {
    pub(super) source: Source,
    pub(super) operation_name: Option<String>,
    pub(super) variables: Variables,
    pub(super) extensions: Map<String, Json>,
    /// Memory of the values of both beside their text.
    value_bytes: usize,
    /// The memory that they hold until the operation has ended.
    pub(super) hold: Option<Hold>,
}

/// Why a request cannot be read, explained for its developer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ParamsError {
    #[error("The body is not JSON: {0}.")]
    NotJson(String),
    #[error("The body is a list. Send one operation per request: batches are not supported.")]
    Batch,
    #[error("The body is {0}; it has to be a JSON object with a \"query\".")]
    NotAnObject(&'static str),
    #[error("\"query\" is missing. Send the document's text, or name it by \"documentId\" or its hash.")]
    QueryMissing,
    #[error("\"extensions.persistedQuery\" has to be {{\"version\": 1, \"sha256Hash\": 64 hexadecimal digits}}.")]
    PersistedQuery,
    #[error("\"{name}\" is {found}; it has to be {expected}.")]
    IllTyped { name: &'static str, found: &'static str, expected: &'static str },
    #[error("\"{name}\" is not JSON: {message}.")]
    ParameterNotJson { name: &'static str, message: String },
}

impl ParamsError {
    /// Whether the request is malformed; otherwise an extension is invalid.
    pub(super) const fn is_of_form(&self) -> bool {
        !matches!(self, Self::PersistedQuery)
    }
}

/// The parameters in a URL's query string; `variables` and `extensions` are JSON there.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UrlParams {
    query: Option<String>,
    id: Option<String>,
    document_id: Option<String>,
    operation_name: Option<String>,
    variables: Option<String>,
    extensions: Option<String>,
}

impl Params {
    /// Reads a POST's body.
    pub(super) fn of_body(body: &[u8]) -> Result<Self, ParamsError> {
        let json = serde_json::from_slice(body).map_err(|error| ParamsError::NotJson(error.to_string()))?;
        Self::of_json(json)
    }

    /// Reads a GET's query string.
    pub(super) fn of_url(url: UrlParams) -> Result<Self, ParamsError> {
        let mut object = Map::new();
        for (name, text) in [
            ("query", url.query),
            ("id", url.id),
            ("documentId", url.document_id),
            ("operationName", url.operation_name),
        ] {
            object.insert(name.to_owned(), text.map_or(Json::Null, Json::String));
        }
        for (name, text) in [("variables", url.variables), ("extensions", url.extensions)] {
            let Some(text) = text.filter(|text| !text.trim().is_empty()) else { continue };
            let json = serde_json::from_str(&text)
                .map_err(|error| ParamsError::ParameterNotJson { name, message: error.to_string() })?;
            object.insert(name.to_owned(), json);
        }
        Self::of_json(Json::Object(object))
    }

    /// Reads a JSON value: a body, or the payload of `subscribe`.
    pub(super) fn of_json(json: Json) -> Result<Self, ParamsError> {
        let mut object = match json {
            Json::Object(object) => object,
            Json::Array(_) => return Err(ParamsError::Batch),
            other => return Err(ParamsError::NotAnObject(kind(&other))),
        };
        let query = text(&mut object, "query")?;
        let operation_name = text(&mut object, "operationName")?;
        let (variables, extensions) = (map(&mut object, "variables")?, map(&mut object, "extensions")?);
        let value_bytes = bytes_of_entries(&variables) + bytes_of_entries(&extensions);
        let variables = Variables::from_json(Json::Object(variables));
        let hash = persisted(&extensions)?;
        let source = match (query, hash) {
            (text, Some(hash)) => Source::Hash { hash, text: text.filter(|text| !text.is_empty()) },
            (Some(text), None) => Source::Text(text),
            (None, None) => {
                let id = text(&mut object, "documentId")?.or(text(&mut object, "id")?);
                Source::Id(id.ok_or(ParamsError::QueryMissing)?)
            }
        };
        Ok(Self { source, operation_name, variables, extensions, value_bytes, hold: None })
    }

    /// Makes `hold` hold their memory; `bytes`: the length of their text. Refused if there is no room.
    pub(super) fn held_by(self, mut hold: Hold, bytes: usize) -> Result<Self, Refused> {
        let bytes = bytes + self.value_bytes;
        hold.grow_to(bytes).map_err(no_room_for_body)?;
        hold.settle(bytes);
        Ok(Self { hold: Some(hold), ..self })
    }

    /// The extensions in the executor's form.
    pub(super) fn take_extensions(&mut self) -> async_graphql::Extensions {
        let mut extensions = async_graphql::Extensions::default();
        for (name, json) in std::mem::take(&mut self.extensions) {
            extensions.insert(name, Value::from_json(json).unwrap_or_default());
        }
        extensions
    }
}

/// The hash in Apollo's protocol for automatic persisted queries.
fn persisted(extensions: &Map<String, Json>) -> Result<Option<DocumentHash>, ParamsError> {
    let Some(persisted) = extensions.get("persistedQuery").filter(|persisted| !persisted.is_null()) else {
        return Ok(None);
    };
    let hash = persisted.get("sha256Hash").and_then(Json::as_str).and_then(DocumentHash::parse);
    match hash.filter(|_| persisted.get("version").and_then(Json::as_u64) == Some(1)) {
        Some(hash) => Ok(Some(hash)),
        None => Err(ParamsError::PersistedQuery),
    }
}

/// The memory of the values in `json`, beside the bytes of their strings.
fn bytes_of_values(json: &Json) -> usize {
    VALUE_BYTES
        + match json {
            Json::Array(items) => items.iter().map(bytes_of_values).sum(),
            Json::Object(entries) => bytes_of_entries(entries),
            _ => 0,
        }
}

fn bytes_of_entries(entries: &Map<String, Json>) -> usize {
    entries.values().map(|value| NAME_BYTES + bytes_of_values(value)).sum()
}

fn text(object: &mut Map<String, Json>, name: &'static str) -> Result<Option<String>, ParamsError> {
    match object.remove(name) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text)),
        Some(other) => Err(ill_typed(name, &other, if name == "query" { "a string" } else { "a string or null" })),
    }
}

fn map(object: &mut Map<String, Json>, name: &'static str) -> Result<Map<String, Json>, ParamsError> {
    match object.remove(name) {
        None | Some(Json::Null) => Ok(Map::new()),
        Some(Json::Object(map)) => Ok(map),
        Some(other) => Err(ill_typed(name, &other, "an object or null")),
    }
}

fn ill_typed(name: &'static str, found: &Json, expected: &'static str) -> ParamsError {
    ParamsError::IllTyped { name, found: kind(found), expected }
}

/// The kind of a value, with its article.
fn kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(body: &str) -> String {
        Params::of_body(body.as_bytes()).map_or_else(|error| error.to_string(), |params| format!("{params:?}"))
    }

    #[test]
    fn an_unreadable_body_is_refused_with_its_reason() {
        for (body, message) in [
            ("[{\"query\": \"{ a }\"}]", "The body is a list. Send one operation per request"),
            ("[]", "batches are not supported"),
            ("\"{ a }\"", "The body is a string; it has to be a JSON object"),
            ("{}", "\"query\" is missing."),
            ("{\"extensions\": {\"persistedQuery\": {}}}", "has to be {\"version\": 1"),
            (
                "{\"extensions\": {\"persistedQuery\": {\"version\": 2, \"sha256Hash\": \"00\"}}}",
                "has to be {\"version\": 1",
            ),
            ("{\"documentId\": 7}", "\"documentId\" is a number"),
            ("{\"query\": 1}", "\"query\" is a number; it has to be a string."),
            ("{\"query\": \"\", \"operationName\": []}", "\"operationName\" is a list; it has to be a string or null."),
            ("{\"query\": \"\", \"variables\": \"{}\"}", "\"variables\" is a string; it has to be an object or null."),
            ("{\"query\": \"\", \"extensions\": false}", "\"extensions\" is a boolean"),
            ("", "The body is not JSON: EOF"),
            ("{\"query\": \"\u{0}\"}", "The body is not JSON: control character"),
        ] {
            let refused = refusal(body);
            assert!(refused.contains(message), "{body}: {refused}");
        }
    }

    #[test]
    fn a_body_nested_too_deeply_is_refused_and_not_recursed_into() {
        let nested = format!("{{\"query\": \"\", \"variables\": {}{}}}", "[".repeat(50_000), "]".repeat(50_000));
        assert!(refusal(&nested).contains("recursion limit"), "{}", refusal(&nested));
    }

    #[test]
    fn values_count_with_their_memory() {
        let counted = |values: &str| {
            let body = format!("{{\"query\": \"\", \"variables\": {{\"a\": 1}}, \"extensions\": {{\"b\": {values}}}}}");
            Params::of_body(body.as_bytes()).map_or(0, |params| params.value_bytes)
        };
        let list = |value: &str| format!("[{}]", vec![value; 1_000].join(","));
        let usual = counted("\"a long string counts as text alone\"");
        assert_eq!(usual, counted("\"\""));
        assert!(usual < 1_000 && counted(&list("0")) > 32_000 && counted(&list("[]")) > 32_000);
        assert!(counted(&list("{\"a\":0}")) > 3 * counted(&list("0")) / 2);
    }

    #[test]
    fn a_url_carries_json_in_variables() {
        let url = UrlParams {
            query: Some("{ a }".to_owned()),
            variables: Some("{\"a\": 1}".to_owned()),
            extensions: Some(String::new()),
            ..UrlParams::default()
        };
        let params = Params::of_url(url);
        assert!(params.is_ok_and(
            |params| params.variables.contains_key("a") && params.source == Source::Text("{ a }".to_owned())
        ));
        let broken =
            UrlParams { query: Some("{ a }".to_owned()), variables: Some("{".to_owned()), ..UrlParams::default() };
        assert!(matches!(Params::of_url(broken), Err(ParamsError::ParameterNotJson { name: "variables", .. })));
    }
}
