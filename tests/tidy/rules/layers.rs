//! Which modules may name which: layers, adapters, libraries, and what the domain must not use.

use super::Rule;
use crate::tidy::rust::NamedPath;
use crate::tidy::tree::{Finding, SourceFile, Tree};

/// Each module of `src/` and the modules that it may name; all may name the crate `domain`. `lib.rs` declares them and
/// may name all.
const LAYERS: &[(&str, &[&str])] = &[
    ("clock", &[]),
    ("rng", &[]),
    ("ambient", &["clock", "rng"]),
    ("config", &[]),
    ("lifecycle", &["clock", "rng"]),
    ("telemetry", &["clock", "config"]),
    ("store", BELOW_STORE),
    ("read", BELOW_READ),
    ("publish", BELOW_COMMANDS),
    ("follow", BELOW_COMMANDS),
    ("accounts", BELOW_COMMANDS),
    ("import", BELOW_COMMANDS),
    ("upkeep", BELOW_COMMANDS),
    ("tier", BELOW_READ),
    ("live", BELOW_COMMANDS),
    ("use_cases", BELOW_USE_CASES),
    ("api", BELOW_API),
    ("app", BELOW_APP),
    ("cli", BELOW_CLI),
    ("main", BELOW_CLI),
];
const BELOW_STORE: &[&str] = &["ambient", "clock", "rng", "lifecycle", "telemetry"];
const BELOW_READ: &[&str] = &["ambient", "clock", "rng", "lifecycle", "telemetry", "store"];
const BELOW_COMMANDS: &[&str] = &["ambient", "clock", "rng", "lifecycle", "telemetry", "store", "read"];
#[rustfmt::skip]
const BELOW_USE_CASES: &[&str] = &[
    "ambient", "clock", "rng", "lifecycle", "telemetry", "store", "read", "publish", "follow", "accounts", "import",
    "upkeep",
    "live",
];
#[rustfmt::skip]
const BELOW_API: &[&str] = &[
    "ambient", "clock", "rng", "lifecycle", "telemetry", "store", "read", "publish", "follow", "accounts", "import",
    "upkeep",
    "live", "use_cases",
];
#[rustfmt::skip]
const BELOW_APP: &[&str] = &[
    "ambient", "clock", "rng", "lifecycle", "telemetry", "store", "read", "publish", "follow", "accounts", "import",
    "upkeep",
    "tier", "live", "use_cases", "api", "config",
];
#[rustfmt::skip]
const BELOW_CLI: &[&str] = &[
    "ambient", "clock", "rng", "lifecycle", "telemetry", "store", "read", "publish", "follow", "accounts", "import",
    "upkeep",
    "tier", "live", "use_cases", "api", "config", "app", "cli",
];

const ADAPTER_MODULES: &[&str] =
    &["crate::store::sql", "crate::store::redis", "crate::store::memory", "crate::store::cassandra"];
const MAY_NAME_ADAPTERS: &[&str] = &["store", "app", "lib"];

/// Each library and the only folders that may name it.
const OWNERS: &[(&str, &[&str])] = &[
    ("sql_driver", &["src/store/sql", "src/telemetry/metrics.rs"]), // the names of its own metrics
    ("migration", &["src/store/sql/schema", "src/store/sql/people/names.rs"]),
    ("redis", &["src/store/redis"]),
    ("scylla", &["src/store/cassandra"]),
    ("graphql_transport", &["src/api", "src/app"]),
    ("async_graphql", &["src/api", "graphql-transport/src"]),
    ("async_graphql_axum", &["graphql-transport/tests"]),
    ("apollo_compiler", &["graphql-transport/src/guard"]),
    ("axum", &["src/api", "src/app", "crates/demo/src/pictures", "graphql-transport/src"]),
    ("hyper", &["graphql-transport/src/http/connections"]),
    ("tungstenite", &["graphql-transport/src/http/ws"]),
    ("tower_http", &["src/api", "src/app", "graphql-transport/src/http"]),
    ("boon", &["crates/content-schemas/src"]),
    ("demo", &["src/app/api.rs", "src/cli/seed", "src/store/seeding.rs"]),
    ("std::env", &["src/config"]),
    ("clap", &["src/cli", "src/main.rs"]),
    ("figment", &["src/config"]),
    ("anyhow", &["src/cli", "src/main.rs"]),
];

