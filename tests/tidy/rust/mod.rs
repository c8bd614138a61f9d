//! What the rules want to know of a Rust file, as plain values: its paths, functions, names and test code.

mod items;
mod paths;
mod wording;

pub use self::items::{Function, Name};
pub use self::paths::{NamedPath, module_of};
pub use self::wording::Wording;

use std::ops::RangeInclusive;

use proc_macro2::{TokenStream, TokenTree};

/// A parsed Rust file.
#[derive(Default)]
pub struct Rust {
    /// Every path of two segments or more, in code and inside macros, with imports and `super` followed.
    pub paths: Vec<NamedPath>,
    pub functions: Vec<Function>,
    /// Modules and types that the file defines.
    pub names: Vec<Name>,
    /// Parameters, bindings, fields, variants and constants.
    pub locals: Vec<Name>,
    /// Comparisons with the words of a message.
    pub wordings: Vec<Wording>,
    /// Lines with the keyword `async`.
    pub async_lines: Vec<usize>,
    /// Lines that are neither blank nor comment nor test code.
    pub code_lines: Vec<usize>,
    /// The texts of `#[error("..")]`, and where they stand.
    pub error_texts: Vec<(usize, String)>,
    /// Literals: the lines, and the columns of the first and the last line.
    literals: Vec<(RangeInclusive<usize>, usize, usize)>,
    test_code: Vec<RangeInclusive<usize>>,
    /// Why the file could not be parsed.
    pub broken: Option<String>,
}

impl Rust {
    /// Reads a file. One that does not parse yields nothing but the reason.
    pub fn read(path: &str, text: &str) -> Self {
        let parsed = text.parse::<TokenStream>().map_err(syn::Error::from);
        let parsed = parsed.and_then(|tokens| Ok((syn::parse2::<syn::File>(tokens.clone())?, tokens)));
        let (file, tokens) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => return Self { broken: Some(error.to_string()), ..Self::default() },
        };
        let items = items::read(&file, text);
        let mut rust = Self {
            functions: items.functions,
            names: items.names,
            locals: items.locals,
            test_code: items.test_code,
            ..Self::default()
        };
        rust.paths = paths::read(path, tokens.clone());
        rust.wordings = wording::read(&file);
        rust.error_texts = items.error_texts;
        find_literals(tokens.clone(), &mut rust.literals);
        find_async(tokens, &mut rust.async_lines);
        rust.code_lines = items::code_lines(text).filter(|line| !rust.is_test_code(*line)).collect();
        rust
    }

    /// How many columns of a line belong to literals.
    pub fn literal_columns(&self, line: usize) -> usize {
        let on_line = self.literals.iter().filter(|(lines, ..)| lines.contains(&line));
        let columns = on_line.map(|(lines, from, to)| {
            let begins = if *lines.start() == line { *from } else { 0 };
            let ends = if *lines.end() == line { *to } else { usize::MAX / 4 };
            ends - begins
        });
        columns.sum()
    }

    /// Whether the line stands under `#[cfg(test)]`.
    pub fn is_test_code(&self, line: usize) -> bool {
        self.test_code.iter().any(|range| range.contains(&line))
    }
}

fn find_async(tokens: TokenStream, lines: &mut Vec<usize>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) if ident == "async" => lines.push(ident.span().start().line),
            TokenTree::Group(group) => find_async(group.stream(), lines),
            _ => {}
        }
    }
}

fn find_literals(tokens: TokenStream, literals: &mut Vec<(RangeInclusive<usize>, usize, usize)>) {
    for token in tokens {
        match token {
            TokenTree::Literal(literal) => {
                let (start, end) = (literal.span().start(), literal.span().end());
                literals.push((start.line..=end.line, start.column, end.column));
            }
            TokenTree::Group(group) => find_literals(group.stream(), literals),
            _ => {}
        }
    }
}
