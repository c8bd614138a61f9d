//! The types of a schema as the guard knows them: fields with what they lead to, inputs with what they take.

use std::collections::HashMap;

use async_graphql::parser::types::{BaseType, FieldDefinition, InputValueDefinition, Type};

/// The printed schema cannot be read back.
#[derive(Debug, thiserror::Error)]
#[error("the schema cannot be read: {0}")]
pub struct UnreadableSchema(pub(super) String);

/// What a type is.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// An object or an interface, with its fields.
    Fields(HashMap<String, FieldShape>),
    Input(HashMap<String, InputShape>),
    Enum(Vec<String>),
    /// A scalar of the schema's own, or a union.
    Other,
}

/// A field of an object.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and none rules another out")]
pub(super) struct FieldShape {
    /// The name of its type, lists and non-nulls taken off.
    pub(super) leads_to: String,
    pub(super) is_list: bool,
    /// Whether `first` or `last` say how long its lists are.
    pub(super) is_paged: bool,
    /// How long its list is at most, where no argument says.
    pub(super) entries: Option<u64>,
    /// Points beside those of its objects.
    pub(super) surcharge: u64,
    /// Bytes that its text has at most, where they are many.
    pub(super) bytes: u64,
    /// Whether it is of the schema's description, which no resolver is asked for.
    pub(super) describes: bool,
    /// Whether something is read for it: not for scalars, which came with their object, nor within connections, which
    /// came with theirs (GraphQL Cursor Connections Specification: their types end in `Connection` and `Edge`).
    pub(super) reads: bool,
}

/// A field of an input object.
#[derive(Debug, Clone)]
pub(super) struct InputShape {
    pub(super) expected: Type,
    pub(super) is_required: bool,
}

/// The fields of the type `of`.
pub(super) fn fields(
    of: &str,
    definitions: &[async_graphql::Positioned<FieldDefinition>],
) -> HashMap<String, FieldShape> {
    let is_read = !of.ends_with("Connection") && !of.ends_with("Edge");
    let shape = |field: &FieldDefinition| FieldShape {
        leads_to: innermost(&field.ty.node).to_owned(),
        is_list: matches!(field.ty.node.base, BaseType::List(_)),
        entries: None,
        surcharge: 0,
        bytes: 0,
        describes: false,
        reads: is_read,
        is_paged: field.arguments.iter().any(|it| matches!(it.node.name.node.as_str(), "first" | "last")),
    };
    definitions.iter().map(|field| (field.node.name.node.to_string(), shape(&field.node))).collect()
}

pub(super) fn input_field(field: &InputValueDefinition) -> (String, InputShape) {
    let expected = field.ty.node.clone();
    let is_required = !expected.nullable && field.default_value.is_none();
    (field.name.node.to_string(), InputShape { expected, is_required })
}

/// The named type within lists.
pub(super) fn innermost(expected: &Type) -> &str {
    match &expected.base {
        BaseType::Named(name) => name.as_str(),
        BaseType::List(item) => innermost(item),
    }
}
