//! Tests the guard through its interface: what it admits and what it refuses.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fmt::Write as _;

use async_graphql::{Name, Value, Variables, parser::types::OperationType, value};

use super::*;

/// `getIntrospectionQuery` of graphql-js 16 with every option on.
const INTROSPECTION: &str = include_str!("introspection.graphql");

fn open(query: &str) -> Result<SafeDocument, Refusal> {
    Guard::default().open(query)
}

fn admit(query: &str, name: Option<&str>, variables: Value) -> Result<(Admitted, Variables), Refusal> {
    let mut variables = Variables::from_value(variables);
    let guard = Guard::default();
    let admitted = guard.admit(&guard.open(query)?, name, &mut variables)?;
    Ok((admitted, variables))
}

fn code_of<T: std::fmt::Debug>(result: Result<T, Refusal>) -> &'static str {
    result.unwrap_err().code().as_str()
}

/// `{ a { a { ... } } }`, `depth` fields deep.
fn nested_fields(depth: usize) -> String {
    format!("{}{}", "{ a ".repeat(depth), "}".repeat(depth))
}

/// `length` fragments, each of which spreads the next one twice.
fn fragment_chain(length: usize) -> String {
    let mut query = "{ ...f0 }".to_owned();
    for index in 0..length {
        write!(query, "fragment f{index} on Q{{...f{0} ...f{0}}}", index + 1).unwrap();
    }
    write!(query, "fragment f{length} on Q{{a}}").unwrap();
    query
}

#[test]
fn a_bomb_of_nested_values_is_refused_before_the_parser_sees_it() {
    for (left, right) in [("[", "]"), ("{a:", "}")] {
        let query = format!("{{ a(b: {}1{}) }}", left.repeat(1700), right.repeat(1700));
        assert_eq!(
            open(&query).unwrap_err().to_string(),
            "The query nests 65 brackets, braces or parentheses; the limit is 64. Send nested values in variables."
        );
    }
}

#[test]
fn a_bomb_of_nested_types_and_defaults_is_refused_too() {
    let types = format!("query($a: {}Int{}) {{ a }}", "[".repeat(1700), "]".repeat(1700));
    let defaults = format!("query($a: A = {}1{}) {{ a }}", "[".repeat(1700), "]".repeat(1700));
    assert_eq!(code_of(open(&types)), "QUERY_TOO_COMPLEX");
    assert_eq!(code_of(open(&defaults)), "QUERY_TOO_COMPLEX");
}

#[test]
fn fragments_that_expand_to_millions_of_fields_are_refused() {
    let query = fragment_chain(24);
    assert!((750..850).contains(&query.len()), "the bomb is {} bytes", query.len());
    let Err(Refusal::TooManyFields { found, limit: 2000 }) = open(&query) else {
        unreachable!("a chain of 24 has 2^24 fields")
    };
    assert!(found > 1 << 24, "the whole expansion is counted: {found}");
}

#[test]
fn a_chain_of_fragments_that_select_nothing_known_is_refused_too() {
    let query = fragment_chain(24).replace("{a}", "{...missing}");
    assert_eq!(code_of(open(&query)), "QUERY_TOO_COMPLEX");
}

#[test]
fn a_chain_of_fragments_that_no_operation_uses_is_refused_too() {
    let query = fragment_chain(24).replace("{ ...f0 }", "{ b }");
    assert_eq!(code_of(open(&query)), "QUERY_TOO_COMPLEX");
}

#[test]
fn a_chain_too_long_to_count_saturates() {
    let guard = Guard::new(GuardLimits { selection_levels: 200, ..GuardLimits::default() }, Shape::default());
    let Err(Refusal::TooManyFields { found, .. }) = guard.open(&fragment_chain(100)) else {
        unreachable!("2^100 fields are too many")
    };
    assert_eq!(found, u64::MAX);
}

#[test]
fn a_long_chain_of_single_fragments_is_refused_for_its_levels() {
    let mut query = "{ ...f0 }".to_owned();
    for index in 0..150 {
        write!(query, "fragment f{index} on Q{{...f{}}}", index + 1).unwrap();
    }
    query.push_str("fragment f150 on Q{a}");
    assert_eq!(open(&query).unwrap_err(), Refusal::TooManyLevels { limit: 32 });
}

