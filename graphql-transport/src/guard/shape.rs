//! The guard's view of a schema: the types of fields and inputs.
//!
//! The executor's registry is private, so the shape is read once from the printed schema.

use std::sync::Arc;

use apollo_compiler::ast::{self, Definition, Document};
use async_graphql::parser::types::OperationType;

use super::{
    description::{self, Lengths},
    refusal::Refusal,
    rules::{Rules, definitions},
    types::{ByName, FieldShape, Kind, ScalarCheck, UnreadableSchema, fields, input_field},
};

/// What the cost needs but the printed schema lacks.
#[derive(Debug, Clone, Copy, Default)]
pub struct CostHints<'a> {
    /// Lists of objects without a size argument: type (or `*` for all), field, most entries.
    pub lists: &'a [(&'a str, &'a str, usize)],
    /// Long texts: type (or `*` for all), field, most bytes.
    pub texts: &'a [(&'a str, &'a str, usize)],
    /// Cost of root fields in addition to their objects and to writing: operation type, field, points.
    pub surcharges: &'a [(OperationType, &'a str, u64)],
    /// Texts among the arguments of root fields, by how much they are worked on: operation type, field, the names that
    /// lead to the text, or through a list to texts, points for each 1,000 bytes.
    pub inputs: &'a [(OperationType, &'a str, &'a [&'a str], u64)],
    /// Lists among the arguments of root fields: operation type, field, the names that lead to the list, points for
    /// each entry.
    pub batches: &'a [(OperationType, &'a str, &'a [&'a str], u64)],
    /// The filter argument of lists, and the points that it adds, because the filtered entries are read, too.
    pub filter: (&'a str, u64),
    /// Lengths of lists with `first` or `last`.
    pub pages: PageSizes,
}

/// Length of a list with `first` or `last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSizes {
    /// Entries if neither is given. 20.
    pub usual: u16,
    /// Most entries; the resolver refuses more. 100.
    pub most: u16,
}

impl Default for PageSizes {
    fn default() -> Self {
        Self { usual: 20, most: 100 }
    }
}

/// The types of a schema by name. The default is empty, and then nothing is checked against it.
#[derive(Debug, Clone, Default)]
pub struct Shape {
    types: ByName<Kind>,
    query: String,
    mutation: String,
    subscription: String,
    filter: (String, u64),
    pages: PageSizes,
    rules: Option<Arc<Rules>>,
    scalars: ByName<ScalarCheck>,
}

impl Shape {
    /// Reads a schema in the schema definition language.
    pub fn of_sdl(sdl: &str) -> Result<Self, UnreadableSchema> {
        let document = definitions(sdl).map_err(UnreadableSchema)?;
        let mut shape = Self {
            query: "Query".to_owned(),
            mutation: "Mutation".to_owned(),
            subscription: "Subscription".to_owned(),
            rules: Some(Arc::new(Rules::of(&document).map_err(UnreadableSchema)?)),
            ..Self::default()
        };
        let lengths = Lengths::of(&document);
        document.definitions.iter().for_each(|definition| shape.add(definition));
        for scalar in ["Int", "Float", "String", "Boolean", "ID"] {
            shape.types.insert(scalar.to_owned(), Kind::Other);
        }
        description::add(&mut shape.types, &shape.query, lengths)?;
        Ok(shape)
    }

    fn add(&mut self, definition: &Definition) {
        let (name, kind) = match definition {
            Definition::ObjectTypeDefinition(it) => (&it.name, Kind::Fields(fields(&it.name, &it.fields))),
            Definition::InterfaceTypeDefinition(it) => (&it.name, Kind::Fields(fields(&it.name, &it.fields))),
            Definition::InputObjectTypeDefinition(it) => {
                (&it.name, Kind::Input(it.fields.iter().map(|field| input_field(field)).collect()))
            }
            Definition::EnumTypeDefinition(it) => {
                (&it.name, Kind::Enum(it.values.iter().map(|value| value.value.to_string()).collect()))
            }
            Definition::ScalarTypeDefinition(it) => (&it.name, Kind::Other),
            Definition::UnionTypeDefinition(it) => (&it.name, Kind::Other),
            Definition::SchemaDefinition(it) => {
                self.name_roots(it);
                return;
            }
            _ => return,
        };
        self.types.insert(name.to_string(), kind);
    }

