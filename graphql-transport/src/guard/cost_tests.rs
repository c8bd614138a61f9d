//! Tests the cost of operations against the formula of docs/cost.md.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fmt::Write as _;

use async_graphql::{Value, Variables, value};

use super::{tests::shape, *};

/// The cost of `query` without its bytes, in thousandths of a point.
fn cost_of(query: &str, variables: Value) -> u64 {
    let limits = GuardLimits { cost: u64::MAX, expanded_fields: u64::MAX, ..GuardLimits::default() };
    let (guard, mut variables) = (Guard::new(limits, shape()), Variables::from_value(variables));
    let document = guard.open(query).unwrap();
    let admitted = guard.admit(&document, None, &mut variables).unwrap();
    let (operation, (_, written)) = (admitted.operation, document.parsed().operations.iter().next().unwrap());
    let set = operation.merged().unwrap_or(&written.node.selection_set.node);
    cost::of_operation(document.parsed(), (operation.operation_type(), set), &variables, &shape())
}

#[test]
fn the_cost_formula_counts_reads_objects_scalars_and_list_sizes() {
    for (query, variables, reads, points, scalars, spreads) in [
        ("{ plain }", value!({}), 0, 0, 1, 0),
        ("{ __typename a: __typename }", value!({}), 0, 0, 2, 0),
        ("{ viewer { name } }", value!({}), 1, 1, 1, 0),
        ("{ viewer { a: name b: name name } }", value!({}), 1, 1, 3, 0),
        ("{ viewer { friend { friend { name } } } }", value!({}), 3, 3, 1, 0),
        ("{ viewer { media { url } } }", value!({}), 2, 1 + 10, 10, 0),
        ("{ people(first: 7) { edges { cursor node { name } } page { more } } }", value!({}), 1, 1 + 7 * 2 + 1, 15, 0),
        ("{ people { nodes { name } } }", value!({}), 1, 1 + 20, 20, 0),
        ("{ people { nodes { friend { name } } } }", value!({}), 2, 1 + 20 * 2, 20, 0),
        ("{ search(first: 3) { nodes { name } } }", value!({}), 1, 20 + 1 + 3, 3, 0),
        ("{ people { nodes { search { name } } } }", value!({}), 2, 1 + 20 * (1 + 1), 20, 0),
        ("query($n: Int) { people(first: $n) { nodes { name } } }", value!({"n": 5}), 1, 1 + 5, 5, 0),
        ("query($n: Int = 3) { people(last: $n) { nodes { name } } }", value!({}), 1, 1 + 3, 3, 0),
        ("{ people(first: 1000000) { nodes { name } } }", value!({}), 1, 1 + 100, 100, 0),
        ("{ people(first: -1) { nodes { name } } }", value!({}), 1, 1, 0, 0),
        (
            "{ people(first: 10) { nodes { people(first: 10) { nodes { name } } } } }",
            value!({}),
            2,
            1 + 10 * (1 + 1 + 10),
            100,
            0,
        ),
        ("query($i: [ID!]!) { nodes(ids: $i) { name } }", value!({"i": ["a", "b"]}), 1, 2, 2, 0),
        ("{ nodes(ids: [\"a\", \"b\", \"c\"]) { name friend { name } } }", value!({}), 2, 3 * 2, 6, 0),
        (
            "{ people(first: 4) { ...c } } fragment c on Connection { edges { node { name } } }",
            value!({}),
            1,
            1 + 4 * 2,
            4,
            1,
        ),
        ("{ people(first: 4) { edges { node { ... { name } } } } }", value!({}), 1, 1 + 4 * 2, 4, 4),
        ("{ viewer @skip(if: true) { name } plain }", value!({}), 0, 0, 1, 1),
        ("query($b: Boolean!) { viewer @include(if: $b) { name } }", value!({"b": false}), 0, 0, 0, 1),
        ("mutation { put(input: {text: \"\"}) { name } }", value!({}), 1, 200 + 1, 1, 0),
    ] {
        let cost = 20_000 + reads * 20_000 + points * 1_000 + scalars * 100 + spreads * 10;
        assert_eq!(cost_of(query, variables), cost, "{query}");
    }
}

