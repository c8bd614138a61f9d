//! Compares the answers of the library's executor with ours.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{collections::BTreeSet, sync::Arc};

use async_graphql::{
    EmptySubscription, PathSegment, Request, Response, Schema, ValidationMode, Value, Variables, value,
};
use proptest::prelude::*;

use super::{direct::Direct, prepared_executor::PreparedExecutor as _};
use crate::guard::{Guard, GuardLimits, Prepared, Shape};

/// The same objects, resolved by the library or by this crate.
macro_rules! objects {
    ($name:ident, $library:literal) => {
        mod $name {
            use async_graphql::{Context, Error, Interface, Object, SimpleObject, Union};
            use tokio::task::yield_now;

            #[derive(Clone)]
            pub struct Leaf {
                number: i32,
                text: Option<String>,
            }

            #[Object(crate = $library)]
            impl Leaf {
                pub async fn number(&self) -> i32 {
                    self.number
                }

                async fn text(&self) -> Option<&String> {
                    self.text.as_ref()
                }

                async fn twig(&self) -> Twig {
                    Twig { length: self.number, name: self.text.clone() }
                }
            }

            #[derive(SimpleObject)]
            #[graphql(crate = $library)]
            pub struct Twig {
                length: i32,
                name: Option<String>,
            }

            #[derive(Clone)]
            pub struct Branch(pub i32);

            #[Object(crate = $library)]
            impl Branch {
                pub async fn number(&self) -> i32 {
                    self.0
                }

                async fn late(&self, #[graphql(default = 1)] yields: u32) -> u32 {
                    for _ in 0..yields.min(9) {
                        yield_now().await;
                    }
                    yields
                }

                async fn leaf(&self) -> Leaf {
                    yield_now().await;
                    Leaf { number: self.0 * 10, text: (self.0 % 2 == 0).then(|| "even".to_owned()) }
                }

                async fn branches(&self, first: i32) -> Vec<Option<Branch>> {
                    (0..first.min(3)).map(|number| (number != 1).then_some(Branch(number))).collect()
                }

                async fn lost(&self) -> Result<i32, Error> {
                    Err(Error::new(format!("{} is lost", self.0)))
                }

                async fn missing(&self) -> Option<Result<Leaf, Error>> {
                    yield_now().await;
                    Some(Err(Error::new("missing")))
                }

                async fn either(&self, ctx: &Context<'_>) -> Either {
                    if ctx.look_ahead().field("text").exists() {
                        Either::Leaf(Leaf { number: 1, text: None })
                    } else {
                        Either::Branch(Branch(2))
                    }
                }

                async fn numbered(&self, leaf: bool) -> Numbered {
                    if leaf { Numbered::Leaf(Leaf { number: 3, text: None }) } else { Numbered::Branch(Branch(4)) }
                }
            }

            #[derive(Union)]
            pub enum Either {
                Leaf(Leaf),
                Branch(Branch),
            }

            #[derive(Interface)]
            #[graphql(field(name = "number", ty = "i32"))]
            pub enum Numbered {
                Leaf(Leaf),
                Branch(Branch),
            }

            pub struct Query;

            #[Object(crate = $library)]
            impl Query {
                async fn branch(&self, number: Option<i32>) -> Branch {
                    Branch(number.unwrap_or(7))
                }

                async fn hello(&self) -> &'static str {
                    "world"
                }
            }

            pub struct Mutation;

            #[Object(crate = $library)]
            impl Mutation {
                async fn put(&self, number: i32) -> Branch {
                    yield_now().await;
                    Branch(number)
                }
            }
        }
    };
}

objects!(library, "async_graphql");
objects!(ours, "crate::execution::objects");

fn guard() -> Guard {
    let sdl = Schema::new(library::Query, library::Mutation, EmptySubscription).sdl();
    let limits = GuardLimits { expanded_fields: 20_000, aliases: 1_000, cost: u64::MAX, ..GuardLimits::default() };
    Guard::new(limits, Shape::of_sdl(&sdl).unwrap())
}

/// The operation with complete variables; `None` if the guard refuses it.
fn prepared(guard: &Guard, query: &str, variables: async_graphql::Value) -> Option<(Arc<Prepared>, Variables)> {
    let mut variables = Variables::from_value(variables);
    let admitted = guard.admit(&guard.open(query).ok()?, None, &mut variables).ok()?;
    Some((admitted.operation, variables))
}

fn shown(mut response: Response) -> String {
    // Which of several fields fails first is undefined.
    response.errors.sort_by_key(|error| format!("{error:?}"));
    format!("{} {:?}", response.data, response.errors)
}