    /// A schema that names its root types has no others.
    fn name_roots(&mut self, schema: &ast::SchemaDefinition) {
        let named = |operation| {
            let root = schema.root_operations.iter().find(|root| root.0 == operation);
            root.map(|root| root.1.to_string()).unwrap_or_default()
        };
        self.query = named(ast::OperationType::Query);
        self.mutation = named(ast::OperationType::Mutation);
        self.subscription = named(ast::OperationType::Subscription);
    }

    /// Adds the hints to the shape.
    #[must_use]
    pub fn with_cost_hints(mut self, hints: &CostHints<'_>) -> Self {
        self.pages = hints.pages;
        self.filter = (hints.filter.0.to_owned(), hints.filter.1);
        let roots = [OperationType::Query, OperationType::Mutation, OperationType::Subscription]
            .map(|operation| (operation, self.root(operation).to_owned()));
        for (of, kind) in &mut self.types {
            let Kind::Fields(fields) = kind else { continue };
            for (name, field) in fields.iter_mut().filter(|(_, field)| !field.describes) {
                let known = |table: &[(&str, &str, usize)]| {
                    let row = table.iter().find(|(on, field, _)| (on == of || *on == "*") && field == name);
                    row.and_then(|(.., most)| u64::try_from(*most).ok())
                };
                field.entries = known(hints.lists);
                field.bytes = known(hints.texts).unwrap_or(0);
                let is_of = |root: OperationType| roots.iter().any(|(operation, on)| *operation == root && on == of);
                let costly = hints.surcharges.iter().find(|(root, field, _)| field == name && is_of(*root));
                field.surcharge = costly.map_or(0, |(.., points)| *points);
                let priced = |table: &[(OperationType, &str, &[&str], u64)]| {
                    let rows = table.iter().filter(|(root, field, ..)| field == name && is_of(*root));
                    let owned = |path: &[&str]| path.iter().map(|name| (*name).to_owned()).collect();
                    rows.map(|(_, _, path, points)| (owned(path), *points)).collect()
                };
                field.inputs = priced(hints.inputs);
                field.batches = priced(hints.batches);
            }
        }
        self
    }

    /// Adds what values the schema's own scalars take. Without it their resolvers alone decide, and what they refuse
    /// is no fault of the request.
    #[must_use]
    pub fn with_scalars(mut self, scalars: &[(&str, ScalarCheck)]) -> Self {
        self.scalars = scalars.iter().map(|(name, check)| ((*name).to_owned(), *check)).collect();
        self
    }

    /// The check of the schema's own scalar of this name.
    pub(super) fn own_scalar(&self, name: &str) -> Option<ScalarCheck> {
        self.scalars.get(name).copied()
    }

    /// The filter argument and its points.
    pub(super) fn filter(&self) -> (&str, u64) {
        (&self.filter.0, self.filter.1)
    }

    pub(super) fn pages(&self) -> PageSizes {
        self.pages
    }

    /// Validates a document, with its text, against the schema, if there is one.
    pub(super) fn check(&self, document: (&Document, &str), suggests: bool) -> Result<(), Refusal> {
        self.rules.as_ref().map_or(Ok(()), |rules| rules.check(document, &self.scalars, suggests))
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

    /// The root type of an operation.
    pub(super) fn root(&self, operation: OperationType) -> &str {
        match operation {
            OperationType::Query => &self.query,
            OperationType::Mutation => &self.mutation,
            OperationType::Subscription => &self.subscription,
        }
    }

    /// Whether a field of this type is an object and so has a cost.
    pub(super) fn is_composite(&self, name: &str) -> bool {
        // Only selection sets distinguish unions from scalars.
        matches!(self.types.get(name), Some(Kind::Fields(_)))
    }
}
