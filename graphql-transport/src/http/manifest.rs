//! Reads a manifest of documents in either of the two common formats.

use std::collections::HashMap;

use serde::Deserialize;

/// The ids and texts of a manifest, not parsed yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest(pub(super) Vec<(String, String)>);

/// Most problems that are reported; others are counted.
const MAX_REPORTED: usize = 20;

/// The problems of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n  "))]
pub struct ManifestError(Vec<String>);

impl ManifestError {
    /// One reason.
    pub fn because(reason: impl Into<String>) -> Self {
        Self(vec![reason.into()])
    }

    pub(super) fn of(mut problems: Vec<String>) -> Self {
        let more = problems.len().saturating_sub(MAX_REPORTED);
        problems.truncate(MAX_REPORTED);
        if more > 0 {
            problems.push(format!("and {more} more"));
        }
        Self(problems)
    }
}

/// The two common formats.
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

    /// The manifest with a document of the service's own, unless it has one of this id.
    #[must_use]
    pub fn with(mut self, id: &str, text: &str) -> Self {
        if self.0.iter().all(|(known, _)| known != id) {
            self.0.push((id.to_owned(), text.to_owned()));
        }
        self
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has no documents.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
