//! What may be read on a replica of the SQL store: only what clients are shown.

use super::Rule;
use crate::tidy::tree::{Finding, SourceFile};

/// Each file of the SQL store and its functions that may read on a replica. Nothing that they read decides who may do
/// something, is built upon by a change, or must come before another statement.
const READS: &[(&str, &[&str])] = &[
    ("src/store/sql/accounts/mod.rs", &["profiles", "counts"]),
    ("src/store/sql/cards.rs", &["content_cards", "user_cards"]),
    ("src/store/sql/contents/mod.rs", &["by_ids", "counters"]),
    ("src/store/sql/contents/outbox.rs", &["heads_of_outboxes"]),
    ("src/store/sql/contents/ancestors.rs", &["by_recursion", "step_by_step"]),
    ("src/store/sql/contents/references.rs", &["subjects_of", "reposts_of"]),
    ("src/store/sql/follows/exclusions.rs", &["exclusion_states", "excluded"]),
    ("src/store/sql/follows/mod.rs", &["followed_among"]),
    ("src/store/sql/listing.rs", &["sides"]),
    ("src/store/sql/people/mod.rs", &["named", "users"]),
    ("src/store/sql/reactions.rs", &["of_user"]),
    ("src/store/sql/read_markers.rs", &["marker"]),
    ("src/store/sql/search/mod.rs", &["count", "candidates", "texts"]),
    ("src/store/sql/sql_store.rs", &["read_anywhere", "read_few_anywhere"]),
    ("src/store/sql/timelines/mod.rs", &["definition", "stretch", "reader", "candidates"]),
    ("src/store/sql/timelines/outside.rs", &["candidates_with"]),
    ("src/store/sql/timelines/widening.rs", &["first"]),
];
const METHODS: [&str; 2] = [".read_anywhere(", ".read_few_anywhere("];

pub const READ_THERE: Rule = Rule {
    remedy: "read on the primary (`read`, `read_few`), or list the function in tests/tidy/rules/replicas.rs if it is only \
             for what clients are shown (docs/protocol.md#replicas)",
    check: |tree| tree.files.iter().filter(|file| file.path.starts_with("src/")).flat_map(faults).collect(),
    broken_by: &[
        &[("src/store/sql/sessions.rs", "fn session() { self.read_anywhere(sql, []); }")],
        &[("src/store/sql/cards.rs", "async fn edit(\n) {\n    self.read_few_anywhere(sql, []);\n}")],
    ],
    kept_by: &[
        &[("src/store/sql/cards.rs", "async fn user_cards(\n) {\n    self.read_few_anywhere(sql, []);\n}")],
        &[("src/store/sql/cards.rs", "fn edit() { self.read(sql, []); }")],
    ],
};

fn faults(file: &SourceFile) -> Vec<Finding> {
    let mut function = "";
    let functions = READS.iter().find(|(path, _)| *path == file.path).map_or(&[][..], |(_, functions)| functions);
    let lines = file.text.lines().enumerate().filter_map(|(index, line)| {
        function = declared(line).unwrap_or(function);
        let is_read = METHODS.iter().any(|method| line.contains(method));
        let what = || file.finding(index + 1, format!("`{function}` reads on replicas"));
        (is_read && !functions.contains(&function)).then(what)
    });
    lines.collect()
}

/// The function that the line declares.
fn declared(line: &str) -> Option<&str> {
    let after = line.split_once("fn ")?.1;
    after.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_').next().filter(|name| !name.is_empty())
}
