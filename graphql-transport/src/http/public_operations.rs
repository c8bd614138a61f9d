//! Finds operations that need no token. Clients send the token that they have; one that has ended must not keep them
//! from signing in.

use async_graphql::parser::types::{OperationDefinition, OperationType, Selection, SelectionSet};

/// Whether the operation is a mutation of only the fields in `named` and perhaps `__typename`.
pub(super) fn needs_no_token(operation: &OperationDefinition, named: &[&str]) -> bool {
    operation.ty == OperationType::Mutation && consists_of(&operation.selection_set.node, named)
}

/// Whether `set` has only the fields in `named` and perhaps `__typename`.
pub(super) fn consists_of(set: &SelectionSet, named: &[&str]) -> bool {
    let fields = &set.items;
    let is_named = |selection: &Selection, extra: &[&str]| match selection {
        Selection::Field(field) => {
            let name = field.node.name.node.as_str();
            named.contains(&name) || extra.contains(&name)
        }
        _ => false,
    };
    fields.iter().any(|it| is_named(&it.node, &[])) && fields.iter().all(|it| is_named(&it.node, &["__typename"]))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;
    use crate::guard::Guard;

    #[test]
    fn only_an_operation_of_these_mutations_alone_needs_no_token() {
        for (document, operation, expected) in [
            ("mutation { signIn { token } }", None, true),
            ("mutation M { a: signIn { token } refreshToken { token } __typename }", Some("M"), true),
            ("query Q { viewer } mutation M { signIn { token } }", Some("M"), true),
            ("query Q { viewer } mutation M { signIn { token } }", Some("Q"), false),
            ("query Q { viewer } mutation M { signIn { token } }", None, false),
            ("mutation { signIn { token } publish { id } }", None, false),
            ("mutation { ...F } fragment F on Mutation { signIn { token } }", None, false),
            ("mutation { ... on Mutation { signIn { token } } }", None, false),
            ("mutation { __typename }", None, false),
            ("{ signIn }", None, false),
            ("subscription { signIn }", None, false),
            ("mutation { signin: publish { id } }", None, false),
            ("mutation { signIn: publish { id } }", None, false),
        ] {
            let opened = Guard::default().open(document).unwrap();
            let chosen = opened.operation(operation);
            let found = chosen.is_some_and(|it| needs_no_token(it, &["signIn", "refreshToken"]));
            assert_eq!(found, expected, "{document}");
        }
    }
}