pub const ONE_WAY: Rule = Rule {
    remedy: "name only what lies below (store <- read <- publish, follow, accounts, upkeep, tier, live <- use_cases <- api <- app <- cli); move what both \
             need down, or hand it in as a parameter. A new module takes its place in LAYERS of tests/tidy/rules/layers.rs",
    check: |tree| each_path(tree, misplaced_module).chain(unknown_modules(tree)).collect(),
    broken_by: &[
        &[("src/read/mod.rs", "use crate::{domain::Page, publish::{self, Dispatcher}};")],
        &[("src/live/feed.rs", "use crate::publish::Publisher;")],
        &[("src/accounts/mod.rs", "use crate::api::graphql::Services;")],
        &[("src/store/mod.rs", "fn f() { super::api::serve(); }")],
        &[("src/read/plan.rs", "fn f() { println!(\"{}\", crate::api::NAME); }")],
        &[("src/api/mod.rs", "use crate::app::App;")],
        &[("src/misc/mod.rs", "//! A new module that nobody placed.")],
    ],
    kept_by: &[
        &[("src/read/mod.rs", "use crate::domain::Page; use super::store::Contents; use self::plan::Plan;")],
        &[("src/live/feed.rs", "use crate::read::TimelineReader;")],
        &[("src/cli/serve.rs", "use crate::app::App; use crate::config::Config;")],
        &[("src/lib.rs", "pub mod cli; pub use cli::run;")],
    ],
};

pub const ADAPTERS: Rule = Rule {
    remedy: "take the port (`Arc<dyn ...>` from `store`) as a parameter; only src/app chooses which adapter stands behind it",
    check: |tree| each_path(tree, foreign_adapter).collect(),
    broken_by: &[
        &[("src/read/mod.rs", "use crate::store::sql::Contents;")],
        &[("src/publish/mod.rs", "use crate::store; fn f() { store::redis::open(); }")],
        &[("src/cli/seed.rs", "use crate::store::{memory as m, Contents};")],
    ],
    kept_by: &[
        &[("src/app/mod.rs", "use crate::store::sql;")],
        &[(
            "src/read/mod.rs",
            "use crate::store::Contents; #[cfg(test)] mod tests { use crate::store::memory::Contents; }",
        )],
        &[("src/store/sql/mod.rs", "use crate::store::sql::rows::Row;")],
    ],
};

pub const LIBRARIES: Rule = Rule {
    remedy: "keep the library behind the module that owns it (OWNERS in tests/tidy/rules/layers.rs): give that module the method you \
             need; inside src/store write `self::redis`, not `redis`, for our own module",
    check: |tree| each_path(tree, misplaced_library).collect(),
    broken_by: &[
        &[("src/read/mod.rs", "use sql_driver::Database;")],
        &[("src/store/sql/mod.rs", "fn f() { redis::cmd(\"GET\"); }")],
        &[("src/publish/mod.rs", "use async_graphql::Object;")],
        &[("src/live/mod.rs", "use axum::extract::State;")],
        &[("src/cli/mod.rs", "fn f() { let _ = std::env::var(\"HOME\"); }")],
        &[("src/api/mod.rs", "use std::env; fn f() { env::var(\"HOME\").ok(); }")],
        &[("src/read/mod.rs", "fn f() -> anyhow::Result<()> { Ok(()) }")],
        &[("src/config/mod.rs", "use graphql_transport::guard::GuardLimits;")],
        &[("src/read/mod.rs", "use demo::World;")],
        &[("graphql-transport/src/http/mod.rs", "use apollo_compiler::Schema;")],
    ],
    kept_by: &[
        &[("src/store/sql/mod.rs", "use sql_driver::Row;"), ("src/store/redis/mod.rs", "use redis::cmd;")],
        &[("src/store/mod.rs", "pub use self::redis::Outboxes;")],
        &[("src/config/mod.rs", "use std::env;"), ("src/app.rs", "use axum::Router;")],
        &[("tests/it/main.rs", "use migration::all;"), ("migration/src/lib.rs", "use sql_driver::Value;")],
    ],
};

