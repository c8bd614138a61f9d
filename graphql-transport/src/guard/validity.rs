//! Tests that the guard enforces the specification's rules and runs a field that is selected twice only once.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use async_graphql::{Variables, value};

use super::*;

const SDL: &str = "schema { query: Q mutation: M } \
    interface N { id: ID! } \
    type Q { viewer: U user(handle: String!): U node(id: ID!): N nodes(ids: [ID!]!): [N]! \
      people(first: Int, last: Int, filter: F, order: Order! = UP): C plain: Int } \
    type M { put(input: In!): U hash(input: In!): U count: Int } \
    type U implements N { id: ID! name: String! friend: U rank: Int media: [P!]! people(first: Int): C } \
    type P implements N { id: ID! url: String! name: Int! } \
    type C { nodes: [U] page: I } type I { more: Boolean! } \
    enum Order { UP DOWN } \
    input F { orders: [Order!] limit: Int! = 3 } \
    input In { text: String! order: Order many: [In!] count: Int = 1 }";

fn guard(introspection: bool) -> Guard {
    let hints = CostHints {
        lists: &[("*", "media", 9)],
        texts: &[("P", "url", 8 * 1024)],
        surcharges: &[(OperationType::Mutation, "hash", 1000)],
        inputs: &[],
        batches: &[],
        filter: ("filter", 7),
        pages: PageSizes::default(),
    };
    let shape = Shape::of_sdl(SDL).unwrap().with_cost_hints(&hints);
    Guard::new(GuardLimits { introspection, ..GuardLimits::default() }, shape)
}

fn cost(query: &str) -> u64 {
    let guard = guard(true);
    guard.admit(&guard.open(query).unwrap(), None, &mut Variables::default()).unwrap().cost
}

#[test]
fn a_list_with_a_filter_costs_more_for_what_it_leaves_out() {
    let of = |filter: &str| cost(&format!("{{ people(filter: {filter}) {{ page {{ more }} }} }}"));
    assert_eq!(of("{limit: 1}"), of("null      ") + 7);
}

#[test]
fn a_variable_stands_only_where_its_type_fits_whatever_its_value() {
    for (query, is_valid) in [
        ("query($i: ID) { node(id: $i) { id } }", false),
        ("query($i: ID!) { node(id: $i) { id } }", true),
        ("query($i: ID = 1) { node(id: $i) { id } }", true),
        ("query($i: ID = null) { node(id: $i) { id } }", false),
        ("query($i: String!) { node(id: $i) { id } }", false),
        ("query($i: [ID!]) { nodes(ids: $i) { id } }", false),
        ("query($i: ID!) { nodes(ids: [$i]) { id } }", true),
        ("query($i: ID) { nodes(ids: [$i]) { id } }", false),
        ("query($i: ID = 1) { nodes(ids: [$i]) { id } }", true),
        ("query($o: Order) { people(order: $o) { page { more } } }", true),
        ("query($o: String) { people(filter: {orders: [$o]}) { page { more } } }", false),
        ("query($o: Order!) { people(filter: {orders: [$o]}) { page { more } } }", true),
        ("query($o: Order!) { people(filter: {orders: $o}) { page { more } } }", false),
        ("query($l: Int) { people(filter: {limit: $l}) { page { more } } }", true),
        ("mutation($t: String) { put(input: {text: $t}) { id } }", false),
        ("mutation($t: String!) { put(input: {text: \"x\", many: [{text: $t}]}) { id } }", true),
        ("mutation($t: String) { put(input: {text: \"x\", many: [{text: $t}]}) { id } }", false),
        ("mutation($i: In) { put(input: $i) { id } }", false),
        ("query($b: Boolean = null) { plain @include(if: $b) }", false),
        ("query($b: Boolean) { ...f } fragment f on Q { plain @skip(if: $b) }", false),
        ("query($h: String) { ...f } fragment f on Q { ... { user(handle: $h) { id } } }", false),
    ] {
        let opened = guard(true).open(query);
        assert_eq!(opened.is_ok(), is_valid, "{query}: {opened:?}");
        assert!(opened.is_ok() || matches!(opened, Err(Refusal::Invalid { .. })), "{query}: {opened:?}");
    }
}

