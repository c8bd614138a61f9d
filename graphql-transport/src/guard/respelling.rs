//! Respells what async-graphql's parser does not read as the specification says, in place: each character becomes one
//! character, and lines stay lines, so that the parser's positions are those of the client's text.
//!
//! Delete this file when the parser reads block strings (2.9.4) and descriptions (2.4).

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    ops::Range,
};

use async_graphql::{
    Positioned, Value as Constant,
    parser::types::{Directive, DocumentOperations, ExecutableDocument, OperationDefinition, Selection, SelectionSet},
};
use async_graphql_value::Value;

use super::lexer;

/// First character that stands for a block string, if the text does not have it: those for private use.
const FIRST: char = '\u{e000}';

/// `query` with spaces in place of the descriptions of operations, fragments and variables, which say nothing to a
/// server. `query` has passed [`lexer::scan`].
pub fn without_descriptions(query: &str) -> Cow<'_, str> {
    if !query.contains('"') {
        return Cow::Borrowed(query);
    }
    let tokens: Vec<Range<usize>> = lexer::tokens(query).collect();
    let text = |index: usize| tokens.get(index).and_then(|range| query.get(range.clone())).unwrap_or_default();
    let (mut open, mut found) = (0_usize, Vec::new());
    for (index, range) in tokens.iter().enumerate() {
        match query.as_bytes().get(range.start) {
            Some(b'(' | b'[' | b'{') => open += 1,
            Some(b')' | b']' | b'}') => open = open.saturating_sub(1),
            Some(b'"') => {
                let before = index.checked_sub(1).map(text);
                if describes(open, before, text(index + 1)) {
                    found.push(range.clone());
                }
            }
            _ => {}
        }
    }
    replaced(query, &found, |text, respelled| respelled.extend(text.chars().map(blank)))
}

/// Whether a string is a description, by the brackets that are open there and the tokens around it. A text is no more
/// valid without it: what stands before a description has ended, and `=` or `:` has not.
fn describes(open: usize, before: Option<&str>, after: &str) -> bool {
    match open {
        0 => matches!(before, None | Some("}")) && matches!(after, "query" | "mutation" | "subscription" | "fragment"),
        1 => after == "$" && !matches!(before, Some("=" | ":")),
        _ => false,
    }
}

/// The values of a text's block strings, each under the character that stands for it.
#[derive(Debug, Default)]
pub struct BlockStrings(HashMap<char, String>);

impl BlockStrings {
    /// Takes the block strings out of `query`, which has passed [`lexer::scan`]. In the text that is returned a single
    /// character stands for the content of each.
    pub fn taken_from(query: &str) -> (Cow<'_, str>, Self) {
        let delimiter = r#"""""#;
        if !query.contains(delimiter) {
            return (Cow::Borrowed(query), Self::default());
        }
        let is_block = |range: &Range<usize>| query.get(range.clone()).is_some_and(|text| text.starts_with(delimiter));
        let contents: Vec<Range<usize>> =
            lexer::tokens(query).filter(is_block).map(|range| range.start + 3..range.end - 3).collect();
        let used: HashSet<char> = query.chars().filter(|char| *char >= FIRST).collect();
        let mut unused = (FIRST..=char::MAX).filter(|char| !used.contains(char));
        let mut taken = HashMap::new();
        let text = replaced(query, &contents, |content, respelled| {
            let mut sign = content.contains(|char| blank(char) == ' ').then(|| unused.next()).flatten();
            if let Some(sign) = sign {
                taken.insert(sign, block_string(content));
            }
            let sign_first =
                |char| Some(blank(char)).filter(|char| *char != ' ').or_else(|| sign.take()).unwrap_or(' ');
            respelled.extend(content.chars().map(sign_first));
        });
        (text, Self(taken))
    }

    /// Puts the values in place of the characters that stand for them.
    pub fn restore(&self, document: &mut ExecutableDocument) {
        if self.0.is_empty() {
            return;
        }
        match &mut document.operations {
            DocumentOperations::Single(operation) => self.operation(&mut operation.node),
            DocumentOperations::Multiple(operations) => {
                for operation in operations.values_mut() {
                    self.operation(&mut operation.node);
                }
            }
        }
        for fragment in document.fragments.values_mut() {
            self.directives(&mut fragment.node.directives);
            self.selections(&mut fragment.node.selection_set.node);
        }
    }