#[test]
fn the_levels_below_a_remembered_fragment_count_where_it_is_used_again() {
    let deep = format!("fragment d on Q{}", nested_fields(14).replace('a', "... on Q"));
    let deep = deep.replacen("... on Q }", "a }", 1);
    let used = |levels: usize| format!("{{ ...d {} ...d {} }} {deep}", "... on Q {".repeat(levels), "}".repeat(levels));
    assert!(open(&used(17)).is_ok(), "{:?}", open(&used(17)));
    assert_eq!(open(&used(18)).unwrap_err(), Refusal::TooManyLevels { limit: 32 });
}

#[test]
fn the_introspection_query_of_graphql_js_is_exactly_as_deep_as_allowed() {
    assert!(open(INTROSPECTION).is_ok());
    let shallower = Guard::new(GuardLimits { depth: 14, ..GuardLimits::default() }, Shape::default());
    assert_eq!(shallower.open(INTROSPECTION).unwrap_err(), Refusal::TooDeep { found: 15, limit: 14 });
}

#[test]
fn a_description_of_the_schema_that_multiplies_itself_is_refused() {
    let nested = |count: usize| format!("{}name{}", "fields { type { ".repeat(count), "} }".repeat(count));
    assert!(open(&format!("{{ __schema {{ types {{ {} }} }} }}", nested(2))).is_ok());
    for query in [
        format!("{{ __schema {{ types {{ {} }} }} }}", nested(3)),
        format!("{{ __type(name: \"A\") {{ ...f }} }} fragment f on __Type {{ {} }}", nested(3)),
        "{ __type(name: \"A\") { interfaces { possibleTypes { ... on __Type { inputFields { name } } } } } }"
            .to_owned(),
    ] {
        assert_eq!(open(&query).unwrap_err(), Refusal::IntrospectionTooDeep { found: 3, limit: 2 });
    }
    assert!(open(&format!("{{ a {{ {} }} }}", nested(3))).is_ok(), "elsewhere these are fields like others");
}

#[test]
fn every_limit_passes_what_is_exactly_as_large() {
    let aliases = |count: usize| format!("{{ {} }}", "x: a ".repeat(count));
    let fields = |count: usize| format!("{{ {} }}", "a ".repeat(count));
    let padded = |length: usize| format!("{{ a }}{}", " ".repeat(length - 5));
    for (largest, too_large, named) in [
        (aliases(50), aliases(51), "51 aliases"),
        (fields(2000), fields(2001), "2001 fields"),
        (nested_fields(15), nested_fields(16), "16 deep"),
        (padded(65536), padded(65537), "65537 bytes"),
        (format!("{{ {} }}", "a:a ".repeat(1332)), format!("{{ a {} }}", "a:a ".repeat(1333)), "4000 tokens"),
    ] {
        let passed = open(&largest);
        assert!(passed.is_ok() || matches!(passed, Err(Refusal::TooManyAliases { found: 1332, .. })), "{passed:?}");
        let refusal = open(&too_large).unwrap_err();
        assert_eq!(refusal.code(), RefusalCode::TooComplex);
        assert!(refusal.to_string().contains(named), "{refusal}");
    }
}

#[test]
fn directives_and_argument_values_count_as_fields() {
    let guard = Guard::new(GuardLimits { expanded_fields: 7, ..GuardLimits::default() }, Shape::default());
    assert!(guard.open("{ a(b: [1, 2]) @skip(if: true) b }").is_ok());
    let Err(Refusal::TooManyFields { found, .. }) = guard.open("{ a(b: [1, 2, {c: 3}]) @skip(if: true) b }") else {
        unreachable!("two fields, a directive with a value, and five values")
    };
    assert_eq!(found, 9);
}

#[test]
fn all_operations_of_a_document_count_together() {
    let guard = Guard::new(GuardLimits { expanded_fields: 3, ..GuardLimits::default() }, Shape::default());
    assert!(guard.open("query A { a } query B { b c }").is_ok());
    assert!(guard.open("query A { a d } query B { b c }").is_err());
}

#[test]
fn a_fragment_that_contains_itself_is_refused_by_name() {
    for query in [
        "{ ...a } fragment a on Q { b { ...a } }",
        "{ ...a } fragment a on Q { ...b } fragment b on Q { ...a }",
        "{ c } fragment a on Q { ...a ...a }",
    ] {
        let refusal = open(query).unwrap_err();
        assert!(matches!(&refusal, Refusal::FragmentCycle { .. }), "{query}: {refusal}");
        assert_eq!(refusal.code(), RefusalCode::ValidationFailed);
    }
}

