//! What the gate knows of the schema: which fields lead where, and what inputs look like.
//!
//! Apart from the executor's own registry, which is closed to others; read out of the printed schema, once. It refuses to
//! know what resolvers do.

use std::{collections::HashMap, sync::Arc};

use async_graphql::parser::{
    parse_schema,
    types::{BaseType, FieldDefinition, InputValueDefinition, Type, TypeDefinition, TypeKind, TypeSystemDefinition},
};

use super::{
    Refusal,
    description::{self, Lengths},
    rules::Rules,
};

/// The printed schema cannot be read back.
#[derive(Debug, thiserror::Error)]
#[error("the schema cannot be read: {0}")]
pub struct UnreadableSchema(pub(super) String);

/// A schema's types by name. The default knows nothing, and then nothing is checked against it.
#[derive(Debug, Clone, Default)]
pub struct Shape {
    types: HashMap<String, Kind>,
    query: String,
    mutation: String,
    subscription: String,
    rules: Option<Arc<Rules>>,
}

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
    /// Whether it is of the schema's description, which no store is asked for.
    pub(super) describes: bool,
}

/// A field of an input object.
#[derive(Debug, Clone)]
pub(super) struct InputShape {
    pub(super) expected: Type,
    pub(super) is_required: bool,
}

impl Shape {
    /// Reads a schema in the schema definition language.
    pub fn of_sdl(sdl: &str) -> Result<Self, UnreadableSchema> {
        let document = parse_schema(sdl).map_err(|error| UnreadableSchema(error.to_string()))?;
        let mut shape = Self {
            query: "Query".to_owned(),
            mutation: "Mutation".to_owned(),
            subscription: "Subscription".to_owned(),
            rules: Some(Arc::new(Rules::of_sdl(sdl).map_err(UnreadableSchema)?)),
            ..Self::default()
        };
        let lengths = Lengths::of(&document.definitions);
        for definition in document.definitions {
            match definition {
                TypeSystemDefinition::Type(definition) => shape.add(&definition.node),
                TypeSystemDefinition::Schema(schema) => {
                    let name = |name: Option<async_graphql::Positioned<async_graphql::Name>>| {
                        name.map(|name| name.node.to_string()).unwrap_or_default()
                    };
                    shape.query = name(schema.node.query);
                    shape.mutation = name(schema.node.mutation);
                    shape.subscription = name(schema.node.subscription);
                }
                TypeSystemDefinition::Directive(_) => {}
            }
        }
        for scalar in ["Int", "Float", "String", "Boolean", "ID"] {
            shape.types.insert(scalar.to_owned(), Kind::Other);
        }
        description::add(&mut shape.types, &shape.query, lengths)?;
        Ok(shape)
    }

    fn add(&mut self, definition: &TypeDefinition) {
        let kind = match &definition.kind {
            TypeKind::Object(object) => Kind::Fields(fields(&object.fields)),
            TypeKind::Interface(interface) => Kind::Fields(fields(&interface.fields)),
            TypeKind::InputObject(input) => Kind::Input(input.fields.iter().map(|it| input_field(&it.node)).collect()),
            TypeKind::Enum(values) => {
                Kind::Enum(values.values.iter().map(|it| it.node.value.node.to_string()).collect())
            }
            TypeKind::Scalar | TypeKind::Union(_) => Kind::Other,
        };
        self.types.insert(definition.name.node.to_string(), kind);
    }

    /// With what the printed schema does not say. `lists`: type (or `*` for all), field, and how many entries it has at most.
    /// `mutations`: what fields of the mutation cost beside their objects and the writing. `texts`: type (or `*`), field, and bytes at most.
    #[must_use]
    pub fn weighed(
        mut self,
        lists: &[(&str, &str, usize)],
        mutations: &[(&str, u64)],
        texts: &[(&str, &str, usize)],
    ) -> Self {
        for (of, kind) in &mut self.types {
            let Kind::Fields(fields) = kind else { continue };
            for (name, field) in fields.iter_mut().filter(|(_, field)| !field.describes) {
                let known = |table: &[(&str, &str, usize)]| {
                    let row = table.iter().find(|(on, field, _)| (on == of || *on == "*") && field == name);
                    row.and_then(|(.., most)| u64::try_from(*most).ok())
                };
                field.entries = known(lists);
                field.bytes = known(texts).unwrap_or(0);
                let costly = mutations.iter().find(|(mutation, _)| *of == self.mutation && mutation == name);
                field.surcharge = costly.map_or(0, |(_, points)| *points);
            }
        }
        self
    }

    /// Refuses a document that is not valid against the schema, if there is one.
    pub(super) fn check(&self, query: &str, tells: bool) -> Result<(), Refusal> {
        self.rules.as_ref().map_or(Ok(()), |rules| rules.check(query, tells))
    }

    pub(super) fn kind(&self, name: &str) -> Option<&Kind> {
        self.types.get(name)
    }

    pub(super) fn field(&self, of: &str, name: &str) -> Option<&FieldShape> {
        match self.types.get(of)? {
            Kind::Fields(fields) => fields.get(name),
            _ => None,
        }
    }

    /// The type with which an operation begins.
    pub(super) fn root(&self, operation: async_graphql::parser::types::OperationType) -> &str {
        use async_graphql::parser::types::OperationType;
        match operation {
            OperationType::Query => &self.query,
            OperationType::Mutation => &self.mutation,
            OperationType::Subscription => &self.subscription,
        }
    }

    /// Whether a field of this type is an object, and so has a price.
    pub(super) fn is_composite(&self, name: &str) -> bool {
        // Unions are told from scalars by nothing but their selection sets, which scalars cannot have.
        matches!(self.types.get(name), Some(Kind::Fields(_)))
    }
}

pub(super) fn fields(definitions: &[async_graphql::Positioned<FieldDefinition>]) -> HashMap<String, FieldShape> {
    let shape = |field: &FieldDefinition| FieldShape {
        leads_to: innermost(&field.ty.node).to_owned(),
        is_list: matches!(field.ty.node.base, BaseType::List(_)),
        entries: None,
        surcharge: 0,
        bytes: 0,
        describes: false,
        is_paged: field.arguments.iter().any(|it| matches!(it.node.name.node.as_str(), "first" | "last")),
    };
    definitions.iter().map(|field| (field.node.name.node.to_string(), shape(&field.node))).collect()
}

fn input_field(field: &InputValueDefinition) -> (String, InputShape) {
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