    fn operation(&self, operation: &mut OperationDefinition) {
        for variable in &mut operation.variable_definitions {
            if let Some(default) = &mut variable.node.default_value {
                self.constant(&mut default.node);
            }
            self.directives(&mut variable.node.directives);
        }
        self.directives(&mut operation.directives);
        self.selections(&mut operation.selection_set.node);
    }

    /// The lexer has bounded the nesting of brackets, and so the recursion here and below.
    fn selections(&self, set: &mut SelectionSet) {
        for selection in &mut set.items {
            self.directives(selection.node.directives_mut());
            match &mut selection.node {
                Selection::Field(field) => {
                    field.node.arguments.iter_mut().for_each(|(_, value)| self.value(&mut value.node));
                    self.selections(&mut field.node.selection_set.node);
                }
                Selection::InlineFragment(inline) => self.selections(&mut inline.node.selection_set.node),
                Selection::FragmentSpread(_) => {}
            }
        }
    }

    fn directives(&self, directives: &mut [Positioned<Directive>]) {
        let arguments = directives.iter_mut().flat_map(|directive| &mut directive.node.arguments);
        arguments.for_each(|(_, value)| self.value(&mut value.node));
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::List(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => fields.values_mut().for_each(|item| self.value(item)),
            _ => {}
        }
    }

    fn constant(&self, value: &mut Constant) {
        match value {
            Constant::String(text) => self.text(text),
            Constant::List(items) => items.iter_mut().for_each(|item| self.constant(item)),
            Constant::Object(fields) => fields.values_mut().for_each(|item| self.constant(item)),
            _ => {}
        }
    }

    fn text(&self, text: &mut String) {
        if let Some(meant) = text.chars().next().and_then(|sign| self.0.get(&sign)) {
            text.clone_from(meant);
        }
    }
}

/// `text` with other characters in the `ranges`, which `write` appends.
fn replaced<'a>(text: &'a str, ranges: &[Range<usize>], mut write: impl FnMut(&str, &mut String)) -> Cow<'a, str> {
    if ranges.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut respelled, mut end) = (String::with_capacity(text.len()), 0);
    for range in ranges {
        respelled.push_str(text.get(end..range.start).unwrap_or_default());
        write(text.get(range.clone()).unwrap_or_default(), &mut respelled);
        end = range.end;
    }
    respelled.push_str(text.get(end..).unwrap_or_default());
    Cow::Owned(respelled)
}

/// What stands in the place of a character that is to say nothing.
fn blank(char: char) -> char {
    if matches!(char, '\n' | '\r') { char } else { ' ' }
}