#[test]
fn a_subscription_has_one_root_field_in_the_operation_itself() {
    assert!(open("subscription { a { b c } }").is_ok());
    assert!(matches!(open("subscription { a b }"), Err(Refusal::ManyRootFields { found: 2, .. })));
    for query in ["subscription { ...f } fragment f on S { a }", "subscription { ... on S { a b } }"] {
        assert!(matches!(open(query), Err(Refusal::SubscriptionFragment { .. })), "{query}");
    }
}

#[test]
fn a_syntax_error_is_one_line_with_its_location() {
    let refusal = open("{ a(b: ) }").unwrap_err();
    assert_eq!(refusal.code(), RefusalCode::ParseFailed);
    assert!(refusal.to_string().starts_with("Syntax error at line 1, column 8: expected "), "{refusal}");
    assert!(!refusal.to_string().contains('\n'));
    assert_eq!(refusal.locations().first().map(|pos| (pos.line, pos.column)), Some((1, 8)));
    for query in ["", "{", "fragment a on Q { b }", "query A { a } query A { b }", "{ a } { b }"] {
        assert_eq!(code_of(open(query)), "GRAPHQL_PARSE_FAILED", "{query}");
    }
}

#[test]
fn the_operation_is_the_named_one_or_the_only_one() {
    let two = "query A { a } mutation B { b }";
    for (query, name, chosen) in [(two, "B", "B"), ("query A { a }", "", "A")] {
        assert_eq!(admit(query, Some(name), value!({})).unwrap().0.operation.name(), Some(&Name::new(chosen)));
    }
    assert_eq!(admit(two, None, value!({})).unwrap_err(), Refusal::OperationNameNeeded { found: 2 });
    for (query, name) in [(two, "C"), ("{ a }", "A")] {
        assert_eq!(code_of(admit(query, Some(name), value!({}))), "OPERATION_RESOLUTION_FAILURE");
    }
}

#[test]
fn defaults_are_filled_in_and_what_was_given_stays() {
    let query = "query($a: Int = 1, $b: Boolean! = true, $c: Int = 2, $d: Int) { a }";
    let (_, variables) = admit(query, None, value!({"c": null, "other": 9})).unwrap();
    assert_eq!(variables.into_value(), value!({"a": 1, "b": true, "c": null, "other": 9}));
}

#[test]
fn a_required_variable_has_to_be_given() {
    let query = "query($id: ID!) { a }";
    let missing = admit(query, None, value!({})).unwrap_err();
    assert_eq!(missing.to_string(), "Variable \"$id\" of required type \"ID!\" was not provided. Add it to variables.");
    let null = admit(query, None, value!({"id": null})).unwrap_err();
    assert!(null.to_string().contains("expected type \"ID!\", found null"), "{null}");
    assert_eq!((missing.code(), null.code()), (RefusalCode::BadUserInput, RefusalCode::BadUserInput));
}

#[test]
fn variables_fit_their_built_in_scalars_and_lists() {
    let fits = |declared: &str, value: Value| {
        let mut variables = Variables::default();
        variables.insert(Name::new("v"), value);
        let document = open(&format!("query($v: {declared}) {{ a }}")).unwrap();
        Guard::default().admit(&document, None, &mut variables).is_ok()
    };
    for (declared, value) in [
        ("Int", value!(2_147_483_647)),
        ("Float", value!(1)),
        ("Float", value!(1.5)),
        ("ID", value!("x")),
        ("ID", value!(7)),
        ("Boolean", value!(true)),
        ("String", value!(null)),
        ("[ID!]!", value!(["a", "b"])),
        ("[ID!]!", value!("a")),
        ("[[Int]]", value!([[1, null], null])),
        ("Input!", value!({"any": ["thing"]})),
        ("DateTime!", value!(5)),
    ] {
        assert!(fits(declared, value.clone()), "{value} is a {declared}");
    }
    for (declared, value) in [
        ("Int", value!(2_147_483_648_i64)),
        ("Int", value!(1.5)),
        ("Int", value!("1")),
        ("Float", value!("1")),
        ("ID", value!(1.5)),
        ("ID", value!(true)),
        ("Boolean", value!(1)),
        ("String", value!({})),
        ("[ID!]", value!(["a", null])),
        ("[Int]!", value!(null)),
        ("[[Int]]", value!([["x"]])),
    ] {
        assert!(!fits(declared, value.clone()), "{value} is no {declared}");
    }
}

