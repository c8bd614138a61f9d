//! What holds for `graphql-transport` alone: no file imports itself through others, and nothing is of the product.

use super::{
    Rule,
    imports::{ReExports, cycles},
};

const SOURCES: &str = "graphql-transport/src/";

pub const CYCLES: Rule = Rule {
    remedy: "move what both files need into a third one, name it by the file that has it and not by a re-export, or hand it in as a \
             parameter",
    check: |tree| cycles(tree, SOURCES, ReExports::AreImports),
    broken_by: &[
        &[
            ("graphql-transport/src/a.rs", "use crate::b::B;"),
            ("graphql-transport/src/b.rs", "use super::a::A;"),
            ("graphql-transport/src/lib.rs", "mod a; mod b;"),
        ],
        &[
            ("graphql-transport/src/a/mod.rs", "mod b; pub use self::b::B; pub struct A;"),
            ("graphql-transport/src/a/b.rs", "use super::A; pub struct B;"),
        ],
        &[
            ("graphql-transport/src/a.rs", "fn f() { crate::b::f(); }"),
            ("graphql-transport/src/b.rs", "use crate::c::C;"),
            ("graphql-transport/src/c.rs", "use crate::{a::A, d::D};"),
            ("graphql-transport/src/d.rs", "//! D."),
        ],
    ],
    kept_by: &[
        &[
            ("graphql-transport/src/a.rs", "use crate::{b::B, c::C};"),
            ("graphql-transport/src/b.rs", "use crate::c::C; #[cfg(test)] mod tests { use crate::a::A; }"),
            ("graphql-transport/src/c.rs", "//! C."),
        ],
        &[
            ("graphql-transport/src/a/mod.rs", "mod b; pub use self::b::B;"),
            ("graphql-transport/src/a/b.rs", "use crate::c::C; pub(super) struct B;"),
            ("graphql-transport/src/c.rs", "//! C."),
        ],
    ],
};

pub const PRODUCT: Rule = Rule {
    remedy: "say it in the words of GraphQL and HTTP; what only this product has comes in as a parameter",
    check: |tree| {
        let own = tree.files.iter().filter(|file| file.path.starts_with("graphql-transport/"));
        own.flat_map(|file| file.lines_where(word_of_the_product)).collect()
    },
    broken_by: &[
        &[("graphql-transport/README.md", "The Timeline is read.")],
        &[("graphql-transport/src/a.rs", "const NAME: &str = \"tidefeed_sockets\";")],
        &[("graphql-transport/tests/a.rs", "// As newFeed does.")],
    ],
    kept_by: &[&[("graphql-transport/src/a.rs", "//! Sockets."), ("src/api/mod.rs", "//! The timeline of Tidefeed.")]],
};

const WORDS: [&str; 7] = ["tidefeed", "timeline", "inbox", "outbox", "newfeed", "follower", "crate::config"];

fn word_of_the_product(line: &str) -> Option<String> {
    let line = line.to_lowercase();
    WORDS.iter().find(|word| line.contains(*word)).map(|word| format!("`{word}`"))
}