#[test]
fn a_text_that_is_worked_on_costs_by_its_bytes() {
    let input = "mutation($i: In!) { put(input: $i) { name } }";
    let text = "mutation($t: String!, $c: Colour) { put(input: {text: $t, colour: $c}) { name } }";
    let empty = cost_of("mutation { put(input: {text: \"\"}) { name } }", value!({}));
    for (query, variables) in [
        ("mutation { put(input: {text: \"1234\"}) { name } }", value!({})),
        (input, value!({"i": {"text": "1234"}})),
        (text, value!({"t": "1234"})),
        (text, value!({"t": "潮1", "c": "RED"})),
    ] {
        assert_eq!(cost_of(query, variables), empty + 4 * 500, "{query}");
    }
    let twice =
        cost_of("mutation { a: put(input: {text: \"1\"}) { name } b: put(input: {text: \"\"}) { name } }", value!({}));
    assert_eq!(twice, 2 * empty - 20_000 + 500);
}

#[test]
fn each_entry_of_a_batch_costs_what_one_does() {
    let none = cost_of("mutation { many(input: {text: \"\"}) { name } }", value!({}));
    let input = "mutation($i: In!) { many(input: $i) { name } }";
    let list = "mutation($m: [In!]) { many(input: {text: \"\", many: $m}) { name } }";
    let (one, two) = (value!({"text": "1234"}), value!([{"text": "1234"}, {"text": "12", "many": [{"text": "x"}]}]));
    for (query, variables, entries, bytes) in [
        (input, value!({"i": {"text": "unpriced", "many": (one.clone())}}), 1, 4),
        (input, value!({"i": {"text": "", "many": (two.clone())}}), 2, 6),
        (list, value!({"m": (two)}), 2, 6),
        (list, value!({"m": null}), 0, 0),
        ("mutation { many(input: {text: \"\", many: [{text: \"12\"}, {text: \"3\"}]}) { name } }", value!({}), 2, 3),
    ] {
        assert_eq!(cost_of(query, variables), none + entries * 30_000 + bytes * 500, "{query}");
    }
}

#[test]
fn introspection_costs_what_it_selects() {
    // Nine types of its own. Fields lead to types of three fields on average, and none has more than twice as many.
    let types = 9 + 13;
    for (query, tenths) in [
        ("{ __schema { types { name } } }", 1 + types * 2),
        ("{ __schema { types { name description kind } } }", 1 + types * 4),
        ("{ __schema { ...f } } fragment f on __Schema { types { name } }", 1 + types * 2),
        ("{ __schema { types { fields { name } } } }", 1 + types * (1 + 3 * 2)),
        ("{ __schema { types { fields { type { fields { name } } } } } }", 1 + types * (1 + 3 * (1 + 1 + 3 * 2))),
        ("{ __type(name: \"U\") { name } }", 2 * 2),
        ("{ __type(name: \"U\") { fields { name } } }", 2 * (1 + 3 * 2)),
    ] {
        let spreads = u64::from(query.contains("...")) * 10;
        assert_eq!(cost_of(query, value!({})), 70_000 + tenths * 100 + spreads, "{query}");
    }
    let aliases: String = (0..49).fold(String::new(), |mut text, n| {
        write!(text, "a{n}: __schema {{ types {{ fields {{ name }} }} }} ").unwrap();
        text
    });
    assert_eq!(cost_of(&format!("{{ {aliases} }}"), value!({})), 20_000 + 49 * (50_000 + 100 * (1 + types * 7)));
}

#[test]
fn a_chain_of_fragments_gets_its_cost_without_being_expanded() {
    let mut query = "{ viewer { ...f0 } }".to_owned();
    for index in 0..24 {
        write!(query, "fragment f{index} on U{{...f{0} ...f{0}}}", index + 1).unwrap();
    }
    query.push_str("fragment f24 on U{friend{name}}");
    assert_eq!(cost_of(&query, value!({})), 41_000 + (1 << 24) * 21_100 + ((1 << 25) - 1) * 10);
}