pub const PURE_DOMAIN: Rule = Rule {
    remedy: "the domain decides and never waits: take times and random numbers as parameters, leave I/O to the caller",
    check: |tree| {
        tree.rust().filter(|(file, _)| file.path.starts_with("crates/domain/src")).flat_map(impurities).collect()
    },
    broken_by: &[
        &[("crates/domain/src/merge.rs", "pub async fn merge() {}")],
        &[("crates/domain/src/merge.rs", "fn f(now: std::time::SystemTime) {}")],
        &[("crates/domain/src/merge.rs", "use std::fs::File;")],
    ],
    kept_by: &[
        &[("crates/domain/src/merge.rs", "use std::time::Duration; pub fn merge(now_ms: i64) {}")],
        &[("crates/domain/src/merge.rs", "#[cfg(test)] mod tests { async fn f() {} }")],
        &[("src/read/mod.rs", "pub async fn read() {}")],
    ],
};

const IMPURE: &[&str] =
    &["std::time::SystemTime", "std::time::Instant", "std::fs", "std::net", "std::env", "std::thread", "std::process"];

/// Applies a judgement to every path in product code, with the module that its file belongs to.
fn each_path(tree: &Tree, judge: fn(&SourceFile, &NamedPath) -> Option<String>) -> impl Iterator<Item = Finding> {
    let product = tree.rust().filter(|(file, _)| !file.path.starts_with("migration/") && file.is_product());
    product.flat_map(move |(file, rust)| {
        let paths = rust.paths.iter().filter(|path| !rust.is_test_code(path.line));
        paths.filter_map(move |path| judge(file, path).map(|what| file.finding(path.line, what)))
    })
}

/// The module of `src/` that a file belongs to.
fn layer_of(file: &SourceFile) -> &str {
    let inside = file.path.trim_start_matches("src/");
    inside.split('/').next().unwrap_or(inside).trim_end_matches(".rs")
}

fn allowed(layer: &str) -> Option<&'static [&'static str]> {
    LAYERS.iter().find(|(name, _)| *name == layer).map(|(_, below)| *below)
}

fn misplaced_module(file: &SourceFile, path: &NamedPath) -> Option<String> {
    let from = Some(layer_of(file)).filter(|_| file.path.starts_with("src/"))?;
    let to = path.segments.get(1).filter(|_| path.segments[0] == "crate")?;
    let known = allowed(to).is_some() && to != from;
    let permitted = allowed(from).is_none_or(|below| below.contains(&to.as_str()));
    (known && !permitted).then(|| format!("`{from}` names `{}`", path.segments.join("::")))
}

fn unknown_modules(tree: &Tree) -> impl Iterator<Item = Finding> {
    let product = tree.files.iter().filter(|file| file.rust.is_some() && file.path.starts_with("src/"));
    let unplaced = product.filter(|file| layer_of(file) != "lib" && allowed(layer_of(file)).is_none());
    unplaced.map(|file| file.finding(1, format!("the module `{}` has no place among the layers", layer_of(file))))
}

fn foreign_adapter(file: &SourceFile, path: &NamedPath) -> Option<String> {
    let adapter = ADAPTER_MODULES.iter().find(|adapter| path.is_within(adapter))?;
    (!MAY_NAME_ADAPTERS.contains(&layer_of(file)))
        .then(|| format!("`{}` names the adapter `{adapter}`", layer_of(file)))
}

fn misplaced_library(file: &SourceFile, path: &NamedPath) -> Option<String> {
    let (library, owners) = OWNERS.iter().find(|(library, _)| path.is_within(library))?;
    let at_home = owners.iter().any(|owner| file.path.starts_with(owner));
    (!at_home).then(|| format!("`{library}` belongs to {} alone", owners.join(" and ")))
}

fn impurities((file, rust): (&SourceFile, &crate::tidy::rust::Rust)) -> Vec<Finding> {
    let asyncs = rust.async_lines.iter().map(|line| (*line, "`async`".to_owned()));
    let named = rust.paths.iter().filter(|path| IMPURE.iter().any(|outer| path.is_within(outer)));
    let named = named.map(|path| (path.line, format!("`{}`", path.segments.join("::"))));
    let product = asyncs.chain(named).filter(|(line, _)| !rust.is_test_code(*line));
    product.map(|(line, what)| file.finding(line, format!("{what} in the domain"))).collect()
}
