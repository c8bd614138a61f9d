//! The introspection types with the lengths of their lists in this schema, which give introspection its cost.
//!
//! Every schema has these types, but its SDL does not print them. Lengths are averages, rounded up, so a list within a
//! list does not cost as if each type were the largest.

use std::collections::HashMap;

use apollo_compiler::{
    Node,
    ast::{Definition, Document, FieldDefinition},
};

use super::types::{self, ByName, Kind, UnreadableSchema};

/// The specification's introspection types with the fields that lead to objects.
const TYPES: &str = "type __Schema { description: String types: [__Type!]! queryType: __Type! mutationType: __Type \
        subscriptionType: __Type directives: [__Directive!]! } \
    type __Type { kind: String! name: String description: String specifiedByURL: String isOneOf: Boolean \
        fields: [__Field!] interfaces: [__Type!] possibleTypes: [__Type!] enumValues: [__EnumValue!] \
        inputFields: [__InputValue!] ofType: __Type } \
    type __Field { name: String! description: String args: [__InputValue!]! type: __Type! isDeprecated: Boolean! \
        deprecationReason: String } \
    type __InputValue { name: String! description: String type: __Type! defaultValue: String \
        isDeprecated: Boolean! deprecationReason: String } \
    type __EnumValue { name: String! description: String isDeprecated: Boolean! deprecationReason: String } \
    type __Directive { name: String! description: String isRepeatable: Boolean! locations: [String!]! \
        args: [__InputValue!]! }";

/// Types and directives that every schema has without defining them.
const BUILT_IN: (u64, u64) = (13, 4);

/// Lengths of the lists in a schema's description.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Lengths {
    types: u64,
    directives: u64,
    /// Fields of a type: the larger of two averages, over all types and over the types that fields lead to.
    fields: u64,
    /// Fields of the largest type, in multiples of that average.
    largest: u64,
    args: u64,
    input_fields: u64,
    enum_values: u64,
    possible: u64,
}

impl Lengths {
    /// Counts the definitions of a schema.
    pub(super) fn of<'a>(document: &'a Document) -> Self {
        let mut sizes: HashMap<&str, u64> = HashMap::new();
        let mut fields: Vec<&FieldDefinition> = Vec::new();
        let (mut types, mut directives) = BUILT_IN;
        let (mut inputs, mut enums, mut implemented) = (Vec::new(), Vec::new(), 0);
        for definition in &document.definitions {
            let mut has_fields = |name: &'a str, own: &'a [Node<FieldDefinition>]| {
                sizes.insert(name, count(own));
                fields.extend(own.iter().map(|field| &**field));
            };
            match definition {
                Definition::ObjectTypeDefinition(object) => {
                    implemented += count(&object.implements_interfaces);
                    has_fields(object.name.as_str(), &object.fields);
                }
                Definition::InterfaceTypeDefinition(interface) => {
                    has_fields(interface.name.as_str(), &interface.fields);
                }
                Definition::InputObjectTypeDefinition(input) => inputs.push(count(&input.fields)),
                Definition::EnumTypeDefinition(values) => enums.push(count(&values.values)),
                Definition::ScalarTypeDefinition(_) | Definition::UnionTypeDefinition(_) => {}
                Definition::DirectiveDefinition(_) => {
                    directives += 1;
                    continue;
                }
                _ => continue,
            }
            types += 1;
        }
        let total = count(&fields);
        let led_to: u64 = fields.iter().filter_map(|field| sizes.get(field.ty.inner_named_type().as_str())).sum();
        let average = total.div_ceil(types).max(led_to.div_ceil(total.max(1))).max(1);
        Self {
            types,
            directives,
            fields: average,
            largest: sizes.values().copied().max().unwrap_or(1).div_ceil(average),
            args: fields.iter().map(|field| count(&field.arguments)).sum::<u64>().div_ceil(total.max(1)).max(1),
            input_fields: mean(&inputs),
            enum_values: mean(&enums),
            possible: u64::div_ceil(implemented, types).max(1),
        }
    }

    /// The length of the list with this name. For `__type` and the root types: how many averages the largest type has.
    fn of_field(self, name: &str) -> Option<u64> {
        Some(match name {
            "types" => self.types,
            "directives" => self.directives,
            "fields" => self.fields,
            "args" => self.args,
            "inputFields" => self.input_fields,
            "enumValues" => self.enum_values,
            "possibleTypes" => self.possible,
            "interfaces" => 1,
            "__type" | "queryType" | "mutationType" | "subscriptionType" => self.largest,
            _ => return None,
        })
    }
}

/// Adds the introspection types to `types`, and the introspection fields to the query type.
pub(super) fn add(types: &mut ByName<Kind>, query: &str, lengths: Lengths) -> Result<(), UnreadableSchema> {
    let written = format!("{TYPES} type {query} {{ __schema: __Schema! __type(name: String!): __Type }}");
    let document = Document::parse(written, "introspection.graphql");
    let document = document.map_err(|invalid| UnreadableSchema(invalid.errors.to_string()))?;
    for definition in &document.definitions {
        let Definition::ObjectTypeDefinition(object) = definition else { continue };
        let mut fields = types::fields(&object.name, &object.fields);
        for (name, field) in &mut fields {
            field.describes = true;
            field.reads = false;
            field.entries = lengths.of_field(name);
        }
        match types.get_mut(object.name.as_str()) {
            Some(Kind::Fields(known)) => known.extend(fields),
            _ => {
                types.insert(object.name.to_string(), Kind::Fields(fields));
            }
        }
    }
    Ok(())
}

fn count<T>(of: &[T]) -> u64 {
    u64::try_from(of.len()).unwrap_or(u64::MAX)
}

fn mean(sizes: &[u64]) -> u64 {
    sizes.iter().sum::<u64>().div_ceil(count(sizes).max(1)).max(1)
}
