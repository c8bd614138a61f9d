//! The types of a schema as the guard sees them.

use std::collections::HashMap;

use apollo_compiler::{
    Node,
    ast::{self, FieldDefinition, InputValueDefinition},
};
use async_graphql::{
    Name, Value,
    parser::types::{BaseType, Type},
};

/// The printed schema cannot be parsed.
#[derive(Debug, Clone, thiserror::Error)]
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
pub(super) fn fields(of: &str, definitions: &[Node<FieldDefinition>]) -> ByName<FieldShape> {
    let is_read = !of.ends_with("Connection") && !of.ends_with("Edge");
    let shape = |field: &FieldDefinition| FieldShape {
        leads_to: field.ty.inner_named_type().to_string(),
        is_list: field.ty.is_list(),
        entries: None,
        surcharge: 0,
        inputs: Vec::new(),
        batches: Vec::new(),
        bytes: 0,
        describes: false,
        reads: is_read,
        is_paged: field.arguments.iter().any(|it| matches!(it.name.as_str(), "first" | "last")),
    };
    definitions.iter().map(|field| (field.name.to_string(), shape(field))).collect()
}

pub(super) fn input_field(field: &InputValueDefinition) -> (String, InputShape) {
    (field.name.to_string(), InputShape { expected: of_type(&field.ty), is_required: field.is_required() })
}

/// A type as the executor has it.
pub(super) fn of_type(parsed: &ast::Type) -> Type {
    use ast::Type::{List, Named, NonNullList, NonNullNamed};
    let base = match parsed {
        Named(name) | NonNullNamed(name) => BaseType::Named(Name::new(name)),
        List(item) | NonNullList(item) => BaseType::List(Box::new(of_type(item))),
    };
    Type { base, nullable: !parsed.is_non_null() }
}
