//! Cost hints that the printed schema lacks: maximum lengths of lists and texts, and surcharges of mutations.
//!
//! The guard computes the cost of operations with them. Each length equals the limit that the resolver enforces.

use async_graphql::parser::types::OperationType;
use graphql_transport::guard::{CostHints, PageSizes};

use crate::domain::limits::{
    DEFAULT_PAGE, MAX_ALT_CHARS, MAX_ANCESTORS, MAX_ATTRIBUTE_VALUE_CHARS, MAX_ATTRIBUTES, MAX_BATCH, MAX_BIO_CHARS,
    MAX_EXTERNAL_ID_BYTES, MAX_JSON_BYTES, MAX_MEDIA, MAX_PAGE, MAX_REGISTRATION_ERRORS, MAX_SESSIONS, MAX_TEXT_CHARS,
    MAX_UPSERTS, MAX_URL_CHARS, MAX_USER_ERRORS,
};

/// The hints.
pub const COST_HINTS: CostHints<'static> = CostHints {
    lists: LISTS,
    texts: TEXTS,
    surcharges: SURCHARGES,
    inputs: INPUTS,
    batches: BATCHES,
    filter: ("filter", FILTERED),
    pages: PageSizes { usual: DEFAULT_PAGE, most: MAX_PAGE },
};

/// Lists of objects without a size argument: type (`*` for all), field, most entries. The first matching row counts.
/// Connections are as long as the page.
const LISTS: &[(&str, &str, usize)] = &[
    ("Content", "ancestors", MAX_ANCESTORS),
    ("Content", "media", MAX_MEDIA),
    ("User", "attributes", MAX_ATTRIBUTES),
    ("User", "sessions", MAX_SESSIONS as usize),
    ("UpsertUsersPayload", "results", MAX_UPSERTS),
    ("PublishContentsPayload", "results", MAX_BATCH),
    ("RegisterUserPayload", "userErrors", MAX_REGISTRATION_ERRORS),
    ("*", "userErrors", MAX_USER_ERRORS),
];

/// Bytes of one character at most.
const CHAR: usize = 4;

/// Texts, and JSON, that may be longer than a name: type (`*` for all), field, most bytes.
const TEXTS: &[(&str, &str, usize)] = &[
    ("Content", "text", MAX_TEXT_CHARS * CHAR),
    ("Content", "url", MAX_URL_CHARS * CHAR),
    ("Content", "externalId", MAX_EXTERNAL_ID_BYTES),
    ("Content", "attributes", MAX_JSON_BYTES),
    ("Media", "url", MAX_URL_CHARS * CHAR),
    ("Media", "alt", MAX_ALT_CHARS * CHAR),
    ("User", "bio", MAX_BIO_CHARS * CHAR),
    ("User", "externalId", MAX_EXTERNAL_ID_BYTES),
    ("User", "avatarUrl", MAX_URL_CHARS * CHAR),
    ("ProfileAttribute", "value", MAX_ATTRIBUTE_VALUE_CHARS * CHAR),
    ("*", "resumeToken", RESUME_TOKEN),
    ("*", "token", SIGNED_TOKEN),
    ("ExportViewerPayload", "url", SIGNED_TOKEN),
    ("*", "clientMutationId", ECHO),
];

/// Bytes of a resume token.
const RESUME_TOKEN: usize = 1_024;
/// Bytes of a signed token.
const SIGNED_TOKEN: usize = 1_024;
/// Bytes of an echoed input. A client may send more, and has paid for it then.
const ECHO: usize = 8_192;

/// Points of one argon2 hash: some 30 ms of a core, in which a node serves a hundred pages.
const PASSWORD_HASH: u64 = 2_000;

/// Points of a search, without its results.
const SEARCH: u64 = 60;

/// Points of a search for people: each candidate is checked for blocks.
const SEARCH_USERS: u64 = 20;

/// Points of suggestions, which read the follows of followed users.
const SUGGEST: u64 = 200;

/// Points of merging the viewer's timeline, which reads more than it returns.
const TIMELINE: u64 = 20;

/// Points of filtering a list by kind: it skips about a thousand index entries.
const FILTERED: u64 = 20;

/// Points of counting up to a hundred entries.
const COUNT: u64 = 200;

/// Points of delivering a content to fifty followers, which happens after the answer.
const DELIVERY: u64 = 200;

/// Points of bringing a hundred users up to date, each in a transaction.
const UPSERTS: u64 = 2_000;

/// Points for 1,000 bytes of a text that is published: it is indexed for search after the answer, and its terms are
/// deleted with it. 1,000 bytes of Chinese have some 600 terms, of some seven microseconds each.
const INDEXED: u64 = 500;

/// Points for 1,000 bytes of a text that is searched for. Each of its words is looked up: 8 words that are everywhere
/// take 2 ms.
const LOOKED_UP: u64 = 8_000;

/// Texts that are worked on.
const INPUTS: &[(OperationType, &str, &[&str], u64)] = &[
    (OperationType::Mutation, "publishContent", &["input", "text"], INDEXED),
    (OperationType::Mutation, "publishContents", &["input", "contents", "text"], INDEXED),
    (OperationType::Query, "search", &["text"], LOOKED_UP),
];

/// Lists of which each entry costs.
const BATCHES: &[(OperationType, &str, &[&str], u64)] =
    &[(OperationType::Mutation, "publishContents", &["input", "contents"], DELIVERY)];