/// The value of a block string's content: `BlockStringValue` of the specification, after its only escape.
fn block_string(content: &str) -> String {
    let content = content.replace("\r\n", "\n").replace('\r', "\n").replace(r#"\""""#, r#"""""#);
    let lines: Vec<&str> = content.split('\n').collect();
    let indent_of = |line: &&str| line.find(|char| !matches!(char, ' ' | '\t'));
    let common = lines.iter().skip(1).filter_map(indent_of).min().unwrap_or(0);
    let dedented = |(index, line): (usize, &&str)| match index {
        0 => (*line).to_owned(),
        _ => line.get(common..).unwrap_or_default().to_owned(),
    };
    let first = lines.iter().position(|line| indent_of(line).is_some()).unwrap_or(lines.len());
    let end = lines.iter().rposition(|line| indent_of(line).is_some()).map_or(first, |last| last + 1);
    let shown: Vec<String> = lines.iter().enumerate().map(dedented).collect();
    shown.get(first..end).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use async_graphql::parser::parse_query;

    use super::*;

    /// The values of the arguments of the first field, and of the variables' defaults.
    fn values(query: &str) -> Vec<String> {
        let (text, taken) = BlockStrings::taken_from(query);
        assert_eq!(text.chars().count(), query.chars().count(), "{text}");
        let mut parsed = parse_query(&*text).unwrap();
        taken.restore(&mut parsed);
        let (_, operation) = parsed.operations.iter().next().unwrap();
        let defaults = operation.node.variable_definitions.iter().filter_map(|it| it.node.default_value.as_ref());
        let defaults: Vec<String> = defaults.map(|it| it.node.to_string()).collect();
        let Selection::Field(field) = &operation.node.selection_set.node.items[0].node else { unreachable!() };
        let arguments = field.node.arguments.iter().map(|(_, value)| value.node.to_string());
        arguments.chain(defaults).collect()
    }

    #[test]
    fn a_block_string_means_what_the_specification_says() {
        for (content, meant) in [
            ("", ""),
            (" \n\t\r\n", ""),
            ("plain", "plain"),
            (r#"say \""" end"#, r#"say """ end"#),
            (r#"\""""#, r#"""""#),
            (r#"\"""\""""#, r#""""""""#),
            (r"\n \u0041 \\ ", r"\n \u0041 \\ "),
            ("\u{e000} is taken, \u{e001} too", "\u{e000} is taken, \u{e001} too"),
            ("\n    Hello,\n      World!\n\n    Yours,\n      GraphQL.\n  ", "Hello,\n  World!\n\nYours,\n  GraphQL."),
            ("a\n    b\n  \n    c\r     d", "a\nb\n\nc\n d"),
            ("  first\n  second", "  first\nsecond"),
            ("é 🦀\n\tÜ", "é 🦀\nÜ"),
        ] {
            assert_eq!(block_string(content), meant, "{content:?}");
            let quoted = Constant::from(meant).to_string();
            let query = format!(
                r#"query($x: T = ["""{content}""", {{d: """{content}"""}}]) {{ f(a: """{content}""", b: "\"\"\"") }}"#
            );
            let expected = [quoted.clone(), r#""\"\"\"""#.to_owned(), format!("[{quoted}, {{d: {quoted}}}]")];
            assert_eq!(values(&query), expected, "{content:?}");
        }
    }

    #[test]
    fn block_strings_are_read_wherever_they_stand() {
        let block = r#""""\"""""""#;
        let query = format!(
            "query($v: T @d(a: {block}) = {block}) @d(a: {block}) {{ f(a: [{{b: {block}}}]) @d(a: {block}) {{ \
             ... @d(a: {block}) {{ g(a: {block}) }} ...F @d(a: {block}) }} }} \
             fragment F on T @d(a: {block}) {{ h(a: {block}) }}"
        );
        let (text, taken) = BlockStrings::taken_from(&query);
        let mut parsed = parse_query(&*text).unwrap();
        taken.restore(&mut parsed);
        let printed = format!("{parsed:?}");
        assert_eq!(printed.matches(r#"String("\"\"\"")"#).count(), 10, "{printed}");
        assert!(!printed.contains(FIRST), "{printed}");
    }

    #[test]
    fn positions_stay_those_of_the_clients_text() {
        let query =
            "\"\"\"What\nit \\\"\"\" is\"\"\" query Q(\"é\" $a: Int) { f(a: \"\"\"é\n \\\"\"\" z\"\"\", b: 1) x }";
        let plain = without_descriptions(query);
        let (text, taken) = BlockStrings::taken_from(&plain);
        let mut parsed = parse_query(&*text).unwrap();
        taken.restore(&mut parsed);
        let (_, operation) = parsed.operations.iter().next().unwrap();
        let variable = &operation.node.variable_definitions[0];
        let items = &operation.node.selection_set.node.items;
        let positions = [operation.pos, variable.pos, items[0].pos, items[1].pos].map(|it| (it.line, it.column));
        let lines: Vec<&str> = query.split('\n').collect();
        let place = |line: usize, of: &str| (line, lines[line - 1].split(of).next().unwrap().chars().count() + 1);
        assert_eq!(positions, [place(2, "query"), place(2, "$a"), place(2, "f(a"), place(3, "x }")]);
    }

    #[test]
    fn descriptions_say_nothing_and_only_where_they_may_stand() {
        for (query, plain) in [
            (r#""""docs""" query Q("the f" $f: Int = 1) { a }"#, "           query Q(        $f: Int = 1) { a }"),
            (r#""d" fragment F on T { a } "e" query { b }"#, "    fragment F on T { a }     query { b }"),
            (r#"mutation($a: S = "x" "y" $b: S="z", "w" $c: S)"#, r#"mutation($a: S = "x"     $b: S="z",     $c: S)"#),
            ("\"\"\"a\nb\"\"\" subscription { a }", "    \n     subscription { a }"),
        ] {
            assert_eq!(without_descriptions(query), plain);
        }
        for query in [
            r#""d" { a }"#,
            r#""d" type T { a: Int }"#,
            r#"query "x" query { a }"#,
            r#""a" "b" query { a }"#,
            r#"query($a: S = "x" $b: S) { a }"#,
            r#"query Q($b: Int) @d(a: "x" $b) { a }"#,
            r#"{ a(b: ["x" $b]) }"#,
            r#"{ a(b: "x") "d" c }"#,
        ] {
            let kept = without_descriptions(query);
            assert!(kept == query || parse_query(&*kept).is_err(), "{query} -> {kept}");
        }
    }
}
