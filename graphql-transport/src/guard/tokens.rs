//! Looks at the tokens of a query before it is parsed. The tokens are those of the parser's own lexer.
//!
//! Bounds what the parser works on, and takes or refuses in its stead what it does not read as the specification says.

use apollo_parser::{Lexer, Token, TokenKind};
use async_graphql::Pos;

use super::{limits::GuardLimits, positions::Positions, refusal::Refusal};

/// `query` as the parser is to read it: with spaces in place of the bytes of commas and of the descriptions of
/// operations, fragments and variables, which say nothing to a server.
///
/// Refuses `query` for too many tokens, too many open brackets, an overlong name, and an invalid token. Takes time
/// linear in the query.
pub fn readable(query: &str, limits: &GuardLimits) -> Result<String, Refusal> {
    let mut scan = Scan {
        query,
        limits,
        readable: query.as_bytes().to_vec(),
        tokens: 0,
        open: Vec::new(),
        previous: None,
        expected: None,
    };
    for token in Lexer::new(query) {
        let token = token.map_err(|error| scan.syntax(error.index(), error.message()))?;
        match token.kind() {
            TokenKind::Whitespace | TokenKind::Comment => {}
            // The parser looks for the token after a name or a spread, and takes a comma for it.
            TokenKind::Comma => scan.blank(&token),
            _ => scan.token(token)?,
        }
    }
    Ok(String::from_utf8(scan.readable).unwrap_or_default())
}

/// What is said of a string that is neither a value nor a description.
const UNEXPECTED_STRING: &str = "unexpected string";

/// What a bracket encloses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bracket {
    Selections,
    /// Arguments, or the definitions of variables.
    Arguments,
    List,
    Object,
}

/// What the next token decides.
enum Expected<'a> {
    /// A colon, after the name of an argument or of an input field.
    Colon,
    /// What this string describes.
    Described(Token<'a>),
}

struct Scan<'a> {
    query: &'a str,
    limits: &'a GuardLimits,
    readable: Vec<u8>,
    tokens: usize,
    open: Vec<Bracket>,
    previous: Option<TokenKind>,
    expected: Option<Expected<'a>>,
}

impl<'a> Scan<'a> {
    fn token(&mut self, token: Token<'a>) -> Result<(), Refusal> {
        self.expected(&token)?;
        self.count(&token)?;
        let (kind, is_value) = (token.kind(), self.is_value());
        match kind {
            TokenKind::LParen => self.open(Bracket::Arguments, &token)?,
            TokenKind::LBracket => self.open(Bracket::List, &token)?,
            TokenKind::LCurly if is_value => self.open(Bracket::Object, &token)?,
            TokenKind::LCurly => self.open(Bracket::Selections, &token)?,
            TokenKind::RParen | TokenKind::RBracket | TokenKind::RCurly => {
                self.open.pop();
            }
            TokenKind::StringValue => self.string(token, is_value)?,
            TokenKind::Name if self.is_named_value() => self.expected = Some(Expected::Colon),
            _ => {}
        }
        self.previous = Some(kind);
        Ok(())
    }

