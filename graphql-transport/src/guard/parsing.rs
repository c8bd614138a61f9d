//! Parses a document, and converts it into the form that is executed.
//!
//! apollo-compiler parses and validates, and async-graphql executes: each document is parsed once for both.

use std::collections::{HashMap, hash_map::Entry};

use apollo_compiler::{
    Name as ParsedName, Node,
    ast::{self, Definition},
    parser::{Parser, SourceSpan},
};
use async_graphql::{
    Name, Pos, Positioned,
    parser::types::{
        Directive, DocumentOperations, ExecutableDocument, Field, FragmentDefinition, FragmentSpread, InlineFragment,
        OperationDefinition, OperationType, Selection, SelectionSet, TypeCondition, VariableDefinition,
    },
};
use async_graphql_value::{Number, Value};

use super::{limits::GuardLimits, positions::Positions, refusal::Refusal, rules, tokens, types::of_type};

/// What the parser calls the tokens that end something, and what they are.
const ENDS: [(&str, &str); 3] = [("R_CURLY", "`}`"), ("R_PAREN", "`)`"), ("R_BRACK", "`]`")];

/// Parses `query`, within `limits`.
pub fn parse(query: &str, limits: &GuardLimits) -> Result<ast::Document, Refusal> {
    let text = tokens::readable(query, limits)?;
    Parser::new().parse_ast(text, "document").map_err(|invalid| {
        let Some(fault) = invalid.errors.iter().next().map(|it| rules::fault(&it, query)) else {
            return Refusal::syntax("this is no document", None);
        };
        let words = fault.message.trim_start_matches("syntax error: ").to_owned();
        Refusal::syntax(&ENDS.iter().fold(words, |words, (name, sign)| words.replacen(name, sign, 1)), fault.at)
    })
}

/// The operations and fragments of `parsed`, the document of this text. Refuses what the executor's form cannot hold:
/// two definitions of one name, an operation without a name beside others, no operation, definitions of types, and
/// numbers beyond all bounds.
pub fn executable(parsed: &ast::Document, text: &str) -> Result<ExecutableDocument, Refusal> {
    let mut conversion = Conversion { positions: Positions::of(text) };
    let (mut anonymous, mut named, mut fragments) = (None, HashMap::new(), HashMap::new());
    for definition in &parsed.definitions {
        let at = conversion.at(definition.location());
        match definition {
            Definition::OperationDefinition(operation) => {
                let converted = Positioned::new(conversion.operation(operation, at)?, at);
                match &operation.name {
                    None if named.is_empty() && anonymous.is_none() => anonymous = Some(converted),
                    Some(name) if anonymous.is_none() => insert(&mut named, ("operation", name), converted)?,
                    _ => return Err(refusal("an operation without a name is the only one of its document", at)),
                }
            }
            Definition::FragmentDefinition(fragment) => {
                let converted = Positioned::new(conversion.fragment(fragment)?, at);
                insert(&mut fragments, ("fragment", &fragment.name), converted)?;
            }
            _ => return Err(refusal("expected an operation or a fragment", at)),
        }
    }
    let operations = match anonymous {
        Some(operation) => DocumentOperations::Single(operation),
        None if named.is_empty() => return Err(Refusal::syntax("the document has no operation", None)),
        None => DocumentOperations::Multiple(named),
    };
    Ok(ExecutableDocument { operations, fragments })
}

fn insert<T>(
    definitions: &mut HashMap<Name, Positioned<T>>,
    (kind, name): (&str, &ParsedName),
    definition: Positioned<T>,
) -> Result<(), Refusal> {
    match definitions.entry(Name::new(name)) {
        Entry::Occupied(_) => Err(refusal(&format!("the {kind} `{name}` is defined twice"), definition.pos)),
        Entry::Vacant(entry) => {
            entry.insert(definition);
            Ok(())
        }
    }
}

fn refusal(words: &str, at: Pos) -> Refusal {
    Refusal::syntax(words, Some(at))
}