/// A schema with pages, lists and inputs of every kind.
pub(super) fn shape() -> Shape {
    Shape::of_sdl(
        "schema { query: Q mutation: M } \
         type Q { viewer: U people(first: Int, last: Int): Connection search(first: Int): Connection nodes(ids: [ID!]!): [U]! plain: Int } \
         type M { put(input: In!): U many(input: In!): U } \
         type U { name: String! friend: U search: U media: [P!]! people(first: Int): Connection } type P { url: String! } \
         type Connection { edges: [Edge!]! nodes: [U] page: I } type Edge { cursor: String! node: U } type I { more: Boolean! } \
         enum Colour { RED GREEN } \
         input In { text: String! colour: Colour many: [In!] count: Int = 1 }",
    )
    .unwrap()
    .with_cost_hints(&CostHints {
        surcharges: &[(OperationType::Query, "search", 20)],
        inputs: &[
            (OperationType::Mutation, "put", &["input", "text"], 500),
            (OperationType::Mutation, "many", &["input", "many", "text"], 500),
        ],
        batches: &[(OperationType::Mutation, "many", &["input", "many"], 30)],
        ..CostHints::default()
    })
}

#[test]
fn variables_are_checked_against_the_inputs_of_the_schema() {
    let query = "mutation($i: In!) { put(input: $i) { name } }";
    let guard = Guard::new(GuardLimits::default(), shape());
    let admit = |input: Value| {
        let mut variables = Variables::default();
        variables.insert(Name::new("i"), input);
        guard.admit(&guard.open(query).unwrap(), None, &mut variables)
    };
    for input in [
        value!({"text": "x"}),
        value!({"text": "x", "colour": "RED", "count": 2, "many": [{"text": "y", "many": null}]}),
        value!({"text": "x", "many": {"text": "one stands for a list"}}),
    ] {
        assert!(admit(input.clone()).is_ok(), "{input}");
    }
    for (input, path) in [
        (value!(5), "\"i\""),
        (value!("x"), "\"i\""),
        (value!([]), "\"i\""),
        (value!({}), "\"i.text\""),
        (value!({"text": 5}), "\"i.text\""),
        (value!({"text": null}), "\"i.text\""),
        (value!({"text": "x", "more": 1}), "\"i.more\""),
        (value!({"text": "x", "colour": "BLUE"}), "\"i.colour\""),
        (value!({"text": "x", "colour": 1}), "\"i.colour\""),
        (value!({"text": "x", "many": [{"text": "y"}, {"text": []}]}), "\"i.many[1].text\""),
        (value!({"text": "x", "many": [null]}), "\"i.many[0]\""),
    ] {
        let refusal = admit(input.clone()).unwrap_err();
        assert_eq!(refusal.code(), RefusalCode::BadUserInput, "{input}");
        assert!(refusal.to_string().contains(path), "{input}: {refusal}");
    }
}

#[test]
fn operations_fragments_directives_and_variables_have_their_bounds() {
    let limits = GuardLimits {
        operations: 2,
        fragments: 1,
        directives: 1,
        variable_bytes: 20,
        variable_nesting: 2,
        ..GuardLimits::default()
    };
    let guard = Guard::new(limits, Shape::default());
    assert!(guard.open("query A { a } query B { b ...f } fragment f on Q { c @skip(if: true) }").is_ok());
    for (query, message) in [
        ("query A { a } query B { b } query C { c }", "3 operations; the limit is 2"),
        ("{ ...f ...g } fragment f on Q { a } fragment g on Q { b }", "2 fragments; the limit is 1"),
        ("{ a @skip(if: true) @include(if: true) }", "2 directives at one place; the limit is 1"),
    ] {
        let refusal = guard.open(query).unwrap_err();
        assert_eq!(refusal.code(), RefusalCode::TooComplex);
        assert!(refusal.to_string().contains(message), "{refusal}");
    }
    let admit = |variables: Value| {
        guard.admit(&guard.open("{ a }").unwrap(), None, &mut Variables::from_value(variables)).map(|_| ())
    };
    assert_eq!(admit(value!({"a": [1]})), Ok(()));
    assert_eq!(admit(value!({"a": [[1]]})), Err(Refusal::VariablesTooDeep { limit: 2 }));
    assert_eq!(admit(value!({"a": "0123456789012345678"})), Err(Refusal::VariablesTooLarge { limit: 20 }));
}
