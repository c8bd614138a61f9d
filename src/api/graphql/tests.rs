//! The schema as a whole.

use async_graphql::{
    ContainerType, Context,
    parser::{
        parse_schema,
        types::{FieldDefinition, ObjectType, TypeKind, TypeSystemDefinition},
    },
};

use super::{Mutation, Query, schema_sdl};

/// Each layer around a resolver holds its future, and some of them move it: `scope::answer` puts it on the heap. It was
/// 16 and 23 kB in place, and is below 2 kB.
#[test]
fn the_futures_of_resolvers_are_small() {
    fn bytes<'a, T: 'a, F>(_: impl Fn(&'a T, &'a Context<'a>) -> F) -> usize {
        size_of::<F>()
    }
    let (query, mutation) =
        (bytes(<Query as ContainerType>::resolve_field), bytes(<Mutation as ContainerType>::resolve_field));
    assert!(query.max(mutation) <= 4_096, "{query} and {mutation} bytes");
}

#[test]
fn the_printed_schema_is_the_one_in_the_repository() {
    let kept = include_str!("../../../schema.graphql");
    assert!(
        schema_sdl() == kept,
        "schema.graphql is not what the binary prints: run `make schema` and commit the result"
    );
}

#[test]
fn everything_in_the_schema_is_described() {
    let sdl = schema_sdl();
    let lines: Vec<&str> = sdl.lines().map(str::trim).collect();
    let declares = |line: &str| {
        ["type ", "interface ", "union ", "input ", "enum ", "scalar "].iter().any(|word| line.starts_with(word))
            || !line.is_empty() && line.chars().all(|c| c.is_ascii_uppercase() || c == '_')
            || line.contains(": ") && line.chars().next().is_some_and(char::is_lowercase) && !line.starts_with("): ")
    };
    let roots = ["query: Query", "mutation: Mutation", "subscription: Subscription"];
    let mut inside = false;
    for pair in lines.windows(2) {
        inside ^= pair[0] == r#"""""#;
        if !inside && declares(pair[1]) && !roots.contains(&pair[1]) {
            assert_eq!(pair[0], r#"""""#, "{} has no description", pair[1]);
        }
    }
}

/// The object types of the schema with their names.
fn objects() -> Vec<(String, ObjectType)> {
    let Ok(document) = parse_schema(schema_sdl()) else { unreachable!("the printed schema can be parsed") };
    let objects = document.definitions.into_iter().filter_map(|definition| match definition {
        TypeSystemDefinition::Type(definition) => match definition.node.kind {
            TypeKind::Object(object) => Some((definition.node.name.node.to_string(), object)),
            _ => None,
        },
        _ => None,
    });
    objects.collect()
}

#[test]
fn every_mutation_has_an_input_and_a_payload_of_its_own() {
    let objects = objects();
    let fields = |(_, object): &(String, ObjectType)| object.fields.clone();
    let fields_of = |name: &str| objects.iter().filter(|(it, _)| it == name).flat_map(fields).collect::<Vec<_>>();
    let all: Vec<FieldDefinition> = objects.iter().flat_map(fields).map(|field| field.node).collect();
    let mutations = fields_of("Mutation");
    assert!(!mutations.is_empty());
    for mutation in mutations {
        let name = mutation.node.name.node.as_str();
        let [input] = mutation.node.arguments.as_slice() else { unreachable!("{name} has not one argument") };
        assert_eq!(input.node.name.node.as_str(), "input", "{name}");
        let base = format!("{}{}", name[..1].to_uppercase(), &name[1..]);
        // An input without a required field is optional.
        let input_type = input.node.ty.node.to_string();
        assert_eq!(input_type.trim_end_matches('!'), format!("{base}Input"), "{name}");
        assert_eq!(mutation.node.ty.node.to_string(), format!("{base}Payload"), "{name}");
        let takes_it =
            |field: &&FieldDefinition| field.arguments.iter().any(|it| it.node.ty.node == input.node.ty.node);
        let gives_it = |field: &&FieldDefinition| field.ty.node == mutation.node.ty.node;
        assert_eq!(all.iter().filter(takes_it).count(), 1, "{input_type} belongs to {name} alone");
        assert_eq!(all.iter().filter(gives_it).count(), 1, "the payload of {name} belongs to it alone");
        let user_errors = fields_of(&format!("{base}Payload"));
        assert!(user_errors.iter().any(|field| field.node.name.node == "userErrors"), "{name}");
    }
}