#[test]
fn the_rules_that_the_executor_lacks_hold() {
    for query in [
        "{ __typename @foo }",
        "query($x: Int @foo) { people(first: $x) { page { more } } }",
        "query @skip(if: true) { plain }",
        "{ __typename { x } }",
        "{ viewer { __typename(x: 1) } }",
        "{ people(filter: {orders: [\"UP\"]}) { page { more } } }",
        "{ people(filter: {orders: [UP], orders: [DOWN]}) { page { more } } }",
        "query($f: F = {limit: 1, limit: 2}) { people(filter: $f) { page { more } } }",
        "{ node(id: 1) { ... on U { x: name } ... on P { x: name } } }",
        "{ people(first: 9223372036854775807) { page { more } } }",
        "query($x: [Missing] = 1) { plain }",
        "query($x: Missing) { plain }",
        "query($x: Int) { plain }",
        "{ plain ...f } fragment f on Missing { plain }",
    ] {
        let opened = guard(true).open(query);
        assert!(matches!(opened, Err(Refusal::Invalid { .. })), "{query}: {opened:?}");
        assert_eq!(opened.unwrap_err().code(), RefusalCode::ValidationFailed);
    }
    let keyword = guard(true).open("fragment on on U { id } { viewer { ...on } }").unwrap_err();
    assert_eq!(keyword.code(), RefusalCode::ParseFailed, "{keyword}");
}

#[test]
fn every_error_has_its_location_and_suggests_the_intended_name() {
    let refusal = guard(true).open("{ plan\n  viewer { id nam } }").unwrap_err();
    let errors = refusal.into_errors();
    let reported: Vec<_> = errors.iter().map(|it| (it.message.as_str(), it.locations[0].line)).collect();
    let expected = [
        ("Type \"Q\" does not have a field \"plan\". Did you mean \"plain\"?", 1),
        ("Type \"U\" does not have a field \"nam\". Did you mean \"name\"?", 2),
    ];
    assert_eq!(reported, expected);
    let argument = guard(true).open("{ user(handel: \"x\", handle: \"y\") { id } }").unwrap_err().to_string();
    assert_eq!(argument, "The argument \"handel\" is not supported by \"Q.user\". Did you mean \"handle\"?");
    let many = guard(true).open(&format!("{{ {} }}", "x ".repeat(100))).unwrap_err();
    assert_eq!(many.into_errors().len(), 20);
}

#[test]
fn a_misspelt_field_is_told_first_also_where_nothing_else_is_selected() {
    for (query, message) in [
        ("{ viewer { idd } }", "Type \"U\" does not have a field \"idd\". Did you mean \"id\"?"),
        ("{ viewer { ... { nam } } }", "Type \"U\" does not have a field \"nam\". Did you mean \"name\"?"),
        (
            "query($n: Int) { peoples(first: $n) { nodes { id } } }",
            "Type \"Q\" does not have a field \"peoples\". Did you mean \"people\"?",
        ),
        ("query($n: Int) { plain }", "Unused variable: \"$n\"."),
        ("{ viewer }", "Interface, union and object types must have a subselection set."),
        ("{ people(filter: {limit: 1}) }", "Interface, union and object types must have a subselection set."),
    ] {
        let reported = guard(true).open(query).unwrap_err().into_errors();
        assert_eq!(reported.iter().map(|it| it.message.as_str()).collect::<Vec<_>>(), [message], "{query}");
    }
}

#[test]
fn a_misspelt_name_that_is_required_is_told_before_its_absence() {
    for (query, messages) in [
        (
            "{ user(handel: \"x\") { id } }",
            [
                "The argument \"handel\" is not supported by \"Q.user\". Did you mean \"handle\"?",
                "The required argument \"Q.user(handle:)\" is not provided.",
            ],
        ),
        (
            "mutation { put(input: {txt: \"x\"}) { id } }",
            [
                "Field \"txt\" does not exist on \"In\". Did you mean \"text\"?",
                "The required field \"In.text\" is not provided.",
            ],
        ),
    ] {
        let reported = guard(true).open(query).unwrap_err().into_errors();
        assert_eq!(reported.iter().map(|it| it.message.as_str()).collect::<Vec<_>>(), messages, "{query}");
    }
}

