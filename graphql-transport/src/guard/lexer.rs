//! Counts tokens and open brackets in one pass over a query's bytes.
//!
//! The parser recurses on values without a bound. What this scan lets through cannot exhaust its stack. It knows no
//! grammar: the parser reports what the scan does not recognise.

use std::ops::Range;

use async_graphql::Pos;

use super::{limits::GuardLimits, refusal::Refusal};

/// Refuses `query` for too many tokens, too many open brackets, an overlong name or an unterminated string.
///
/// Takes time linear in the query and no memory. Where it and the parser could disagree about the end of a string, it
/// refuses.
pub fn scan(query: &str, limits: &GuardLimits) -> Result<(), Refusal> {
    let mut scanner = Scanner { bytes: query.as_bytes(), at: 0 };
    let (mut tokens, mut open) = (0_usize, 0_usize);
    while let Some(start) = scanner.skip_ignored() {
        let byte = scanner.token().map_err(|()| Refusal::UnterminatedString { at: position(query, start) })?;
        tokens += 1;
        if tokens > limits.tokens {
            return Err(Refusal::TooManyTokens { limit: limits.tokens, at: position(query, start) });
        }
        let length = scanner.at - start;
        if length > limits.name_bytes && (is_word(byte) || byte == b'-') {
            let (found, limit, at) = (length, limits.name_bytes, position(query, start));
            return Err(Refusal::NameTooLong { found, limit, at });
        }
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > limits.nesting {
            return Err(Refusal::NestedTooDeeply { found: open, limit: limits.nesting, at: position(query, start) });
        }
    }
    Ok(())
}

/// The tokens of a query that [`scan`] has let through, each as a range of its bytes.
pub fn tokens(query: &str) -> impl Iterator<Item = Range<usize>> {
    let mut scanner = Scanner { bytes: query.as_bytes(), at: 0 };
    std::iter::from_fn(move || {
        let start = scanner.skip_ignored()?;
        scanner.token().ok()?;
        Some(start..scanner.at)
    })
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn looking_at(&self, text: &[u8]) -> bool {
        self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(text))
    }

    /// Moves to the next token and returns its start; `None` at the end.
    fn skip_ignored(&mut self) -> Option<usize> {
        loop {
            match self.peek()? {
                b' ' | b'\t' | b'\n' | b'\r' | b',' => self.at += 1,
                b'#' => self.skip_while(|byte| byte != b'\n' && byte != b'\r'),
                _ if self.looking_at("\u{feff}".as_bytes()) => self.at += '\u{feff}'.len_utf8(),
                _ => return Some(self.at),
            }
        }
    }

    fn skip_while(&mut self, keep: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&keep) {
            self.at += 1;
        }
    }

    /// Skips one token and returns its first byte; `Err` for an unterminated string.
    fn token(&mut self) -> Result<u8, ()> {
        let first = self.peek().unwrap_or_default();
        match first {
            b'"' if self.looking_at(br#"""""#) => self.block_string()?,
            b'"' => self.string()?,
            b'.' if self.looking_at(b"...") => self.at += 3,
            b'A'..=b'Z' | b'a'..=b'z' | b'_' => self.skip_while(is_word),
            b'0'..=b'9' | b'-' => {
                self.at += 1;
                while self.peek().is_some_and(|byte| is_word(byte) || byte == b'.') && !self.looking_at(b"...") {
                    self.at += 1;
                }
            }
            _ => self.at += 1,
        }
        Ok(first)
    }

    fn string(&mut self) -> Result<(), ()> {
        self.at += 1;
        loop {
            match self.peek().ok_or(())? {
                b'"' => break,
                b'\n' | b'\r' => return Err(()),
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Ok(())
    }

    fn block_string(&mut self) -> Result<(), ()> {
        self.at += 3;
        while !self.looking_at(br#"""""#) {
            self.peek().ok_or(())?;
            self.at += if self.looking_at(br#"\""""#) { 4 } else { 1 };
        }
        self.at += 3;
        Ok(())
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Line and column, both from 1, of a byte offset; columns count characters as the parser's do.
fn position(query: &str, offset: usize) -> Pos {
    let before = query.get(..offset).unwrap_or(query);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Pos {
        line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
        column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(tokens: usize, nesting: usize) -> GuardLimits {
        GuardLimits { nesting, tokens, ..GuardLimits::default() }
    }

    fn tokens(query: &str) -> usize {
        (0..200).find(|limit| scan(query, &limits(*limit, 99)).is_ok()).unwrap_or(usize::MAX)
    }

    #[test]
    fn tokens_are_counted_as_the_language_defines_them() {
        for (query, expected) in [
            ("", 0),
            (" ,\t\u{feff}# only a comment { [ (\n", 0),
            ("{ a }", 3),
            ("query($x: [Int!]! = [1, -2.5e3]) { f(x: $x) @skip(if: true) ...F }", 34),
            (r#"{ a(s: "x { \" [ # }") }"#, 8),
            ("{ a(s: \"\"\"block { \\\"\"\" [ \n # }\"\"\") }", 8),
            (r#"{ a(s: "", t: """""") }"#, 11),
            ("{a...b}", 5),
            ("{a(b:1...c)}", 10),
        ] {
            assert_eq!(tokens(query), expected, "{query}");
        }
    }

    #[test]
    fn brackets_inside_strings_and_comments_do_not_nest() {
        let query = "{ a(s: \"[[[[\", t: \"\"\"((((\"\"\") # {{{{\n }";
        assert_eq!(scan(query, &limits(99, 2)), Ok(()));
        assert!(matches!(scan(query, &limits(99, 1)), Err(Refusal::NestedTooDeeply { found: 2, limit: 1, .. })));
    }

    #[test]
    fn a_refusal_says_where() {
        let Err(Refusal::NestedTooDeeply { at, .. }) = scan("{ a }\n  { é: b { c } }", &limits(99, 1)) else {
            unreachable!("two braces are open")
        };
        assert_eq!((at.line, at.column), (2, 10));
    }

    #[test]
    fn overlong_names_and_numbers_are_refused_unlike_strings_and_comments() {
        let limits = GuardLimits { name_bytes: 5, ..GuardLimits::default() };
        for query in ["{ abcdef }", "{ a(b: -12345) }", "{ a(b: $abcdef) }", "query _23456 { a }"] {
            let refusal = scan(query, &limits);
            assert!(matches!(refusal, Err(Refusal::NameTooLong { found: 6, limit: 5, .. })), "{query}: {refusal:?}");
        }
        for query in ["{ abcde }", "{ a(b: -1234, c: \"abcdefgh\", d: \"\"\"abcdefgh\"\"\") } # abcdefgh"] {
            assert_eq!(scan(query, &limits), Ok(()), "{query}");
        }
    }

    #[test]
    fn a_string_without_end_is_refused() {
        for query in ["{ a(s: \"x", "{ a(s: \"x\n\") }", "{ a(s: \"\"\"x\") }", "\"\\", "{ a(s: \"\"\"x\\\"\"\""] {
            assert!(matches!(scan(query, &GuardLimits::default()), Err(Refusal::UnterminatedString { .. })), "{query}");
        }
    }
}
