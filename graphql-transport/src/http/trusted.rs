//! The documents of the operator's manifest, parsed and validated at start-up and kept for ever.

use std::{collections::HashMap, sync::Arc};

use super::{
    document::{DocumentHash, ParsedDocument},
    manifest::{Manifest, ManifestError},
};
use crate::guard::Guard;

/// A manifest whose documents have passed the guard.
#[derive(Debug, Default)]
pub(super) struct Trusted {
    by_id: HashMap<String, ParsedDocument>,
    /// Also by ids that are written as a hash: tools that make ids print the text again.
    by_hash: HashMap<DocumentHash, ParsedDocument>,
}

impl Trusted {
    /// Opens and validates every document of `manifest`.
    pub(super) fn load(manifest: &Manifest, guard: &Guard) -> Result<Self, ManifestError> {
        let (mut trusted, mut problems) = (Self::default(), Vec::new());
        for (id, text) in &manifest.0 {
            match guard.open(text) {
                Ok(document) => {
                    let known = ParsedDocument { document: Arc::new(document), text: text.as_str().into() };
                    if let Some(hash) =
                        DocumentHash::parse(id).filter(|_| !id.contains(|digit: char| digit.is_uppercase()))
                    {
                        trusted.by_hash.entry(hash).or_insert_with(|| known.clone());
                    }
                    trusted.by_hash.insert(DocumentHash::of(text), known.clone());
                    trusted.by_id.insert(id.clone(), known);
                }
                Err(problem) => problems.push(format!("\"{id}\": {problem}")),
            }
        }
        if problems.is_empty() { Ok(trusted) } else { Err(ManifestError::of(problems)) }
    }

    pub(super) fn by_id(&self, id: &str) -> Option<&ParsedDocument> {
        self.by_id.get(id)
    }

    /// Finds a document by the hash of its text, or by an id that equals the hash.
    pub(super) fn by_hash(&self, hash: &DocumentHash) -> Option<&ParsedDocument> {
        self.by_hash.get(hash)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;
    use crate::{
        guard::{GuardLimits, Shape},
        http::tests::schema::schema,
    };

    fn loaded(json: &str) -> Result<Trusted, ManifestError> {
        let guard = Guard::new(GuardLimits::default(), Shape::of_sdl(&schema().sdl()).unwrap());
        Trusted::load(&Manifest::parse(json)?, &guard)
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
    fn an_id_that_is_a_hash_is_found_as_one() {
        let (hello, other) = (DocumentHash::of("{ hello }"), DocumentHash::of("{ other }"));
        let manifest = format!(
            r#"{{"{other}": "{{ hello }}", "{hello}": "query Q($t: String!) {{ echo(text: $t) }}", "{}": "{{ hello }}"}}"#,
            "A".repeat(64)
        );
        let trusted = loaded(&manifest).unwrap();
        let text = |hash: &DocumentHash| trusted.by_hash(hash).map(|it| it.text.to_string());
        assert_eq!(text(&other).as_deref(), Some("{ hello }"));
        assert_eq!(text(&hello).as_deref(), Some("{ hello }"));
        assert_eq!(text(&DocumentHash::parse(&"a".repeat(64)).unwrap()), None, "ids are compared by case");
    }

    #[test]
    fn every_problem_is_reported_with_its_id() {
        for (json, message) in [
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
            (r#"{"a": "{ missing }"}"#, "\"a\": Type \"Query\" does not have a field \"missing\""),
            (r#"{"a": "subscription { silence silence }"}"#, "\"a\": A subscription selects exactly one"),
        ] {
            let error = loaded(json).unwrap_err().to_string();
            assert!(error.contains(message), "{json}: {error}");
        }
        let both = loaded(r#"{"a": "{", "b": "{ missing }"}"#).unwrap_err().to_string();
        assert!(both.contains("\"a\"") && both.contains("\"b\""), "{both}");
    }
}