#[test]
fn unknown_input_fields_have_suggestions_inline_and_in_variables() {
    let inline = guard(true).open("mutation { put(input: {text: \"x\", ordr: UP}) { id } }").unwrap_err();
    assert_eq!(inline.to_string(), "Field \"ordr\" does not exist on \"In\". Did you mean \"order\"?");
    let document = guard(true).open("mutation($i: In!) { put(input: $i) { id } }").unwrap();
    for (name, advice) in [("txt", "Leave it out, or write \"text\"."), ("zzz", "Leave it out.")] {
        let mut fields = async_graphql::indexmap::IndexMap::new();
        fields.insert(async_graphql::Name::new(name), value!("x"));
        let mut variables = Variables::from_value(value!({ "i": async_graphql::Value::Object(fields) }));
        let refusal = guard(true).admit(&document, None, &mut variables).unwrap_err().to_string();
        assert!(refusal.ends_with(&format!("\"i.{name}\" is not a field of type \"In!\". {advice}")), "{refusal}");
    }
}

#[test]
fn an_overlong_name_is_refused_with_a_short_message() {
    let name = "n".repeat(65_000);
    for query in [
        format!("{{ {name} }}"),
        format!("{{ viewer {{ {name} }} }}"),
        format!("{{ user({name}: 1) {{ id }} }}"),
        format!("{{ plain @{name} }}"),
        format!("{{ ...{name} }}"),
        format!("query(${name}: Int) {{ plain }}"),
    ] {
        let refusal = guard(true).open(&query).unwrap_err();
        assert!(matches!(refusal, Refusal::NameTooLong { found: 65_000, limit: 256, .. }), "{refusal}");
    }
}

#[test]
fn no_message_is_longer_than_anybody_reads_whatever_the_client_calls_things() {
    let (name, guard) = ("n".repeat(60_000), guard(true));
    let open = |query: &str| guard.open(query).unwrap();
    let admit = |query: &str, operation: Option<&str>, variables| {
        guard.admit(&open(query), operation, &mut Variables::from_value(variables)).unwrap_err()
    };
    let mut fields = async_graphql::indexmap::IndexMap::new();
    fields.insert(async_graphql::Name::new(&name), value!(1));
    let input = async_graphql::Value::Object(fields);
    let crowd = |part: &str| format!("{{ {} }}", format!("{part} ").repeat(120));
    for refusal in [
        admit("{ plain }", Some(&name), value!({})),
        admit("mutation($i: In!) { put(input: $i) { id } }", None, value!({ "i": input })),
        guard.open(&crowd(&"n".repeat(250))).unwrap_err(),
        guard.open(&format!("{{ user(handle: [\"{name}\"]) {{ id }} }}")).unwrap_err(),
        guard.open(&format!("{{ people(order: {}) {{ page {{ more }} }} }}", "n".repeat(250))).unwrap_err(),
        guard.open(&format!("{{ people(first: \"{name}\") {{ page {{ more }} }} }}")).unwrap_err(),
        guard.open(&format!("{{ \"{name}\" }}")).unwrap_err(),
    ] {
        for error in refusal.into_errors() {
            assert!(error.message.len() <= 1_100, "{} bytes: {}", error.message.len(), &error.message[..100]);
        }
    }
}

#[test]
fn without_introspection_errors_name_only_what_the_client_sent() {
    let names = ["Q", "U", "In", "Order", "handle", "text", "many", "name", "ID", "String", "UP", "filter"];
    for query in [
        "{ usr }",
        "{ user(handel: \"x\") { id } }",
        "{ user { id } }",
        "{ viewer }",
        "{ viewer { nam } }",
        "mutation { put(input: {}) { id } }",
        "mutation { put(input: {txt: 1}) { id } }",
        "{ user(handle: 1) { id } }",
        "{ people(order: LEFT) { page { more } } }",
        "{ people(order: 1) { page { more } } }",
        "{ people(fliter: null) { page { more } } }",
        "{ plain { x } }",
        "query($x: Int) { node(id: $x) { id } }",
        "mutation($x: Int) { put(input: {text: $x}) { id } }",
        "{ node(id: 1) { ... on C { page { more } } } }",
    ] {
        for error in guard(false).open(query).unwrap_err().into_errors() {
            for word in error.message.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
                let is_written = query.split(|c: char| !c.is_ascii_alphanumeric()).any(|it| it == word);
                assert!(is_written || !names.contains(&word), "{query}: {}", error.message);
            }
        }
    }
    let reported = guard(false).open("{ user(handel: \"x\") { id } }").unwrap_err().into_errors();
    assert_eq!(reported[0].message, "The argument \"handel\" is not supported by \"…\".");
    assert_eq!(reported[1].message, "The required argument \"…\" is not provided.");
}