type Arguments = Vec<(Positioned<Name>, Positioned<Value>)>;

/// The guard has bounded the nesting of brackets, and so the recursion here.
struct Conversion<'a> {
    positions: Positions<'a>,
}

impl Conversion<'_> {
    fn at(&mut self, span: Option<SourceSpan>) -> Pos {
        span.map(|span| self.positions.at(span.offset())).unwrap_or_default()
    }

    fn node<T, U>(
        &mut self,
        node: &Node<T>,
        convert: impl FnOnce(&mut Self, &T) -> Result<U, Refusal>,
    ) -> Result<Positioned<U>, Refusal> {
        let at = self.at(node.location());
        Ok(Positioned::new(convert(self, node)?, at))
    }

    fn name(&mut self, name: &ParsedName) -> Positioned<Name> {
        let at = self.at(name.location());
        Positioned::new(Name::new(name), at)
    }

    fn operation(&mut self, operation: &ast::OperationDefinition, at: Pos) -> Result<OperationDefinition, Refusal> {
        let variables = operation.variables.iter().map(|variable| self.node(variable, Self::variable));
        Ok(OperationDefinition {
            ty: match operation.operation_type {
                ast::OperationType::Query => OperationType::Query,
                ast::OperationType::Mutation => OperationType::Mutation,
                ast::OperationType::Subscription => OperationType::Subscription,
            },
            variable_definitions: variables.collect::<Result<_, _>>()?,
            directives: self.directives(&operation.directives)?,
            selection_set: self.selections(&operation.selection_set, at)?,
        })
    }

    fn fragment(&mut self, fragment: &ast::FragmentDefinition) -> Result<FragmentDefinition, Refusal> {
        let type_condition = self.type_condition(&fragment.type_condition);
        let at = type_condition.pos;
        Ok(FragmentDefinition {
            type_condition,
            directives: self.directives(&fragment.directives)?,
            selection_set: self.selections(&fragment.selection_set, at)?,
        })
    }

    fn type_condition(&mut self, on: &ParsedName) -> Positioned<TypeCondition> {
        let on = self.name(on);
        Positioned::new(TypeCondition { on: on.clone() }, on.pos)
    }

    fn variable(&mut self, variable: &ast::VariableDefinition) -> Result<VariableDefinition, Refusal> {
        let name = self.name(&variable.name);
        let var_type = self.node(&variable.ty, |_, expected| Ok(of_type(expected)))?;
        let default = variable.default_value.as_ref().map(|given| self.value(given)).transpose()?;
        // The parser has refused variables here.
        let constant = |value: Positioned<Value>| Some(Positioned::new(value.node.into_const()?, value.pos));
        Ok(VariableDefinition {
            name,
            var_type,
            default_value: default.and_then(constant),
            directives: self.directives(&variable.directives)?,
        })
    }

    fn directives(&mut self, directives: &ast::DirectiveList) -> Result<Vec<Positioned<Directive>>, Refusal> {
        let directive = |this: &mut Self, directive: &ast::Directive| {
            Ok(Directive { name: this.name(&directive.name), arguments: this.arguments(&directive.arguments)? })
        };
        directives.iter().map(|it| self.node(it, directive)).collect()
    }

    fn arguments(&mut self, arguments: &[Node<ast::Argument>]) -> Result<Arguments, Refusal> {
        arguments.iter().map(|it| Ok((self.name(&it.name), self.value(&it.value)?))).collect()
    }

    /// `at`: where what they are the selections of stands.
    fn selections(&mut self, selections: &[ast::Selection], at: Pos) -> Result<Positioned<SelectionSet>, Refusal> {
        let items = selections.iter().map(|selection| {
            let at = self.at(selection.location());
            let selection = match selection {
                ast::Selection::Field(field) => Selection::Field(Positioned::new(self.field(field, at)?, at)),
                ast::Selection::FragmentSpread(spread) => {
                    let fragment_name = self.name(&spread.fragment_name);
                    let directives = self.directives(&spread.directives)?;
                    Selection::FragmentSpread(Positioned::new(FragmentSpread { fragment_name, directives }, at))
                }
                ast::Selection::InlineFragment(inline) => {
                    let fragment = InlineFragment {
                        type_condition: inline.type_condition.as_ref().map(|on| self.type_condition(on)),
                        directives: self.directives(&inline.directives)?,
                        selection_set: self.selections(&inline.selection_set, at)?,
                    };
                    Selection::InlineFragment(Positioned::new(fragment, at))
                }
            };
            Ok(Positioned::new(selection, at))
        });
        Ok(Positioned::new(SelectionSet { items: items.collect::<Result<_, _>>()? }, at))
    }

    fn field(&mut self, field: &ast::Field, at: Pos) -> Result<Field, Refusal> {
        Ok(Field {
            alias: field.alias.as_ref().map(|alias| self.name(alias)),
            name: self.name(&field.name),
            arguments: self.arguments(&field.arguments)?,
            directives: self.directives(&field.directives)?,
            selection_set: self.selections(&field.selection_set, at)?,
        })
    }

    fn value(&mut self, given: &Node<ast::Value>) -> Result<Positioned<Value>, Refusal> {
        let at = self.at(given.location());
        Ok(Positioned::new(value(given, at)?, at))
    }
}

