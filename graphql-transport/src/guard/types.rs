//! The types of a schema as the guard sees them.

use std::collections::HashMap;

use async_graphql::{
    Value,
    parser::types::{BaseType, FieldDefinition, InputValueDefinition, Type},
};

/// The printed schema cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error("the schema cannot be read: {0}")]
pub struct UnreadableSchema(pub(super) String);

/// Says what is wrong with a value of a custom scalar: a clause without names of the schema, such as "a moment is a
/// string".
pub type ScalarCheck = fn(&Value) -> Result<(), &'static str>;

/// Parts of the schema by name. Clients choose what is looked up, but nothing that is in it.
pub(super) type ByName<T> = HashMap<String, T, foldhash::fast::RandomState>;

/// The kind of a type.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// An object or an interface, with its fields.
    Fields(ByName<FieldShape>),
    Input(ByName<InputShape>),
    Enum(Vec<String>),
    /// A custom scalar or a union.
    Other,
}

/// A field of an object.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and none rules another out")]
pub(super) struct FieldShape {
    /// Its type without lists and non-nulls.
    pub(super) leads_to: String,
    pub(super) is_list: bool,
    /// Whether `first` or `last` size its list.
    pub(super) is_paged: bool,
    /// Most entries of its list, if no argument sizes it.
    pub(super) entries: Option<u64>,
    /// Points in addition to its objects.
    pub(super) surcharge: u64,
    /// Texts among its arguments: the names that lead to them, and points for each 1,000 bytes.
    pub(super) inputs: Vec<(Vec<String>, u64)>,
    /// Lists among its arguments: the names that lead to them, and points for each entry.
    pub(super) batches: Vec<(Vec<String>, u64)>,
    /// Most bytes of its text, if it may be long.
    pub(super) bytes: u64,
    /// Whether it belongs to introspection, which no resolver serves.
    pub(super) describes: bool,
    /// Whether it needs a read. Scalars came with their object, and fields within connections with the connection (by
    /// the GraphQL Cursor Connections Specification their types end in `Connection` and `Edge`).
    pub(super) reads: bool,
}

/// A field of an input object.
#[derive(Debug, Clone)]
pub(super) struct InputShape {
    pub(super) expected: Type,
    pub(super) is_required: bool,
}

/// The fields of the type `of`.
pub(super) fn fields(of: &str, definitions: &[async_graphql::Positioned<FieldDefinition>]) -> ByName<FieldShape> {
    let is_read = !of.ends_with("Connection") && !of.ends_with("Edge");
    let shape = |field: &FieldDefinition| FieldShape {
        leads_to: innermost(&field.ty.node).to_owned(),
        is_list: matches!(field.ty.node.base, BaseType::List(_)),
        entries: None,
        surcharge: 0,
        inputs: Vec::new(),
        batches: Vec::new(),
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

/// The named type inside the lists.
pub(super) fn innermost(expected: &Type) -> &str {
    match &expected.base {
        BaseType::Named(name) => name.as_str(),
        BaseType::List(item) => innermost(item),
    }
}