/// What the specification defines of an answer (section 6.4.4): of the errors below an object that one of them has
/// nulled, that there is one. An executor may cancel the fields beside it, or report what happens in them, too.
fn defined(response: &Response) -> String {
    let (mut exact, mut nulled) = (Vec::new(), BTreeSet::new());
    for error in &response.errors {
        let shown = shown_segments(&response.data, &error.path);
        if shown < error.path.len() {
            nulled.insert(format!("{:?}", &error.path[..shown]));
        } else {
            exact.push(format!("{error:?}"));
        }
    }
    exact.sort();
    format!("{} {exact:?} {nulled:?}", response.data)
}

/// How many segments of `path` lead to something in `data`.
fn shown_segments(mut data: &Value, path: &[PathSegment]) -> usize {
    for (depth, segment) in path.iter().enumerate() {
        let inner = match (data, segment) {
            (Value::Object(fields), PathSegment::Field(name)) => fields.get(name.as_str()),
            (Value::List(items), PathSegment::Index(index)) => items.get(*index),
            _ => None,
        };
        let Some(inner) = inner else { return depth };
        data = inner;
    }
    path.len()
}

/// The library's answer to the document as it is written, and ours.
async fn both(query: &str, variables: async_graphql::Value) -> (String, String) {
    let (theirs, ours) = both_responses(query, variables).await;
    (shown(theirs), shown(ours))
}

async fn both_responses(query: &str, variables: async_graphql::Value) -> (Response, Response) {
    let (operation, complete) = prepared(&guard(), query, variables).unwrap_or_else(|| panic_at(query));
    let stock = Schema::build(library::Query, library::Mutation, EmptySubscription);
    let stock = stock.validation_mode(ValidationMode::Fast).finish();
    let direct = Direct::build((ours::Query, ours::Mutation, EmptySubscription), |builder| builder);
    let theirs = stock.execute(Request::new(query).variables(complete.clone())).await;
    let ours = direct.execute_prepared(operation, Request::new("").variables(complete)).await;
    (theirs, ours)
}

#[expect(clippy::panic, reason = "the test's own document is at fault")]
fn panic_at(query: &str) -> ! {
    panic!("refused: {query}")
}

#[tokio::test]
async fn both_executors_answer_the_same() {
    for query in [
        "{ hello __typename }",
        "{ a: hello hello b: __typename branch { number __typename } }",
        "{ branch { late leaf { number text twig { name length __typename } } number late2: late(yields: 5) } }",
        "{ branch { branches(first: 3) { number leaf { text } branches(first: 2) { late } } } }",
        "{ branch { number missing { number } lost late } hello }",
        "{ branch { late missing { number } number } hello }",
        "{ branch { ...f leaf { ...g } } } fragment f on Branch { number late ...h } fragment g on Leaf { text } \
         fragment h on Branch { leaf { number ...g } }",
        "{ branch { leaf { number } leaf { text } branches(first: 3) { number } branches(first: 3) { late } } }",
        "{ branch { either { ... on Leaf { number text } ... on Branch { number late } __typename } } }",
        "{ branch { a: numbered(leaf: true) { number __typename ... on Leaf { text } } \
         b: numbered(leaf: false) { ... on Numbered { number } ... on Branch { late } } } }",
        "{ branch { ... on Numbered { number } ... { late } ... on Branch { leaf { text } } } }",
        "mutation { a: put(number: 1) { number late } b: put(number: 2) { lost } c: put(number: 3) { number } }",
        "mutation { put(number: 1) { number } put(number: 1) { late } }",
        "{ __schema { queryType { name fields { name } } } hello }",
        "{ __type(name: \"Leaf\") { fields { name type { name kind } } } }",
        "{ branch(number: 3) { number hidden: number @skip(if: true) late @include(if: true) ... @skip(if: true) { lost } } }",
    ] {
        let (theirs, ours) = both(query, value!({})).await;
        assert_eq!(theirs, ours, "{query}");
    }
}

#[tokio::test]
async fn below_a_nulled_object_one_error_is_defined() {
    let query = "{ branch { number lost branches(first: 3) { missing { text } } } }";
    let (theirs, ours) = both_responses(query, value!({})).await;
    assert_eq!(defined(&theirs), defined(&ours));
    for (one, other) in [
        ("{ branch { missing { text } number } }", "{ branch { missing { twig { length } } number } }"),
        ("{ branch { a: missing { text } } }", "{ branch { b: missing { text } } }"),
        ("{ branch { lost } }", "{ branch { late } }"),
    ] {
        let answers = (both_responses(one, value!({})).await.1, both_responses(other, value!({})).await.1);
        assert_eq!(defined(&answers.0) == defined(&answers.1), one.contains("number"), "{one}");
    }
}

