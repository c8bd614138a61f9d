//! What resolvers may call: use cases, and of ports only what reads. Lists are read through `read::lists`.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::Rule;
use crate::tidy::rust::Rust;
use crate::tidy::tree::{Finding, SourceFile};

/// The ports that resolvers may read, and the methods of each that read.
const READS: &[(&str, &[&str])] = &[
    ("accounts", &["attributes", "by_handle", "counts", "memberships", "profiles"]),
    ("contents", &["by_ids", "content_cards", "counters", "of_user", "reposted_among", "user_cards"]),
    ("exclusions", &["exclusion_states"]),
    ("follows", &["followed_among"]),
];

pub const WRITES: Rule = Rule {
    remedy: "write through a use case (publish, follow, accounts, read); a port method that only reads joins READS in \
             tests/tidy/rules/resolvers.rs, and is called at once: `services.ports.port.method(..)`",
    check: |tree| {
        let resolvers = tree.rust().filter(|(file, _)| file.path.starts_with("src/api/") && file.is_product());
        resolvers.flat_map(|(file, rust)| writes(file, rust)).collect()
    },
    broken_by: &[
        &[("src/api/graphql/mutation/a.rs", "fn f(h: H) { h.services().ports.contents.take_back(1); }")],
        &[("src/api/graphql/query.rs", "fn f(h: H) { let s = h.services(); s.ports.contents.remove(1); }")],
        &[(
            "src/api/graphql/query.rs",
            "fn f(h: H) { let contents = &h.services().ports.contents; contents.remove(1); }",
        )],
        &[("src/api/graphql/query.rs", "fn f(h: H) { m!(remove(h.services().ports.contents.clone())); }")],
        &[("src/api/graphql/query.rs", "fn f(h: H) { h.services().ports.contents.outbox(1); }")],
        &[("src/api/graphql/query.rs", "fn f(h: H) { h.services().ports.queue.send(1); }")],
        &[("src/api/graphql/query.rs", "fn f(s: &Services) { let Services { ports, .. } = s; }")],
        &[("src/api/graphql/query.rs", "fn f(s: &Services) { let all = &s.ports; all.contents.remove(1); }")],
    ],
    kept_by: &[
        &[(
            "src/api/graphql/query.rs",
            "fn f(h: H) { h.services().ports.contents.by_ids(1); h.use_cases().publisher.remove(1); }",
        )],
        &[("src/api/graphql/query.rs", "impl H { fn services(&self) -> &Services { self.services.as_ref() } }")],
        &[(
            "src/api/graphql/query.rs",
            "#[cfg(test)] mod tests { fn f(h: H) { h.services().ports.contents.remove(1); } }",
        )],
        &[("src/api/graphql/services.rs", "pub struct Services { pub ports: Ports, pub live: Arc<LiveFeed>, }")],
        &[("src/publish/a.rs", "fn f(ports: Ports) { ports.contents.remove(1); }")],
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
    let ["ports", after @ ..] = words else { return None };
    match after {
        // Where the ports are declared.
        [":", ..] => None,
        [".", port, ".", method, "(", ..] => {
            let reads = READS.iter().any(|(name, reads)| name == port && reads.contains(method));
            (!reads).then(|| format!("`{port}.{method}` is not listed as reading"))
        }
        [".", port, ..] => Some(format!("the port `{port}` is passed on")),
        _ => Some("the ports are passed on".to_owned()),
    }
}
