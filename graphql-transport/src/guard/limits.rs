//! The bounds of a document, in one struct that a service fills from its configuration.

/// Limits of one GraphQL document and of one operation in it. Every bound is inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuardLimits {
    /// Length of the query text in bytes of UTF-8. 64 KiB.
    pub query_bytes: usize,
    /// Brackets, braces and parentheses open at once, in selections and values together. 64.
    pub nesting: usize,
    /// Lexical tokens. 4,000.
    pub tokens: usize,
    /// Bytes of one name or number. Longer ones are refused before they are compared with the schema. 256.
    pub name_bytes: usize,
    /// Fields after every fragment has been expanded, over all operations of the document; spreads, directives
    /// and argument values count as fields. 2,000.
    pub expanded_fields: u64,
    /// Aliases after every fragment has been expanded. 50.
    pub aliases: u64,
    /// Fields within fields, fragments expanded. 15: exactly what the introspection query of graphql-js needs.
    pub depth: usize,
    /// Selection sets within selection sets, those of fragments included. 32, which is also where the executor stops.
    pub selection_levels: usize,
    /// Lists within lists of the schema's description: `fields`, `inputFields`, `interfaces`, `possibleTypes` inside
    /// `__schema` or `__type`. 2, as in graphql-js: each level multiplies the answer by the schema's size.
    pub introspection_lists: usize,
    /// Operations in one document; one of them runs. 20.
    pub operations: usize,
    /// Fragments defined in one document. 200.
    pub fragments: usize,
    /// Directives at one place. 10.
    pub directives: usize,
    /// Approximate bytes of all variables, as JSON without spaces. 64 KiB.
    pub variable_bytes: usize,
    /// Lists and objects within each other in one variable. 16.
    pub variable_nesting: usize,
    /// Points of one operation with its variables. 25,000.
    pub cost: u64,
    /// Whether introspection is allowed.
    pub introspection: bool,
}

impl Default for GuardLimits {
    fn default() -> Self {
        Self {
            query_bytes: 64 * 1024,
            nesting: 64,
            tokens: 4000,
            name_bytes: 256,
            expanded_fields: 2000,
            aliases: 50,
            depth: 15,
            selection_levels: 32,
            introspection_lists: 2,
            operations: 20,
            fragments: 200,
            directives: 10,
            variable_bytes: 64 * 1024,
            variable_nesting: 20,
            cost: 25_000,
            introspection: true,
        }
    }
}