    /// Takes out the description before `token`. Refuses a name without a value, which the parser would leave out.
    fn expected(&mut self, token: &Token<'a>) -> Result<(), Refusal> {
        match self.expected.take() {
            Some(Expected::Colon) if token.kind() != TokenKind::Colon => {
                Err(self.syntax(token.index(), "expected a colon and a value"))
            }
            Some(Expected::Described(text)) if !self.is_described(token) => {
                Err(self.syntax(text.index(), UNEXPECTED_STRING))
            }
            Some(Expected::Described(text)) => {
                self.blank(&text);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn count(&mut self, token: &Token<'a>) -> Result<(), Refusal> {
        let (length, at) = (token.data().len(), token.index());
        let GuardLimits { tokens, name_bytes, .. } = *self.limits;
        self.tokens += usize::from(token.kind() != TokenKind::Eof);
        if self.tokens > tokens {
            return Err(Refusal::TooManyTokens { limit: tokens, at: self.at(at) });
        }
        if length > name_bytes && matches!(token.kind(), TokenKind::Name | TokenKind::Int | TokenKind::Float) {
            return Err(Refusal::NameTooLong { found: length, limit: name_bytes, at: self.at(at) });
        }
        Ok(())
    }

    fn open(&mut self, bracket: Bracket, token: &Token<'a>) -> Result<(), Refusal> {
        self.open.push(bracket);
        let (found, limit) = (self.open.len(), self.limits.nesting);
        if found > limit {
            return Err(Refusal::NestedTooDeeply { found, limit, at: self.at(token.index()) });
        }
        Ok(())
    }

    fn string(&mut self, token: Token<'a>, is_value: bool) -> Result<(), Refusal> {
        if !token.data().starts_with(r#"""""#) && token.data().contains(['\n', '\r']) {
            // The lexer does not see a line end directly behind the quotation mark.
            return Err(self.syntax(token.index(), "unterminated string value"));
        }
        let may_describe = match self.open.as_slice() {
            [] => matches!(self.previous, None | Some(TokenKind::RCurly)),
            [Bracket::Arguments] => true,
            _ => false,
        };
        match (is_value, may_describe) {
            (true, _) => {}
            (false, true) => self.expected = Some(Expected::Described(token)),
            (false, false) => return Err(self.syntax(token.index(), UNEXPECTED_STRING)),
        }
        Ok(())
    }

    /// Whether a value may stand here.
    fn is_value(&self) -> bool {
        match self.open.last() {
            Some(Bracket::List) => true,
            Some(Bracket::Arguments | Bracket::Object) => {
                matches!(self.previous, Some(TokenKind::Colon | TokenKind::Eq))
            }
            Some(Bracket::Selections) | None => false,
        }
    }

    /// Whether a name here is that of an argument or of an input field.
    fn is_named_value(&self) -> bool {
        let is_part =
            matches!(self.previous, Some(TokenKind::Colon | TokenKind::Eq | TokenKind::Dollar | TokenKind::At));
        matches!(self.open.last(), Some(Bracket::Arguments | Bracket::Object)) && !is_part
    }

    /// Whether `token`, behind what may be a description, begins what has one: a definition, or a variable's. Arguments
    /// with a variable in place of a name are refused with and without a description.
    fn is_described(&self, token: &Token<'a>) -> bool {
        if self.open.is_empty() {
            matches!(token.data(), "query" | "mutation" | "subscription" | "fragment")
        } else {
            token.kind() == TokenKind::Dollar
        }
    }

    fn blank(&mut self, token: &Token<'a>) {
        let range = token.index()..token.index() + token.data().len();
        let bytes = self.readable.get_mut(range).into_iter().flatten();
        // Lines stay lines, for the parser's positions are those of the client's text.
        bytes.filter(|byte| !matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    }

    fn at(&self, offset: usize) -> Pos {
        Positions::of(self.query).at(offset)
    }

    fn syntax(&self, offset: usize, words: &str) -> Refusal {
        Refusal::syntax(words, Some(self.at(offset)))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;

    fn limits(tokens: usize, nesting: usize) -> GuardLimits {
        GuardLimits { nesting, tokens, ..GuardLimits::default() }
    }

    fn tokens(query: &str) -> usize {
        (0..200).find(|limit| readable(query, &limits(*limit, 99)).is_ok()).unwrap_or(usize::MAX)
    }

    fn refused(query: &str) -> (String, Option<Pos>) {
        let refusal = readable(query, &GuardLimits::default()).unwrap_err();
        let Refusal::Syntax { at, .. } = refusal else { unreachable!("{query}: {refusal}") };
        (refusal.to_string(), at)
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
        ] {
            assert_eq!(tokens(query), expected, "{query}");
        }
    }

    #[test]
    fn brackets_inside_strings_and_comments_do_not_nest() {
        let query = "{ a(s: \"[[[[\", t: \"\"\"((((\"\"\") # {{{{\n }";
        assert!(readable(query, &limits(99, 2)).is_ok());
        let refusal = readable(query, &limits(99, 1)).unwrap_err();
        assert!(matches!(refusal, Refusal::NestedTooDeeply { found: 2, limit: 1, .. }));
    }

    #[test]
    fn a_refusal_says_where() {
        let Err(Refusal::NestedTooDeeply { at, .. }) = readable("{ a }\r  \"é\" query { b { c } }", &limits(99, 1))
        else {
            unreachable!("two braces are open")
        };
        assert_eq!((at.line, at.column), (2, 17));
    }

    #[test]
    fn overlong_names_and_numbers_are_refused_unlike_strings_and_comments() {
        let limits = GuardLimits { name_bytes: 5, ..GuardLimits::default() };
        for query in ["{ abcdef }", "{ a(b: -12345) }", "{ a(b: $abcdef) }", "query _23456 { a }"] {
            let refusal = readable(query, &limits);
            assert!(matches!(refusal, Err(Refusal::NameTooLong { found: 6, limit: 5, .. })), "{query}: {refusal:?}");
        }
        for query in ["{ abcde }", "{ a(b: -1234 c: \"abcdefgh\" d: \"\"\"abcdefgh\"\"\") } # abcdefgh"] {
            assert_eq!(readable(query, &limits).as_deref(), Ok(query));
        }
    }

    #[test]
    fn a_string_without_end_is_refused_where_it_begins() {
        for query in
            ["{ a(s: \"x", "{ a(s: \"x\n\") }", "{ a(s: \"\n\") }", "{ a(s: \"\"\"x\") }", "{ a(s: \"\"\"x\\\"\"\""]
        {
            let (message, at) = refused(query);
            assert!(message.starts_with("Syntax error at line 1, column 8: un"), "{query}: {message}");
            assert_eq!(at, Some(Pos { line: 1, column: 8 }), "{query}");
        }
    }

    #[test]
    fn a_name_without_a_value_is_refused_where_the_value_is_missing() {
        for (query, column) in [
            ("{ a(b) }", 6),
            ("{ a(b c: 1) }", 7),
            ("{ a(b: ENUM c) }", 14),
            ("{ a(b: {c}) }", 10),
            ("{ a(b: [{c: 1 d}]) }", 16),
            ("{ a @skip(if) }", 13),
            ("{ a(b", 6),
        ] {
            assert_eq!(refused(query).1, Some(Pos { line: 1, column }), "{query}");
        }
    }

    #[test]
    fn descriptions_say_nothing_and_only_where_they_may_stand() {
        for (query, plain) in [
            (r#""docs" query Q("the f" $f: Int = 1) { a }"#, "       query Q(        $f: Int = 1) { a }"),
            (r#""d" fragment F on T { a } "e" query { b }"#, "    fragment F on T { a }     query { b }"),
            (r#"mutation($a: S = "x" "y" $b: S="z", "w" $c: S)"#, r#"mutation($a: S = "x"     $b: S="z"      $c: S)"#),
            ("\"\"\"é\nb\"\"\" subscription { a }", "     \n     subscription { a }"),
        ] {
            assert_eq!(readable(query, &GuardLimits::default()).as_deref(), Ok(plain));
        }
        for query in [
            r#""d" { a }"#,
            r#""d" type T { a: Int }"#,
            r#"query "x" query { a }"#,
            r#""a" "b" query { a }"#,
            r#""d""#,
            r#"query($a: S "x") { a }"#,
            r#"{ a(b: "x") "d" c }"#,
            r#"{ a("d" b: "x") }"#,
            r#"{ a: "d" }"#,
        ] {
            assert!(refused(query).0.ends_with(": unexpected string."), "{query}");
        }
    }
}
