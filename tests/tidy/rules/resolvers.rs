//! What resolvers may call: use cases, and of ports only what reads. Lists are read through `read::lists`.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::Rule;
use crate::tidy::rust::Rust;
use crate::tidy::tree::{Finding, SourceFile, Tree};

/// The ports among the fields of `Services`, and the methods of each that read.
const READS: &[(&str, &[&str])] = &[
    ("accounts", &["by_handle", "counts", "profiles"]),
    ("cards", &["content_cards", "user_cards"]),
    ("contents", &["by_ids", "counters", "reposted_among"]),
    ("exclusions", &["exclusion_states"]),
    ("follows", &["followed_among"]),
    ("profiles", &["attributes"]),
    ("reactions", &["of_user"]),
];
const SERVICES: &str = "src/api/graphql/services.rs";

pub const WRITES: Rule = Rule {
    remedy: "write through a use case (publish, follow, accounts, read); a port method that only reads joins READS in \
             tests/tidy/rules/resolvers.rs, and is called at once: `services.port.method(..)`",
    check: |tree| {
        let resolvers = tree.rust().filter(|(file, _)| file.path.starts_with("src/api/") && file.is_product());
        resolvers.flat_map(|(file, rust)| writes(file, rust)).chain(unlisted(tree)).collect()
    },
    broken_by: &[
        &[("src/api/graphql/mutation/a.rs", "fn f(h: H) { h.services().reactions.take_back(1); }")],
        &[(
            "src/api/graphql/query.rs",
            "fn f(h: H) { let services = h.shared_services(); services.contents.remove(1); }",
        )],
        &[("src/api/graphql/query.rs", "fn f(h: H) { let contents = &h.services().contents; contents.remove(1); }")],
        &[("src/api/graphql/query.rs", "fn f(h: H) { m!(remove(h.services().contents.clone())); }")],
        &[("src/api/graphql/query.rs", "fn f(h: H) { h.services().contents.outbox(1); }")],
        &[("src/api/graphql/query.rs", "fn f(s: &Services) { let Services { contents, .. } = s; }")],
        &[(SERVICES, "pub struct Services { pub queue: Arc<dyn Queue>, }")],
    ],
    kept_by: &[
        &[(
            "src/api/graphql/query.rs",
            "fn f(h: H) { h.services().contents.by_ids(1); h.services().publisher.remove(1); }",
        )],
        &[("src/api/graphql/query.rs", "impl H { fn services(&self) -> &Services { self.services.as_ref() } }")],
        &[("src/api/graphql/query.rs", "#[cfg(test)] mod tests { fn f(h: H) { h.services().contents.remove(1); } }")],
        &[(SERVICES, "pub struct Services { pub contents: Arc<dyn Contents>, pub live: Arc<LiveFeed>, }")],
        &[("src/publish/a.rs", "fn f(services: S) { services.contents.remove(1); }")],
    ],
};

/// Words and signs of a file in their order; brackets are signs.
fn flat(stream: TokenStream, tokens: &mut Vec<(usize, String)>) {
    for token in stream {
        let line = token.span().start().line;
        let TokenTree::Group(group) = token else {
            tokens.push((line, token.to_string()));
            continue;
        };
        let (open, close) = match group.delimiter() {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Brace => ("{", "}"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::None => ("", ""),
        };
        tokens.push((line, open.to_owned()));
        flat(group.stream(), tokens);
        tokens.push((group.span_close().start().line, close.to_owned()));
    }
}

fn writes(file: &SourceFile, rust: &Rust) -> Vec<Finding> {
    let mut tokens = Vec::new();
    flat(file.text.parse().unwrap_or_default(), &mut tokens);
    let words: Vec<&str> = tokens.iter().map(|(_, word)| word.as_str()).collect();
    let found = (0..words.len()).filter_map(|at| Some((tokens[at].0, fault(&words[at..])?)));
    let found = found.filter(|(line, _)| !rust.is_test_code(*line));
    found.map(|(line, what)| file.finding(line, what)).collect()
}

/// What is wrong with what begins here.
fn fault(words: &[&str]) -> Option<String> {
    if let ["Services", "{", field, "," | ":" | "}", ..] = words {
        return Some(format!("`{field}` is taken out of the services"));
    }
    let after = match words {
        [services, "(", ")", after @ ..] if services.ends_with("services") => after,
        [services, after @ ..] if services.ends_with("services") => after,
        _ => return None,
    };
    let [".", field, after @ ..] = after else { return None };
    let (port, reads) = READS.iter().find(|(port, _)| port == field)?;
    match after {
        [".", method, "(", ..] if reads.contains(method) => None,
        [".", method, "(", ..] => Some(format!("`{port}.{method}` is not listed as reading")),
        _ => Some(format!("the port `{port}` is passed on")),
    }
}

/// Ports that resolvers could call without a row in [`READS`].
fn unlisted(tree: &Tree) -> Vec<Finding> {
    let services = tree.files.iter().filter(|file| file.path == SERVICES);
    let port_without_row = |line: &str| {
        let fields = line.split("pub ").filter_map(|field| field.split_once(": Arc<dyn "));
        let unlisted = fields.map(|(name, _)| name).find(|name| READS.iter().all(|(port, _)| port != name))?;
        Some(format!("the port `{unlisted}` has no row in READS"))
    };
    services.flat_map(|file| file.lines_where(port_without_row)).collect()
}
