//! A request's variables against the operation's declarations, before anything executes.
//!
//! Apart, because the executor looks at a variable only where it is used: a required one that is missing would be an
//! execution error, and `@skip` would not see a default. It refuses to know input types and scalars of the schema's own.

use async_graphql::{
    Name, Pos, Value, Variables,
    parser::types::{BaseType, OperationDefinition, Type},
};

use super::Refusal;

/// Fills the defaults of `operation`'s variables into `variables` and refuses what the declarations exclude: a required
/// variable that is absent or null, a null in a list of non-nulls, a value that is not of its built-in scalar.
pub fn complete(operation: &OperationDefinition, variables: &mut Variables) -> Result<(), Refusal> {
    for declared in &operation.variable_definitions {
        let definition = &declared.node;
        let name = &definition.name.node;
        match (variables.get(name), &definition.default_value) {
            (Some(value), _) => {
                let variable = Variable { name, at: declared.pos };
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
            // A single value stands for a list of one.
            (_, BaseType::List(item_type)) => return self.check(value, item_type, path),
            (_, BaseType::Named(scalar)) => fits_scalar(value, scalar),
        };
        if fits {
            return Ok(());
        }
        Err(Refusal::VariableInvalid {
            name: self.name.to_string(),
            path: path.to_owned(),
            expected: expected.to_string(),
            found: kind(value),
            at: self.at,
        })
    }
}

/// Whether `value` may stand for a type of this name; every type but the five built-in scalars is left to the schema.
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