#[test]
fn nor_is_it_named_for_a_variable_that_does_not_fit() {
    let query = "mutation($i: In!) { put(input: $i) { id } }";
    for (input, reported) in [
        (value!({}), "Variable \"$i\" got an invalid value at \"i\": a required field is missing."),
        (value!({"txt": 1}), "Variable \"$i\" got an invalid value at \"i.txt\": there is no such field."),
        (value!({"order": 1}), "Variable \"$i\" got an invalid value at \"i.order\": this kind of value is not taken."),
        (value!(1), "Variable \"$i\" got an invalid value at \"i\": expected type \"In!\", found a number."),
    ] {
        let (guard, mut variables) = (guard(false), Variables::from_value(value!({ "i": input })));
        let refusal = guard.admit(&guard.open(query).unwrap(), None, &mut variables).unwrap_err();
        assert_eq!((refusal.to_string().as_str(), refusal.code()), (reported, RefusalCode::BadUserInput));
    }
}

/// The root fields that the executor is given, with the number of selections in each.
fn roots(query: &str, variables: async_graphql::Value) -> Vec<(String, usize)> {
    let (guard, mut variables) = (guard(true), Variables::from_value(variables));
    let admitted = guard.admit(&guard.open(query).unwrap(), None, &mut variables).unwrap();
    let items = &admitted.operation.selections().node.items;
    let field = |selection: &Selection| match selection {
        Selection::Field(field) => {
            Some((field.node.response_key().node.to_string(), field.node.selection_set.node.items.len()))
        }
        _ => None,
    };
    items.iter().map(|item| field(&item.node).unwrap_or_default()).collect()
}

#[test]
fn fields_with_one_response_key_merge_their_selections() {
    let put = |inner: &str| format!("put(input: {{text: \"x\"}}) {{ {inner} }}");
    let (id, name) = (put("id"), put("name rank"));
    let once = vec![("put".to_owned(), 3)];
    for query in [
        format!("mutation {{ {id} {name} }}"),
        format!("mutation {{ {id} ...f }} fragment f on M {{ {name} }}"),
        format!("mutation {{ ...f ... on M {{ {name} }} }} fragment f on M {{ {id} }}"),
        format!("mutation {{ ... {{ {id} }} ... @include(if: true) {{ {name} }} }}"),
        format!("mutation {{ {id} {name} ... @skip(if: true) {{ {name} }} }}"),
    ] {
        assert_eq!(roots(&query, value!({})), once, "{query}");
    }
    let conditional = format!("mutation($b: Boolean!) {{ {id} ... @include(if: $b) {{ {name} }} a: count count }}");
    let rest = [("a".to_owned(), 0), ("count".to_owned(), 0)];
    assert_eq!(roots(&conditional, value!({"b": true}))[..], [&once[..], &rest[..]].concat());
    assert_eq!(roots(&conditional, value!({"b": false}))[0], ("put".to_owned(), 1));
    let twice = format!("mutation {{ ...f ...f }} fragment f on M {{ {id} }}");
    assert_eq!(roots(&twice, value!({})), [("put".to_owned(), 1)]);
    assert_eq!(roots("{ viewer { id } viewer { name } }", value!({})), [("viewer".to_owned(), 2)]);
}

#[test]
fn a_mutation_costs_the_same_inline_and_in_fragments() {
    let puts: String =
        (0..20).map(|n| format!("a{n}: put(input: {{text: \"x\"}}) {{ id }}")).collect::<Vec<_>>().join(" ");
    // Twenty ids are two points, and all bytes together three.
    assert_eq!(cost(&format!("mutation {{ {puts} }}")), 20 + 20 * (200 + 20 + 1) + 2 + 3);
    assert_eq!(cost(&format!("mutation {{ ...f }} fragment f on M {{ {puts} }}")), 20 + 20 * (200 + 20 + 1) + 2 + 3);
    assert_eq!(
        cost("mutation { put(input: {text: \"x\"}) { id } put(input: {text: \"x\"}) { name } }"),
        20 + 200 + 20 + 1 + 1
    );
    assert_eq!(cost("mutation { count count @skip(if: true) a: count }"), 20 + 2 * 200 + 1);
    let viewers = |inside: &str| cost(&format!("{{ {} }}", format!("viewer {{ {inside} }} ").repeat(9)));
    assert_eq!(viewers("id"), 20 + 20 + 1 + 1, "the same leaf is answered once");
    assert_eq!(viewers("id @include(if: true)"), 20 + 20 + 1 + 3, "one that depends on something is not the same");
}

