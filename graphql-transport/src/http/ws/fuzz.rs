//! Tests that no input makes a socket's reader panic, and that every refusal closes the socket with a code and a
//! reason.

use axum::extract::ws::Message;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::message::{ClientMessage, Closing};
use crate::http::params::Params;

/// How many times as many messages of each kind as a property has cases by default.
const TIMES: u32 = 40;
/// Bytes that a close frame has for its reason (RFC 6455 section 5.5).
const REASON_BYTES: usize = 123;

/// Reads as a socket does, payload and all.
fn read(text: &str) -> Result<(), TestCaseError> {
    let operation = match ClientMessage::parse(text) {
        Ok(ClientMessage::Subscribe { id, payload }) => {
            prop_assert!(!id.is_empty());
            Params::of_json(payload).err().map(|error| error.to_string())
        }
        Ok(_) => None,
        Err(what) => Some(what),
    };
    if let Some(what) = operation {
        let Message::Close(Some(frame)) = Closing::BadMessage(what).to_frame() else {
            return Err(TestCaseError::fail("a closing is a close frame"));
        };
        prop_assert!(frame.code == 4400 && frame.reason.len() <= REASON_BYTES);
    }
    Ok(())
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        "\\PC{0,8}".prop_map(Json::from),
        prop::sample::select(vec!["connection_init", "subscribe", "complete", "ping", "pong", "next", "{ a }"])
            .prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let name = prop::sample::select(vec![
            "type",
            "id",
            "payload",
            "query",
            "variables",
            "operationName",
            "extensions",
            "persistedQuery",
            "sha256Hash",
            "version",
            "documentId",
            "x",
        ]);
        let fields = prop::collection::vec((name, inner.clone()), 0..5);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Json::from),
            fields.prop_map(|fields| fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(TIMES * ProptestConfig::default().cases))]

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>()) {
        read(&text)?;
    }

    #[test]
    fn no_json_makes_the_reader_panic(json in any_json()) {
        read(&json.to_string())?;
    }

    #[test]
    fn no_message_with_anything_in_it_makes_the_reader_panic(
        kind in prop::sample::select(vec!["connection_init", "subscribe", "complete", "ping", "pong"]),
        (id, payload) in (any_json(), any_json()),
    ) {
        read(&json!({"type": kind, "id": id, "payload": payload}).to_string())?;
    }
}
