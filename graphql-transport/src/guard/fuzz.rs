//! Tests that no input makes the guard panic: bytes, texts, random tokens, documents.

use std::fmt::Write as _;

use async_graphql::{Value, Variables, value};
use proptest::prelude::*;

use super::*;

/// Runs a request through the whole guard.
fn pass(query: &str, name: Option<&str>, variables: Value) -> Result<Admitted, Refusal> {
    let guard = Guard::default();
    guard.admit(&guard.open(query)?, name, &mut Variables::from_value(variables))
}

/// All tokens of the grammar, so that random sequences of them reach deep into the parser.
fn token() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "...",
        "...f",
        " on Q",
        "query ",
        "mutation",
        "subscription ",
        "fragment f",
        "a",
        "b:",
        "$v",
        "$",
        ":",
        "=",
        "!",
        "@skip(if: $v)",
        "@",
        "|",
        "&",
        "1",
        "-1.5e3",
        "0x",
        "true",
        "null",
        "\"s\"",
        "\"",
        "\"\"\"",
        "\\",
        "\"\\u00e9\"",
        "#",
        "\n",
        ",",
        " ",
        "é",
        "\u{feff}",
        "{ a }",
        "($v: [Int!]! = [1])",
    ])
}

/// How many times as many documents of each kind as a property has cases by default.
const TIMES: u32 = 12;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(TIMES * ProptestConfig::default().cases))]

    #[test]
    fn no_text_makes_the_gate_panic(query in any::<String>(), name in any::<Option<String>>()) {
        let _ = pass(&query, name.as_deref(), value!({}));
    }

    #[test]
    fn no_bytes_make_the_guard_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = pass(&String::from_utf8_lossy(&bytes), None, value!({}));
    }

    #[test]
    fn no_random_tokens_makes_the_gate_panic(tokens in prop::collection::vec(token(), 0..60), spaced in any::<bool>()) {
        let _ = pass(&tokens.join(if spaced { " " } else { "" }), None, value!({"v": true}));
    }

    #[test]
    fn no_well_formed_document_makes_the_gate_panic(
        roots in prop::collection::vec(0..6_usize, 1..6),
        spreads in prop::collection::vec(prop::collection::vec(0..6_usize, 0..6), 6),
    ) {
        let selections = |to: &[usize]| to.iter().map(|to| format!(" x: a {{ ...f{to} }} ")).collect::<Vec<_>>().concat();
        let mut query = format!("{{{}}}", selections(&roots));
        for (index, to) in spreads.iter().enumerate() {
            write!(query, "fragment f{index} on Q {{ a @skip(if: true) {} }}", selections(to))?;
        }
        let passed = Guard::default().open(&query);
        prop_assert!(!matches!(passed, Err(Refusal::Syntax { .. })), "{query}: {passed:?}");
    }
}
