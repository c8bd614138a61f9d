//! The gate before the executor: which documents are small, shallow and sound enough to be validated and executed.
//!
//! Apart, because the executor parses, validates and measures in ways that a few hundred bytes can make last for
//! seconds or end the process. Pure and synchronous. It refuses to know the schema, HTTP and WebSocket.

mod cost;
mod lexer;
mod limits;
mod refusal;
#[cfg(test)]
mod soups;
#[cfg(test)]
mod tests;
mod variables;

use async_graphql::{
    Name, Positioned, Variables,
    parser::{
        parse_query,
        types::{DocumentOperations, ExecutableDocument, OperationDefinition, OperationType, Selection},
    },
};

pub use self::{
    limits::GateLimits,
    refusal::{Refusal, RefusalCode},
};

/// Admits documents within its limits.
#[derive(Debug, Clone, Default)]
pub struct Gate {
    limits: GateLimits,
}

/// A document that is safe to validate and to execute. The same for every request that sends it, so it may be kept.
#[derive(Debug)]
pub struct SafeDocument {
    parsed: ExecutableDocument,
}

/// One operation of a safe document, with variables that fit it: what the executor may be given.
#[derive(Debug)]
pub struct Admitted {
    /// The whole document, parsed.
    pub document: ExecutableDocument,
    /// What kind of operation will run.
    pub operation_type: OperationType,
    /// Its name, if it has one. Pass it on to the executor as the operation to run.
    pub operation_name: Option<String>,
}

impl Gate {
    /// A gate with these limits.
    pub fn new(limits: GateLimits) -> Self {
        Self { limits }
    }

    /// Parses `query` if it is within the limits. Takes time linear in its length, whatever it says.
    pub fn open(&self, query: &str) -> Result<SafeDocument, Refusal> {
        if query.len() > self.limits.query_bytes {
            return Err(Refusal::TooLong { found: query.len(), limit: self.limits.query_bytes });
        }
        lexer::scan(query, &self.limits)?;
        let parsed = parse_query(query)?;
        cost::check(&parsed, &self.limits)?;
        for (_, operation) in parsed.operations.iter() {
            check_subscription(operation)?;
        }
        Ok(SafeDocument { parsed })
    }
}

impl SafeDocument {
    /// Chooses the operation that `operation_name` names, or the only one; an empty name is none.
    ///
    /// Completes `variables` with the operation's defaults and refuses those that its declarations exclude.
    pub fn admit(&self, operation_name: Option<&str>, variables: &mut Variables) -> Result<Admitted, Refusal> {
        let (name, operation) = self.choose(operation_name.filter(|name| !name.is_empty()))?;
        variables::complete(&operation.node, variables)?;
        Ok(Admitted {
            operation_type: operation.node.ty,
            operation_name: name.map(ToString::to_string),
            document: self.parsed.clone(),
        })
    }

    fn choose(&self, asked: Option<&str>) -> Result<(Option<&Name>, &Positioned<OperationDefinition>), Refusal> {
        match (&self.parsed.operations, asked) {
            (DocumentOperations::Single(operation), None) => Ok((None, operation)),
            (DocumentOperations::Multiple(operations), Some(asked)) => operations
                .get_key_value(asked)
                .map(|(name, operation)| (Some(name), operation))
                .ok_or_else(|| Refusal::UnknownOperation { name: asked.to_owned() }),
            (DocumentOperations::Single(_), Some(asked)) => Err(Refusal::UnknownOperation { name: asked.to_owned() }),
            (DocumentOperations::Multiple(operations), None) => match (operations.iter().next(), operations.len()) {
                (Some((name, operation)), 1) => Ok((Some(name), operation)),
                (_, found) => Err(Refusal::OperationNameNeeded { found }),
            },
        }
    }
}

/// A subscription has one root field, in the operation itself: of several the executor would run all, and those inside
/// a fragment it would pass over in silence.
fn check_subscription(operation: &Positioned<OperationDefinition>) -> Result<(), Refusal> {
    if operation.node.ty != OperationType::Subscription {
        return Ok(());
    }
    let roots = &operation.node.selection_set.node.items;
    if roots.len() != 1 {
        return Err(Refusal::SubscriptionRoots { found: roots.len(), at: operation.pos });
    }
    match roots.iter().find(|root| !matches!(root.node, Selection::Field(_))) {
        Some(fragment) => Err(Refusal::SubscriptionFragment { at: fragment.pos }),
        None => Ok(()),
    }
}