/// `at`: the position of the value, or of the one that it is in.
fn value(parsed: &ast::Value, at: Pos) -> Result<Value, Refusal> {
    Ok(match parsed {
        ast::Value::Null => Value::Null,
        ast::Value::Enum(name) => Value::Enum(Name::new(name)),
        ast::Value::Variable(name) => Value::Variable(Name::new(name)),
        ast::Value::String(text) => Value::String(text.clone()),
        ast::Value::Boolean(flag) => Value::Boolean(*flag),
        // `-0` is an integer, but no `Number` of its own.
        ast::Value::Int(int) if int.as_str() == "-0" => Value::Number(0.into()),
        ast::Value::Int(int) => Value::Number(number(int.as_str(), at)?),
        ast::Value::Float(float) => Value::Number(number(float.as_str(), at)?),
        ast::Value::List(items) => Value::List(items.iter().map(|item| value(item, at)).collect::<Result<_, _>>()?),
        ast::Value::Object(fields) => {
            let field = |(name, inner): &(ParsedName, Node<ast::Value>)| Ok((Name::new(name), value(inner, at)?));
            Value::Object(fields.iter().map(field).collect::<Result<_, _>>()?)
        }
    })
}

fn number(text: &str, at: Pos) -> Result<Number, Refusal> {
    text.parse().map_err(|_| refusal("a number is out of range", at))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use async_graphql::Value as Constant;

    use super::*;
    use crate::guard::{Guard, SafeDocument};

    fn open(query: &str) -> Result<SafeDocument, Refusal> {
        Guard::default().open(query)
    }

    /// The values of the arguments of the first field, and of the variables' defaults.
    fn values(query: &str) -> Vec<String> {
        let document = open(query).unwrap();
        let (_, operation) = document.parsed().operations.iter().next().unwrap();
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
            ("\n    Hello,\n      World!\n\n    Yours,\n      GraphQL.\n  ", "Hello,\n  World!\n\nYours,\n  GraphQL."),
            ("a\n    b\n  \n    c\r     d", "a\nb\n\nc\n d"),
            ("  first\n  second", "  first\nsecond"),
            ("é 🦀\n\tÜ", "é 🦀\nÜ"),
        ] {
            let quoted = Constant::from(meant).to_string();
            let query = format!(
                r#"query($x: T = ["""{content}""", {{d: """{content}"""}}]) {{ f(a: """{content}""", b: "\"\"\"") }}"#
            );
            let expected = [quoted.clone(), r#""\"\"\"""#.to_owned(), format!("[{quoted}, {{d: {quoted}}}]")];
            assert_eq!(values(&query), expected, "{content:?}");
        }
    }

    #[test]
    fn values_mean_what_the_specification_says() {
        for (given, meant) in [
            (r#""\u{1F600} \uD83D\uDE00 \u00e9 \n\"""#, "\"😀 😀 é \\n\\\"\""),
            ("-0", "0"),
            ("-7", "-7"),
            ("18446744073709551615", "18446744073709551615"),
            ("36893488147419103232", "3.6893488147419103e+19"),
            ("-1.5e-3", "-0.0015"),
            ("[null true ENUM {a: $v}]", "[null, true, ENUM, {a: $v}]"),
        ] {
            assert_eq!(values(&format!("query($v: Int) {{ f(a: {given}) }}")), [meant], "{given}");
        }
        let refusal = open("{ f(a: [1e999]) }").unwrap_err();
        assert_eq!(refusal.to_string(), "Syntax error at line 1, column 8: a number is out of range.");
        assert!(open("query($a: Int = 1 @d, $b: [ [Int !] ]!) { ..., on T { a } }").is_ok());
    }

    #[test]
    fn a_syntax_error_names_the_signs_of_the_language() {
        for (query, message) in [
            ("{ a", "line 1, column 4: expected `}`, got EOF."),
            ("{ a(b: 1 }", "line 1, column 10: expected `)`, got }."),
            ("query($a: [R_PAREN = 1) { b }", "line 1, column 20: expected `]`, got =."),
            ("", "line 1, column 1: Unexpected <EOF>."),
            ("{ ? }", "line 1, column 3: Unexpected character \"?\"."),
        ] {
            assert_eq!(open(query).unwrap_err().to_string(), format!("Syntax error at {message}"), "{query}");
        }
    }

    #[test]
    fn positions_are_those_of_the_clients_text() {
        let query =
            "\"\"\"What\nit \\\"\"\" is\"\"\" query Q(\"é\" $a: Int) {\r f(a: \"\"\"é\n \\\"\"\" z\"\"\", b: 1) x: y }";
        let document = open(query).unwrap();
        let (_, operation) = document.parsed().operations.iter().next().unwrap();
        let variable = &operation.node.variable_definitions[0];
        let items = &operation.node.selection_set.node.items;
        let Selection::Field(field) = &items[1].node else { unreachable!() };
        let positions = [operation.pos, variable.pos, items[0].pos, items[1].pos, field.node.name.pos];
        let lines: Vec<&str> = query.split(['\n', '\r']).collect();
        let place = |line: usize, of: &str| (line, lines[line - 1].split(of).next().unwrap().chars().count() + 1);
        let expected = [place(2, "query"), place(2, "$a"), place(3, "f(a"), place(4, "x:"), place(4, "y }")];
        assert_eq!(positions.map(|it| (it.line, it.column)), expected);
    }

    #[test]
    fn what_the_executor_has_no_form_for_is_refused_with_its_place() {
        for (query, message) in [
            ("fragment F on T { a }", ": the document has no operation"),
            ("{ a }\n{ b }", " at line 2, column 1: an operation without a name is the only one of its document"),
            (
                "query A { a } { b }",
                " at line 1, column 15: an operation without a name is the only one of its document",
            ),
            (
                "{ a } query A { b }",
                " at line 1, column 7: an operation without a name is the only one of its document",
            ),
            ("query A { a } mutation A { b }", " at line 1, column 15: the operation `A` is defined twice"),
            (
                "{ a } fragment F on T { a } fragment F on T { b }",
                " at line 1, column 29: the fragment `F` is defined twice",
            ),
            ("{ a } type T { a: Int }", " at line 1, column 7: expected an operation or a fragment"),
        ] {
            assert_eq!(open(query).unwrap_err().to_string(), format!("Syntax error{message}."), "{query}");
        }
    }
}
