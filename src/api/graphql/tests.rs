//! The schema as a whole.

use super::schema_sdl;

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
