//! Checks a request's variables against the operation's declarations and the schema, before execution.
//!
//! The executor checks a variable only when a resolver reads it. A missing one would fail during execution, one of the
//! wrong shape would fail without a code, and `@skip` would ignore a default.

use async_graphql::{
    Name, Pos, Value, Variables,
    parser::types::{BaseType, OperationDefinition, Type},
};

use super::{
    limits::GuardLimits,
    refusal::Refusal,
    rules::nearest,
    shape::Shape,
    types::{ByName, InputShape, Kind},
};

/// The approximate bytes of `variables`. Refuses those that are too large or too deeply nested.
pub fn measure(variables: &Variables, limits: &GuardLimits) -> Result<usize, Refusal> {
    let (mut bytes, limit) = (0_usize, limits.variable_bytes);
    let mut waiting: Vec<(&Value, usize)> = variables.values().map(|value| (value, 1)).collect();
    for name in variables.keys() {
        bytes = bytes.saturating_add(name.len());
    }
    while let Some((value, depth)) = waiting.pop() {
        if depth > limits.variable_nesting {
            return Err(Refusal::VariablesTooDeep { limit: limits.variable_nesting });
        }
        bytes = bytes.saturating_add(match value {
            Value::String(text) => text.len() + 2,
            Value::Object(fields) => fields.keys().map(|name| name.len() + 4).sum::<usize>() + 2,
            Value::List(_) => 2,
            _ => 4,
        });
        if bytes > limit {
            return Err(Refusal::VariablesTooLarge { limit });
        }
        match value {
            Value::List(items) => waiting.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(fields) => waiting.extend(fields.values().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    Ok(bytes)
}

/// Fills the defaults of `operation`'s variables into `variables` and refuses what declarations or schema exclude: a
/// required variable that is absent or null, a null in a list of non-nulls, a value that is not of its scalar, enum or
/// input object.
pub fn complete(operation: &OperationDefinition, shape: &Shape, variables: &mut Variables) -> Result<(), Refusal> {
    for declared in &operation.variable_definitions {
        let definition = &declared.node;
        let name = &definition.name.node;
        match (variables.get(name), &definition.default_value) {
            (Some(value), _) => {
                let variable = Variable { name, at: declared.pos, shape };
                variable.check(value, &definition.var_type.node, name.as_str())?;
            }
            (None, Some(default)) => {
                variables.insert(name.clone(), default.node.clone());
            }
            (None, None) if !definition.var_type.node.nullable => {
                return Err(Refusal::VariableMissing {
                    name: name.to_string(),
                    expected: definition.var_type.node.to_string(),
                    at: declared.pos,
                });
            }
            (None, None) => {}
        }
    }
    Ok(())
}

struct Variable<'a> {
    name: &'a Name,
    at: Pos,
    shape: &'a Shape,
}

impl Variable<'_> {
    fn check(&self, value: &Value, expected: &Type, path: &str) -> Result<(), Refusal> {
        let fits = match (value, &expected.base) {
            (Value::Null, _) => expected.nullable,
            (Value::List(items), BaseType::List(item_type)) => {
                for (index, item) in items.iter().enumerate() {
                    self.check(item, item_type, &format!("{path}[{index}]"))?;
                }
                true
            }
            // A single value counts as a list of one.
            (_, BaseType::List(item_type)) => return self.check(value, item_type, path),
            (_, BaseType::Named(named)) => match self.shape.kind(named) {
                Some(Kind::Enum(members)) => matches!(value, Value::String(text) if members.contains(text)),
                Some(Kind::Input(fields)) => return self.check_fields(value, expected, fields, path),
                _ => match self.shape.own_scalar(named) {
                    Some(check) => return check(value).map_err(|reason| self.unfit(path, reason)),
                    None => fits_scalar(value, named),
                },
            },
        };
        if fits { Ok(()) } else { Err(self.refusal(value, expected, path)) }
    }

    fn check_fields(
        &self,
        value: &Value,
        expected: &Type,
        fields: &ByName<InputShape>,
        path: &str,
    ) -> Result<(), Refusal> {
        let Value::Object(given) = value else {
            return Err(self.refusal(value, expected, path));
        };
        for (name, inner) in given {
            let path = format!("{path}.{name}");
            let Some(field) = fields.get(name.as_str()) else {
                let known = fields.keys().map(String::as_str);
                return Err(Refusal::VariableFieldUnknown {
                    name: self.name.to_string(),
                    path,
                    input: expected.to_string(),
                    meant: nearest(name, known).map(str::to_owned),
                    at: self.at,
                });
            };
            self.check(inner, &field.expected, &path)?;
        }
        let missing = fields.iter().filter(|(name, field)| field.is_required && !given.contains_key(name.as_str()));
        match missing.min_by_key(|(name, _)| *name) {
            None => Ok(()),
            Some((name, field)) => Err(Refusal::VariableFieldMissing {
                name: self.name.to_string(),
                path: format!("{path}.{name}"),
                expected: field.expected.to_string(),
                at: self.at,
            }),
        }
    }

    fn unfit(&self, path: &str, reason: &'static str) -> Refusal {
        Refusal::VariableUnfit { name: self.name.to_string(), path: path.to_owned(), reason, at: self.at }
    }

    fn refusal(&self, value: &Value, expected: &Type, path: &str) -> Refusal {
        Refusal::VariableInvalid {
            name: self.name.to_string(),
            path: path.to_owned(),
            expected: expected.to_string(),
            found: kind(value),
            at: self.at,
        }
    }
}

/// Whether `value` fits the scalar of this name, if it is a built-in one.
fn fits_scalar(value: &Value, scalar: &str) -> bool {
    match scalar {
        "Int" => {
            matches!(value, Value::Number(number) if number.as_i64().is_some_and(|int| i32::try_from(int).is_ok()))
        }
        "Float" => matches!(value, Value::Number(_)),
        "String" => matches!(value, Value::String(_)),
        "Boolean" => matches!(value, Value::Boolean(_)),
        "ID" => match value {
            Value::String(_) => true,
            Value::Number(number) => !number.is_f64(),
            _ => false,
        },
        _ => true,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Number(number) if number.is_f64() => "a fractional number",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Boolean(_) => "a boolean",
        Value::List(_) => "a list",
        Value::Object(_) => "an object",
        Value::Enum(_) | Value::Binary(_) => "a value of another kind",
    }
}
