//! Checks that each variable fits the places that use it, that no input object has a field twice, and that literals
//! fit the schema's own scalars.
//!
//! apollo-compiler checks the first two only at the top level of an argument, and does not know the third. This file
//! takes documents that have passed the library's other rules.

use std::collections::HashSet;

use apollo_compiler::{
    ExecutableDocument, Name, Node, Schema,
    ast::{Directive, InputValueDefinition, Type, Value, VariableDefinition},
    executable::{Selection, SelectionSet},
    validation::Valid,
};
use async_graphql::{Value as Constant, indexmap::IndexMap};

use super::{
    fault::Fault,
    positions::Positions,
    types::{ByName, ScalarCheck},
};

/// Every variable whose type does not fit its place (specification, 5.8.5), every duplicate field of an input object
/// (5.6.3), and every literal that is not of its custom scalar (5.6.1). Walks each fragment once for each operation.
pub fn faults(
    (document, query): (&Valid<ExecutableDocument>, &str),
    schema: &Valid<Schema>,
    scalars: &ByName<ScalarCheck>,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    for operation in document.operations.iter() {
        let variables = &operation.variables;
        let mut walk =
            Walk { document, query, schema, scalars, variables, visited: HashSet::new(), faults: &mut faults };
        for variable in variables {
            walk.directives(&variable.directives);
            if let Some(default) = &variable.default_value {
                walk.value(default, &variable.ty, false);
            }
        }
        walk.directives(&operation.directives);
        walk.selections(&operation.selection_set);
    }
    faults
}

struct Walk<'a> {
    document: &'a ExecutableDocument,
    /// Its text.
    query: &'a str,
    schema: &'a Schema,
    scalars: &'a ByName<ScalarCheck>,
    variables: &'a [Node<VariableDefinition>],
    visited: HashSet<&'a Name>,
    faults: &'a mut Vec<Fault>,
}

impl<'a> Walk<'a> {
    fn selections(&mut self, set: &'a SelectionSet) {
        for selection in &set.selections {
            self.directives(selection.directives());
            match selection {
                Selection::Field(field) => {
                    for argument in &field.arguments {
                        self.argument(field.definition.argument_by_name(&argument.name), &argument.value);
                    }
                    self.selections(&field.selection_set);
                }
                Selection::InlineFragment(inline) => self.selections(&inline.selection_set),
                Selection::FragmentSpread(spread) => {
                    let document = self.document;
                    let Some(fragment) = document.fragments.get(&spread.fragment_name) else { continue };
                    if self.visited.insert(&spread.fragment_name) {
                        self.directives(&fragment.directives);
                        self.selections(&fragment.selection_set);
                    }
                }
            }
        }
    }

    fn directives(&mut self, directives: &[Node<Directive>]) {
        for directive in directives {
            let Some(definition) = self.schema.directive_definitions.get(&directive.name) else { continue };
            for argument in &directive.arguments {
                self.argument(definition.argument_by_name(&argument.name), &argument.value);
            }
        }
    }

    fn argument(&mut self, definition: Option<&Node<InputValueDefinition>>, value: &Node<Value>) {
        if let Some(definition) = definition {
            self.value(value, &definition.ty, definition.default_value.is_some());
        }
    }

    /// `has_default`: whether the place has a default for an absent variable. The guard bounds the nesting of values.
    fn value(&mut self, value: &Node<Value>, expected: &Type, has_default: bool) {
        self.literal(value, expected);
        match &**value {
            Value::Variable(name) => {
                let variable = self.variables.iter().find(|variable| variable.name == *name);
                if let Some(variable) = variable.filter(|it| !fits(it, expected, has_default)) {
                    let found = &variable.ty;
                    self.report(value, format!("variable `${name}` of type `{found}` cannot stand for `{expected}`"));
                }
            }
            Value::List(items) => {
                let item_type = if expected.is_list() { expected.item_type() } else { expected };
                for item in items {
                    self.value(item, item_type, false);
                }
            }
            Value::Object(fields) => {
                let schema = self.schema;
                let input = schema.get_input_object(expected.inner_named_type());
                let mut named = HashSet::new();
                for (name, inner) in fields {
                    if !named.insert(name) {
                        self.report(inner, format!("the input field `{name}` is given more than once"));
                    }
                    if let Some(field) = input.and_then(|input| input.fields.get(name)) {
                        self.value(inner, &field.ty, field.default_value.is_some());
                    }
                }
            }
            _ => {}
        }
    }

    /// Reports a literal that is not of the schema's own scalar that is `expected`.
    fn literal(&mut self, literal: &Node<Value>, expected: &Type) {
        let (scalar, is_item) = (expected.inner_named_type(), expected.is_list() && literal.as_list().is_some());
        let Some(check) = self.scalars.get(scalar.as_str()).filter(|_| !is_item) else { return };
        if let Some(Err(reason)) = constant(literal).as_ref().map(check) {
            self.report(literal, format!("the value is not of type `{scalar}`: {reason}"));
        }
    }

    fn report(&mut self, at: &Node<Value>, message: String) {
        let at = at.location().map(|span| Positions::of(self.query).at(span.offset()));
        self.faults.push(Fault { message, at });
    }
}

/// A literal as scalars are given it; lists and objects without what is in them. `None` for variables and null.
fn constant(literal: &Value) -> Option<Constant> {
    Some(match literal {
        Value::Null | Value::Variable(_) => return None,
        Value::String(text) => Constant::from(text.as_str()),
        Value::Boolean(flag) => Constant::from(*flag),
        Value::Int(number) => Constant::from(number.as_str().parse::<i64>().unwrap_or_default()),
        Value::Float(number) => Constant::from(number.as_str().parse::<f64>().unwrap_or_default()),
        Value::Enum(name) => Constant::Enum(async_graphql::Name::new(name)),
        Value::List(_) => Constant::List(Vec::new()),
        Value::Object(_) => Constant::Object(IndexMap::new()),
    })
}

/// `AreTypesCompatible` with `IsVariableUsageAllowed` of the specification.
fn fits(variable: &VariableDefinition, expected: &Type, has_default: bool) -> bool {
    if !expected.is_non_null() || variable.ty.is_non_null() {
        return variable.ty.is_assignable_to(expected);
    }
    let is_never_absent = variable.default_value.as_ref().is_some_and(|default| !default.is_null());
    (is_never_absent || has_default) && variable.ty.is_assignable_to(&expected.clone().nullable())
}