/// Root fields that cost more than their objects and the output.
const SURCHARGES: &[(OperationType, &str, u64)] = &[
    (OperationType::Query, "search", SEARCH),
    (OperationType::Query, "searchUsers", SEARCH_USERS),
    (OperationType::Query, "suggestedUsers", SUGGEST),
    (OperationType::Query, "timeline", TIMELINE),
    (OperationType::Query, "newContentCount", COUNT),
    (OperationType::Mutation, "publishContent", DELIVERY),
    (OperationType::Mutation, "repostContent", DELIVERY),
    (OperationType::Mutation, "upsertUsers", UPSERTS),
    (OperationType::Mutation, "registerUser", PASSWORD_HASH),
    (OperationType::Mutation, "signIn", PASSWORD_HASH),
    (OperationType::Mutation, "changePassword", 2 * PASSWORD_HASH),
    (OperationType::Mutation, "deleteViewer", PASSWORD_HASH),
];

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use async_graphql::parser::{
        parse_schema,
        types::{BaseType, FieldDefinition, TypeKind, TypeSystemDefinition},
    };

    use super::*;
    use crate::api::graphql::schema_sdl;

    /// Every field of the schema's objects and interfaces, with its type's name.
    fn fields() -> Vec<(String, FieldDefinition)> {
        let mut found = Vec::new();
        for definition in parse_schema(schema_sdl()).unwrap().definitions {
            let TypeSystemDefinition::Type(definition) = definition else { continue };
            let fields = match &definition.node.kind {
                TypeKind::Object(object) => &object.fields,
                TypeKind::Interface(interface) => &interface.fields,
                _ => continue,
            };
            found.extend(fields.iter().map(|field| (definition.node.name.node.to_string(), field.node.clone())));
        }
        found
    }

    fn has(of: &str, name: &str) -> bool {
        LISTS.iter().any(|(on, list, _)| (*on == of || *on == "*") && *list == name)
    }

    #[test]
    fn exactly_the_lists_without_a_size_argument_have_a_bound() {
        let (fields, scalars) = (fields(), ["String", "ID", "Int"]);
        let mut unsized_lists = Vec::new();
        for (of, field) in &fields {
            let BaseType::List(item) = &field.ty.node.base else { continue };
            let is_scalar = matches!(&item.base, BaseType::Named(name) if scalars.contains(&name.as_str()));
            let sizes = field.arguments.iter().any(|it| {
                matches!(it.node.name.node.as_str(), "first" | "last")
                    || matches!(it.node.ty.node.base, BaseType::List(_))
            });
            if !is_scalar && !sizes && !of.ends_with("Connection") {
                assert!(has(of, &field.name.node), "{of}.{} has no bound in LISTS", field.name.node);
                unsized_lists.push((of.as_str(), field.name.node.as_str()));
            }
        }
        for (of, name, _) in LISTS {
            assert!(
                unsized_lists.iter().any(|(on, list)| (of == on || *of == "*") && list == name),
                "{of}.{name} is no such list"
            );
        }
    }

    /// Texts of at most a few hundred bytes: cursors, ids, types, handles, names, the server's own messages.
    const SHORT: &[(&str, &str)] = &[
        ("*", "cursor"),
        ("*", "readMarker"),
        ("*", "refreshToken"),
        ("Content", "type"),
        ("PageInfo", "startCursor"),
        ("PageInfo", "endCursor"),
        ("ProfileAttribute", "key"),
        ("Session", "userAgent"),
        ("User", "handle"),
        ("User", "name"),
        ("User", "timelineReadMarker"),
        ("UserError", "message"),
        ("UserError", "field"),
    ];

    #[test]
    fn every_text_is_either_short_or_charged_by_its_bytes() {
        let is = |on: &str, of: &str| on == of || on == "*";
        let (fields, mut seen) = (fields(), Vec::new());
        for (of, field) in &fields {
            let named = match &field.ty.node.base {
                BaseType::Named(name) => name,
                BaseType::List(item) => match &item.base {
                    BaseType::Named(name) => name,
                    BaseType::List(_) => continue,
                },
            };
            if !["String", "JSON"].contains(&named.as_str()) {
                continue;
            }
            let name = field.name.node.as_str();
            let weighed = TEXTS.iter().any(|(on, text, _)| is(on, of) && *text == name);
            let short = SHORT.iter().any(|(on, text)| is(on, of) && *text == name);
            assert!(weighed != short, "{of}.{name} belongs into TEXTS, or into SHORT");
            seen.push((of.as_str(), name.to_owned()));
        }
        for (on, text) in TEXTS.iter().map(|(on, text, _)| (on, text)).chain(SHORT.iter().map(|(on, text)| (on, text)))
        {
            assert!(seen.iter().any(|(of, name)| is(on, of) && text == name), "{on}.{text} is no text of the schema");
        }
    }

    #[test]
    fn every_root_field_with_a_price_of_its_own_exists() {
        let fields = fields();
        let inputs = INPUTS.iter().chain(BATCHES).map(|(operation, name, ..)| (operation, name));
        for (operation, name) in SURCHARGES.iter().map(|(operation, name, _)| (operation, name)).chain(inputs) {
            let root = if *operation == OperationType::Query { "Query" } else { "Mutation" };
            assert!(fields.iter().any(|(of, field)| of == root && field.name.node == *name), "{name}");
        }
    }
}
