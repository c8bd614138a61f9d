//! One engine makes pages, values keep their types, and errors are told apart by what they are.

use super::Rule;
use crate::tidy::tree::{Finding, Tree};

/// What decides whether a page is exact.
const DECIDES: &[&str] = &["crate::domain::timeline::route", "crate::domain::timeline::merge::exact_page"];
/// Who may ask it.
const ENGINE: &[&str] = &["crates/domain/src/", "src/read/"];

pub const ONE_ENGINE: Rule = Rule {
    remedy: "read the page through `read` (TimelineReader, lists::ListReader): whether sources suffice is decided there alone",
    check: |tree| {
        let outside = tree.rust().filter(|(file, _)| {
            file.path.starts_with("src/") && !ENGINE.iter().any(|folder| file.path.starts_with(folder))
        });
        let decisions = outside.flat_map(|(file, rust)| {
            let named = rust.paths.iter().filter(|path| DECIDES.iter().any(|decides| path.is_within(decides)));
            let product = named.filter(|path| !rust.is_test_code(path.line));
            product.map(|path| file.finding(path.line, format!("`{}`", path.segments.join("::"))))
        });
        decisions.collect()
    },
    broken_by: &[
        &[("src/live/feed.rs", "use crate::domain::timeline::route::{Progress, Step};")],
        &[("src/api/graphql/pages.rs", "fn f() { crate::domain::timeline::merge::exact_page(&r, &[], &[]); }")],
    ],
    kept_by: &[
        &[("src/read/mod.rs", "use crate::domain::timeline::{merge::exact_page, route::Step};")],
        &[("src/store/timelines.rs", "use crate::domain::timeline::merge::Snapshot;")],
    ],
};

pub const NO_ANY: Rule = Rule {
    remedy: "say which type it is, with a type parameter if need be; `Any` hides it from the compiler",
    check: |tree| product_paths(tree, |path| path.is_within("std::any")),
    broken_by: &[
        &[("src/live/fresh.rs", "use std::{any::Any, sync::Arc};")],
        &[("src/live/fresh.rs", "fn f(it: Box<dyn std::any::Any>) {}")],
    ],
    kept_by: &[&[("src/a.rs", "use std::sync::Arc; fn any() -> bool { true }")]],
};

/// Functions that read words because nothing else tells, each with its reason.
const NO_OTHER_SIGN: &[(&str, &str, &str)] = &[
    (
        "graphql-transport/src/http/mask.rs",
        "is_refused_argument",
        "validators and stock scalars of async-graphql give their errors neither kind nor source; `plain.rs` pins the words",
    ),
    (
        "crates/store-error/src/causes.rs",
        "with_causes",
        "leaves out of a log line what it says already, and decides nothing",
    ),
];

pub const NO_WORDING: Rule = Rule {
    remedy: "match on the error's kind or code: its words may change with any version of a library",
    check: |tree| {
        let product = tree.rust().filter(|(file, _)| file.is_product());
        let found = product.flat_map(|(file, rust)| {
            let excepted =
                |function: &str| NO_OTHER_SIGN.iter().any(|it| (it.0, it.1) == (file.path.as_str(), function));
            let wordings =
                rust.wordings.iter().filter(move |it| !rust.is_test_code(it.line) && !excepted(&it.function));
            wordings.map(|it| file.finding(it.line, it.what.as_str()))
        });
        found.collect()
    },
    broken_by: &[
        &[("src/a.rs", "fn f(e: E) -> bool { e.to_string().contains(\"no such key\") }")],
        &[("src/a.rs", "fn f(message: &str) -> bool { message.contains(\"does not have\") }")],
        &[("src/a.rs", "fn f(e: E) -> bool { e.to_string() == \"gone\" }")],
        &[("src/a.rs", "fn f(e: E) -> bool { let text = e.to_string(); text.starts_with(WORDS) }")],
        &[("src/a.rs", "fn f(e: E) -> bool { GONE.iter().any(|words| e.message.to_lowercase().ends_with(words)) }")],
        &[("src/a.rs", "fn f(error: E) -> u8 { match format!(\"{error}\").as_str() { \"gone\" => 1, _ => 2 } }")],
        &[("graphql-transport/src/http/mask.rs", "fn other(e: E) -> bool { e.message.starts_with(\"a\") }")],
    ],
    kept_by: &[
        &[("src/a.rs", "fn f(e: E) -> bool { e.code() == Some(\"NOGROUP\") }")],
        &[("src/a.rs", "fn f(e: E, text: &str) -> bool { let code = e.code(); text.contains(code) }")],
        &[("src/a.rs", "#[cfg(test)] mod tests { fn f(e: E) { assert!(e.to_string().contains(\"x\")); } }")],
        &[(
            "graphql-transport/src/http/mask.rs",
            "fn is_refused_argument(e: E) -> bool { e.message.starts_with(\"a\") }",
        )],
    ],
};

fn product_paths(tree: &Tree, is_refused: fn(&crate::tidy::rust::NamedPath) -> bool) -> Vec<Finding> {
    let product = tree.rust().filter(|(file, _)| file.path.starts_with("src/") && file.is_product());
    let found = product.flat_map(|(file, rust)| {
        let named = rust.paths.iter().filter(move |path| is_refused(path) && !rust.is_test_code(path.line));
        named.map(|path| file.finding(path.line, format!("`{}`", path.segments.join("::"))))
    });
    found.collect()
}
