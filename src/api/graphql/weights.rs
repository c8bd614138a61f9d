//! What fields cost that the printed schema does not say: how long lists are at most, and which mutations are more than a write.
//!
//! Apart, because the gate prices operations without knowing resolvers. Each length is the bound that its resolver keeps.

use crate::domain::limits::{MAX_ANCESTORS, MAX_ATTRIBUTES, MAX_MEDIA, MAX_SESSIONS, MAX_USER_ERRORS};

/// Lists of objects that no argument sizes: type (`*` for all), field, entries at most. Those of connections are as long as the page.
pub const LISTS: &[(&str, &str, usize)] = &[
    ("Content", "ancestors", MAX_ANCESTORS),
    ("Content", "media", MAX_MEDIA),
    ("User", "attributes", MAX_ATTRIBUTES),
    ("User", "sessions", MAX_SESSIONS as usize),
    ("*", "userErrors", MAX_USER_ERRORS),
];

/// Points of one argon2 hash: some 30 ms of a core, in which a node reads hundreds of rows.
const PASSWORD_HASH: u64 = 1_000;

/// Fields of the mutation that cost more than writing does.
pub const MUTATIONS: &[(&str, u64)] =
    &[("registerUser", PASSWORD_HASH), ("signIn", PASSWORD_HASH), ("changePassword", 2 * PASSWORD_HASH)];

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use async_graphql::parser::{
        parse_schema,
        types::{BaseType, FieldDefinition, TypeKind, TypeSystemDefinition},
    };

    use super::*;
    use crate::api::graphql::schema_sdl;

    /// Every field of the schema's objects and interfaces, with its type's name.
    fn fields() -> Vec<(String, FieldDefinition)> {
        let mut found = Vec::new();
        for definition in parse_schema(schema_sdl()).unwrap().definitions {
            let TypeSystemDefinition::Type(definition) = definition else { continue };
            let fields = match &definition.node.kind {
                TypeKind::Object(object) => &object.fields,
                TypeKind::Interface(interface) => &interface.fields,
                _ => continue,
            };
            found.extend(fields.iter().map(|field| (definition.node.name.node.to_string(), field.node.clone())));
        }
        found
    }

    fn has(of: &str, name: &str) -> bool {
        LISTS.iter().any(|(on, list, _)| (*on == of || *on == "*") && *list == name)
    }

    #[test]
    fn every_list_that_no_argument_sizes_has_its_bound_and_nothing_else_has_one() {
        let (fields, scalars) = (fields(), ["String", "ID", "Int"]);
        let mut unsized_lists = Vec::new();
        for (of, field) in &fields {
            let BaseType::List(item) = &field.ty.node.base else { continue };
            let is_scalar = matches!(&item.base, BaseType::Named(name) if scalars.contains(&name.as_str()));
            let sizes = field.arguments.iter().any(|it| {
                matches!(it.node.name.node.as_str(), "first" | "last")
                    || matches!(it.node.ty.node.base, BaseType::List(_))
            });
            if !is_scalar && !sizes && !of.ends_with("Connection") {
                assert!(has(of, &field.name.node), "{of}.{} has no bound in LISTS", field.name.node);
                unsized_lists.push((of.as_str(), field.name.node.as_str()));
            }
        }
        for (of, name, _) in LISTS {
            assert!(
                unsized_lists.iter().any(|(on, list)| (of == on || *of == "*") && list == name),
                "{of}.{name} is no such list"
            );
        }
    }

    #[test]
    fn every_mutation_with_a_price_of_its_own_exists() {
        let fields = fields();
        for (name, _) in MUTATIONS {
            assert!(fields.iter().any(|(of, field)| of == "Mutation" && field.name.node == *name), "{name}");
        }
    }
}