#[test]
fn cost_hints_price_lists_texts_and_expensive_mutations() {
    assert_eq!(cost("{ viewer { media { id } } }"), 20 + 2 * 20 + 1 + 9 + 2);
    assert_eq!(cost("mutation { hash(input: {text: \"x\"}) { id } }"), 20 + 200 + 1000 + 20 + 1 + 1);
    let links = (0..48).map(|n| format!("a{n}: url")).collect::<Vec<_>>().join(" ");
    // 8 KiB that each link may have are 9.102 points, and each field is a tenth: 3,975.3; the document's bytes are the
    // rest.
    assert_eq!(cost(&format!("{{ viewer {{ media {{ {links} }} }} }}")), 20 + 2 * 20 + 1 + 9 + 3978);
}

#[test]
fn document_and_variable_bytes_cost_per_request_and_reading_costs_extra() {
    let guard = guard(true);
    let cost = |query: &str, variables: async_graphql::Value| {
        guard.admit(&guard.open(query).unwrap(), None, &mut Variables::from_value(variables)).unwrap().cost
    };
    let padded = |bytes: usize| format!("{{ plain }}{}", " ".repeat(bytes - 9));
    assert_eq!(cost(&padded(9), value!({})), 20 + 1, "rounded up");
    assert_eq!(cost(&padded(900), value!({})), 20 + 4);
    assert_eq!(cost(&padded(10_000), value!({})), 20 + 1 + 40);
    assert_eq!(cost(&padded(9), value!({ "unused": "x".repeat(10_000) })), 20 + 1 + 40);
    let reading = |bytes: usize| guard.reading(&padded(bytes));
    assert_eq!((reading(19), reading(20), reading(1_000), reading(65_536)), (21, 21, 90, 4_607));
    assert_eq!(reading(65_537), 0, "what is too long is not read");
}

#[test]
fn a_value_that_is_not_of_the_schemas_own_scalar_is_refused() {
    let sdl = "scalar Day type Query { at(day: Day, days: [Day!], in: In): Int } input In { day: Day! }";
    let day: ScalarCheck = |value| match value {
        async_graphql::Value::String(text) if text.ends_with("day") => Ok(()),
        _ => Err("a day is a string such as \"Monday\""),
    };
    let shape = Shape::of_sdl(sdl).unwrap().with_scalars(&[("Day", day)]);
    let guard = Guard::new(GuardLimits::default(), shape);
    for (given, is_valid) in [
        ("day: \"Monday\"", true),
        ("day: null", true),
        ("day: \"bad\"", false),
        ("day: 7", false),
        ("day: SOME", false),
        ("day: [\"Monday\"]", false),
        ("days: \"Monday\"", true),
        ("days: [\"Monday\", \"Friday\"]", true),
        ("days: [\"Monday\", \"bad\"]", false),
        ("in: {day: \"Monday\"}", true),
        ("in: {day: \"bad\"}", false),
    ] {
        let opened = guard.open(&format!("{{ at({given}) }}"));
        assert_eq!(opened.is_ok(), is_valid, "{given}: {opened:?}");
    }
    let refused = guard.open("query($d: Day = \"bad\") { at(day: $d) }").unwrap_err();
    assert_eq!(refused.to_string(), "The value is not of type \"Day\": a day is a string such as \"Monday\".");
    let document = guard.open("query($d: Day, $ds: [Day!], $i: In) { at(day: $d, days: $ds, in: $i) }").unwrap();
    for (given, path) in [
        (value!({"d": "Monday", "ds": ["Friday"], "i": {"day": "Sunday"}}), None),
        (value!({"d": null, "ds": "Friday"}), None),
        (value!({"d": "bad"}), Some("d")),
        (value!({"d": 7}), Some("d")),
        (value!({"d": "Monday", "i": {"day": 7}}), Some("i.day")),
        (value!({"i": {"day": "bad"}}), Some("i.day")),
    ] {
        let admitted = guard.admit(&document, None, &mut Variables::from_value(given.clone()));
        let refused = admitted.err().map(|refusal| (refusal.code(), refusal.to_string()));
        let (name, reason) = (path.unwrap_or_default().get(..1).unwrap_or_default(), "a day is a string such as");
        let message =
            |path: &str| format!("Variable \"${name}\" got an invalid value at \"{path}\": {reason} \"Monday\".");
        assert_eq!(refused, path.map(|path| (RefusalCode::BadUserInput, message(path))), "{given}");
    }
}