#[tokio::test]
async fn conditions_are_decided_by_each_requests_variables() {
    let query = "query($a: Boolean!, $b: Boolean = true, $n: Int) { hello @include(if: $a) \
        branch(number: $n) { number @skip(if: $b) ... @include(if: $a) { late } ...f @skip(if: $a) } } \
        fragment f on Branch { leaf { number @include(if: $b) text } }";
    let mut answers = std::collections::HashSet::new();
    for (a, b) in [(true, true), (true, false), (false, true), (false, false)] {
        let (theirs, ours) = both(query, value!({ "a": a, "b": b, "n": 4 })).await;
        assert_eq!(theirs, ours, "{a} {b}");
        answers.insert(ours);
    }
    assert_eq!(answers.len(), 4);
}

#[test]
fn an_operation_is_prepared_once_for_each_choice_of_its_conditions() {
    let guard = guard();
    let document = guard.open("query($a: Boolean!, $n: Int) { hello @skip(if: $a) branch(number: $n) { number } }");
    let document = document.unwrap();
    let admit = |variables| guard.admit(&document, None, &mut Variables::from_value(variables)).unwrap().operation;
    let first = admit(value!({"a": true, "n": 1}));
    assert!(Arc::ptr_eq(&first, &admit(value!({"a": true, "n": 2}))));
    let other = admit(value!({"a": false}));
    assert!(!Arc::ptr_eq(&first, &other) && Arc::ptr_eq(&other, &admit(value!({"a": false, "n": 3}))));
}

#[test]
fn a_preparable_operation_weighs_as_if_prepared() {
    let guard = guard();
    let weight = |query: &str| guard.open(query).unwrap().weight();
    let spreads = "...f ".repeat(100);
    let query = format!("query {{ branch {{ {spreads} }} }} fragment f on Branch {{ number }}");
    assert!(weight(&query) > query.len() + 200 * 20, "fragments count where they are written out");
    let chosen = query.replace("query {", "query($a: Boolean!) { hello @skip(if: $a)");
    assert!(weight(&chosen) > weight(&query) * 3 / 2, "each choice counts");
}

/// Counts how often it is polled, and is ready at the second time.
#[derive(Clone, Default)]
struct Counted(Arc<std::sync::atomic::AtomicU32>);

#[async_graphql::Object(crate = "crate::execution::objects")]
impl Counted {
    async fn inner(&self) -> Self {
        self.clone()
    }

    async fn polls(&self) -> u32 {
        let mut polls = 0;
        std::future::poll_fn(|_| {
            polls += 1;
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if polls == 2 { std::task::Poll::Ready(polls) } else { std::task::Poll::Pending }
        })
        .await
    }
}

#[tokio::test]
async fn a_waiting_field_is_polled_once_a_turn_at_any_depth() {
    let counted = Counted::default();
    let direct = Direct::build((counted.clone(), ours::Mutation, EmptySubscription), |builder| builder);
    let guard = Guard::new(GuardLimits::default(), Shape::of_sdl(&direct.sdl()).unwrap());
    let (operation, variables) =
        prepared(&guard, &format!("{}polls{}", "{ inner ".repeat(9) + "{", "}".repeat(10)), value!({})).unwrap();
    let mut run = std::pin::pin!(direct.execute_prepared(operation, Request::new("").variables(variables)));
    for polls in [1, 2] {
        let _ = futures_util::poll!(run.as_mut());
        assert_eq!(counted.0.load(std::sync::atomic::Ordering::Relaxed), polls);
    }
}

fn selection(depth: u32) -> BoxedStrategy<String> {
    let leaf = prop::sample::select(vec![
        "number",
        "late",
        "late2: late(yields: 3)",
        "lost",
        "__typename",
        "missing { text }",
    ]);
    let leaf = leaf.prop_map(str::to_owned).boxed();
    if depth == 0 {
        return leaf;
    }
    let inner = || prop::collection::vec(selection(depth - 1), 1..5).prop_map(|parts| parts.join(" "));
    prop_oneof![
        3 => leaf,
        1 => inner().prop_map(|inner| format!("branches(first: 3) {{ {inner} }}")),
        1 => inner().prop_map(|inner| format!("... on Branch {{ {inner} }}")),
        1 => inner().prop_map(|inner| format!("... on Numbered {{ ... on Branch {{ {inner} }} }}")),
        1 => inner().prop_map(|inner| format!("numbered(leaf: false) {{ number ... on Branch {{ {inner} }} }}")),
        1 => Just("...f".to_owned()),
    ]
    .boxed()
}

proptest! {

    #[test]
    fn random_documents_are_answered_the_same(parts in prop::collection::vec(selection(3), 1..6)) {
        let query = format!("{{ branch {{ {} ...f }} }} fragment f on Branch {{ leaf {{ number text }} number }}", parts.join(" "));
        prop_assume!(prepared(&guard(), &query, value!({})).is_some());
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let (theirs, ours) = runtime.block_on(both_responses(&query, value!({})));
        prop_assert_eq!(defined(&theirs), defined(&ours));
    }
}
