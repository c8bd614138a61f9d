//! Every path that a file names, out of its tokens, so that macros are seen too.

use std::collections::HashMap;
use std::iter::Peekable;

use proc_macro2::token_stream::IntoIter;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A path as the compiler would understand it: ours begin with `crate`, others with the library's name.
pub struct NamedPath {
    pub line: usize,
    pub segments: Vec<String>,
    /// Of a `pub use`: the name under which others find it here.
    pub exported_as: Option<String>,
}

impl NamedPath {
    /// Whether the path lies at or below this one, written `crate::store::sql`.
    pub fn is_within(&self, outer: &str) -> bool {
        let mut own = self.segments.iter();
        outer.split("::").all(|segment| own.next().is_some_and(|mine| mine == segment))
    }
}

/// Reads the paths of the file that lies at `path`.
pub fn read(path: &str, tokens: TokenStream) -> Vec<NamedPath> {
    let mut reader = Reader { module: module_of(path), ..Reader::default() };
    reader.read(tokens);
    let Reader { imports, found, .. } = reader;
    let follow = |named: NamedPath| match imports.get(&named.segments[0]) {
        Some(target) => NamedPath { segments: target.iter().chain(&named.segments[1..]).cloned().collect(), ..named },
        None => named,
    };
    found.into_iter().map(follow).collect()
}

/// `src/store/sql/mod.rs` is `crate::store::sql`; `src/app.rs` is `crate::app`; `src/lib.rs` is `crate`. The same for
/// the sources of `graphql-transport`, whose crate is another one.
pub fn module_of(path: &str) -> Vec<String> {
    let inside = path.split_once("src/").map_or(path, |(_, inside)| inside).trim_end_matches(".rs");
    let steps = inside.split('/').filter(|step| !["mod", "lib", "main"].contains(step));
    ["crate"].into_iter().chain(steps).map(str::to_owned).collect()
}

#[derive(Default)]
struct Reader {
    module: Vec<String>,
    imports: HashMap<String, Vec<String>>,
    /// Whether a `use` that follows is a `pub use`.
    is_public: bool,
    found: Vec<NamedPath>,
}

type Tokens = Peekable<IntoIter>;

impl Reader {
    fn read(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(ident) if ident == "pub" => {
                    tokens.next_if(|token| matches!(token, TokenTree::Group(_)));
                    self.is_public = true;
                    continue;
                }
                TokenTree::Ident(ident) if ident == "use" => self.import(Vec::new(), &mut tokens),
                TokenTree::Ident(ident) if ident == "mod" => self.inline_module(&mut tokens),
                TokenTree::Ident(ident) => self.path(&ident, &mut tokens),
                TokenTree::Group(group) => self.read(group.stream()),
                _ => {}
            }
            self.is_public = false;
        }
    }

    fn inline_module(&mut self, tokens: &mut Tokens) {
        let Some(TokenTree::Ident(name)) = tokens.peek().cloned() else { return };
        tokens.next();
        if let Some(TokenTree::Group(body)) = tokens.next_if(|token| matches!(token, TokenTree::Group(_))) {
            self.module.push(name.to_string());
            self.read(body.stream());
            self.module.pop();
        }
    }

    /// A path in an expression or a type: it ends where no `::name` follows.
    fn path(&mut self, first: &proc_macro2::Ident, tokens: &mut Tokens) {
        let mut segments = vec![first.to_string()];
        while let Some(segment) = next_segment(tokens) {
            segments.push(segment);
        }
        self.keep(first.span().start().line, segments);
    }

    /// One tree of a `use`, up to its comma, its semicolon or its end.
    fn import(&mut self, mut prefix: Vec<String>, tokens: &mut Tokens) {
        let mut line = 0;
        let mut renamed = None;
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(ident) if ident == "as" => renamed = tokens.next().map(|name| name.to_string()),
                TokenTree::Ident(ident) => {
                    line = ident.span().start().line;
                    prefix.push(ident.to_string());
                }
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                    let mut branches = group.stream().into_iter().peekable();
                    while branches.peek().is_some() {
                        self.import(prefix.clone(), &mut branches);
                    }
                    prefix.clear();
                }
                TokenTree::Punct(punct) if [',', ';'].contains(&punct.as_char()) => break,
                _ => {}
            }
        }
        self.leaf(line, prefix, renamed);
    }

    fn leaf(&mut self, line: usize, mut segments: Vec<String>, renamed: Option<String>) {
        if segments.len() > 1 && segments.last().is_some_and(|last| last == "self") {
            segments.pop();
        }
        let name = renamed.or_else(|| segments.last().cloned());
        if let (Some(name), Some(target)) = (name, self.keep(line, segments)) {
            if let Some(found) = self.found.last_mut().filter(|_| self.is_public) {
                found.exported_as = Some(name.clone());
            }
            self.imports.insert(name, target);
        }
    }

    fn keep(&mut self, line: usize, segments: Vec<String>) -> Option<Vec<String>> {
        let segments = self.resolve(segments);
        if segments.len() > 1 {
            self.found.push(NamedPath { line, segments: segments.clone(), exported_as: None });
            return Some(segments);
        }
        None
    }

    fn resolve(&self, segments: Vec<String>) -> Vec<String> {
        let supers = segments.iter().take_while(|segment| *segment == "super").count();
        match segments.first().map(String::as_str) {
            Some("super") => {
                let base = self.module.len().saturating_sub(supers).max(1);
                self.module[..base].iter().chain(&segments[supers..]).cloned().collect()
            }
            Some("self") if segments.len() > 1 => self.module.iter().chain(&segments[1..]).cloned().collect(),
            Some("tidefeed") => ["crate".to_owned()].into_iter().chain(segments.into_iter().skip(1)).collect(),
            _ => segments,
        }
    }
}

/// The name after `::`, if one follows.
fn next_segment(tokens: &mut Tokens) -> Option<String> {
    let is_colon = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':');
    let mut ahead = tokens.clone();
    let follows =
        ahead.next().is_some_and(|token| is_colon(&token)) && ahead.next().is_some_and(|token| is_colon(&token));
    match ahead.next() {
        Some(TokenTree::Ident(ident)) if follows => {
            *tokens = ahead;
            Some(ident.to_string())
        }
        _ => None,
    }
}
