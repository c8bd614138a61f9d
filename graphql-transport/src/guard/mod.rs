//! Decides which documents are small, shallow and sound enough to be executed.
//!
//! A few hundred bytes can keep the executor's parser, validation and limits busy for seconds, or end the process.
//! The guard comes before it. It is pure and synchronous, knows a schema by its [`Shape`], and knows neither HTTP nor
//! WebSocket.

mod cost;
#[cfg(test)]
mod cost_tests;
mod description;
mod document;
mod fault;
mod field_merging;
#[cfg(test)]
mod fuzz;
mod limits;
mod parsing;
mod positions;
mod prepared;
mod refusal;
mod rules;
mod shape;
mod size;
#[cfg(test)]
mod tests;
mod tokens;
mod types;
#[cfg(test)]
mod validity;
mod variable_usage;
mod variables;

use std::sync::Arc;

use async_graphql::{
    Positioned, Variables,
    parser::types::{OperationDefinition, OperationType, Selection},
};

pub use self::{
    document::SafeDocument,
    fault::Fault,
    limits::GuardLimits,
    prepared::{OperationId, Prepared},
    refusal::{Refusal, RefusalCode},
    shape::{CostHints, PageSizes, Shape},
    types::{ScalarCheck, UnreadableSchema},
};

/// Admits documents within its limits.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    limits: GuardLimits,
    shape: Shape,
}

/// An operation of a safe document with valid variables, ready for the executor.
#[derive(Debug)]
pub struct Admitted {
    /// The operation, shared with all requests that have chosen the same.
    pub operation: Arc<Prepared>,
    /// Its cost with its variables, in points.
    pub cost: u64,
}

impl Guard {
    /// A guard with these limits for a schema of this shape.
    pub fn new(limits: GuardLimits, shape: Shape) -> Self {
        Self { limits, shape }
    }

    /// The cost of [`Self::open`] in points; 0 for a document that is too long to be parsed.
    pub fn reading(&self, query: &str) -> u64 {
        if query.len() > self.limits.query_bytes { 0 } else { cost::of_reading(query.len()) }
    }

    /// Parses `query` if it is within the limits, and validates it. Parsing takes time linear in its length;
    /// validation takes time linear in its expansion, which the limits bound.
    pub fn open(&self, query: &str) -> Result<SafeDocument, Refusal> {
        if query.len() > self.limits.query_bytes {
            return Err(Refusal::TooLong { found: query.len(), limit: self.limits.query_bytes });
        }
        let document = parsing::parse(query, &self.limits)?;
        let parsed = parsing::executable(&document, query)?;
        let (operations, fragments) = (parsed.operations.iter().count(), parsed.fragments.len());
        if operations > self.limits.operations {
            return Err(Refusal::TooManyOperations { found: operations, limit: self.limits.operations });
        }
        if fragments > self.limits.fragments {
            return Err(Refusal::TooManyFragments { found: fragments, limit: self.limits.fragments });
        }
        let size = size::check(&parsed, query.len(), &self.limits)?;
        for (_, operation) in parsed.operations.iter() {
            check_subscription(operation)?;
            let set = &operation.node.selection_set.node;
            if !self.limits.introspection && cost::describes_schema(&parsed, set, &self.limits) {
                return Err(Refusal::NoIntrospection { at: operation.pos });
            }
        }
        self.shape.check((&document, query), self.limits.introspection)?;
        Ok(SafeDocument::new(parsed, size))
    }

    /// Chooses the operation named `operation_name`, or the only one; an empty name counts as absent.
    ///
    /// Fills in the defaults of `variables`. Refuses variables that do not fit the declarations or the schema, and
    /// operations that cost too much with them.
    pub fn admit(
        &self,
        document: &SafeDocument,
        operation_name: Option<&str>,
        variables: &mut Variables,
    ) -> Result<Admitted, Refusal> {
        let (name, operation) = document.choose(operation_name.filter(|name| !name.is_empty()))?;
        let variable_bytes = variables::measure(variables, &self.limits)?;
        let complete = variables::complete(&operation.node, &self.shape, variables);
        complete.map_err(|refusal| if self.limits.introspection { refusal } else { refusal.without_names() })?;
        let prepared = document.prepared((name, operation), variables, &self.limits);
        let set = prepared.merged().unwrap_or(&operation.node.selection_set.node);
        let of_bytes = cost::of_request(document.text_bytes().saturating_add(variable_bytes));
        let of_operation = cost::of_operation(document.parsed(), (operation.node.ty, set), variables, &self.shape);
        let cost = cost::points(of_operation.saturating_add(of_bytes));
        if cost > self.limits.cost {
            return Err(Refusal::TooExpensive { found: cost, limit: self.limits.cost });
        }
        Ok(Admitted { operation: prepared, cost })
    }
}

/// A subscription has one root field, in the operation itself. The executor would run several, and silently ignore
/// those inside a fragment.
fn check_subscription(operation: &Positioned<OperationDefinition>) -> Result<(), Refusal> {
    if operation.node.ty != OperationType::Subscription {
        return Ok(());
    }
    let roots = &operation.node.selection_set.node.items;
    if roots.len() != 1 {
        return Err(Refusal::ManyRootFields { found: roots.len(), at: operation.pos });
    }
    match roots.iter().find(|root| !matches!(root.node, Selection::Field(_))) {
        Some(fragment) => Err(Refusal::SubscriptionFragment { at: fragment.pos }),
        None => Ok(()),
    }
}
