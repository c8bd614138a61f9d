//! A document that has passed the guard, with the operations that were prepared of it.

use std::sync::{Arc, Mutex, PoisonError};

use async_graphql::{
    Name, Positioned, Value, Variables,
    parser::types::{Directive, DocumentOperations, ExecutableDocument, OperationDefinition, Selection, SelectionSet},
};

use super::{limits::GuardLimits, prepared::Prepared, refusal::Refusal};

/// Operations of one document that stay prepared: one for each operation and each choice of its conditions.
const KEPT: usize = 4;
/// Variables that conditions depend on, of a document whose operations stay prepared.
const CONDITIONS: usize = 32;
/// What a prepared selection takes in memory, in bytes of text: a parsed document takes about ten times its text.
const SELECTION_BYTES: usize = 20;

/// A document that is safe to execute. The same for every request that sends it, so it may be kept.
#[derive(Debug)]
pub struct SafeDocument {
    parsed: ExecutableDocument,
    /// Length of its text.
    bytes: usize,
    /// Fields, fragments written out, of all operations.
    fields: usize,
    /// Variables that decide what `@skip` and `@include` take out.
    conditions: Vec<Name>,
    prepared: Mutex<Vec<(Choice, Arc<Prepared>)>>,
}

/// Which operation, and which of the conditions hold.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Choice {
    operation: Option<Name>,
    conditions: u64,
}

impl SafeDocument {
    pub(super) fn new(parsed: ExecutableDocument, bytes: usize, fields: u64) -> Self {
        let mut conditions = Vec::new();
        for (_, operation) in parsed.operations.iter() {
            collect_conditions(&operation.node.selection_set.node, &mut conditions);
        }
        for fragment in parsed.fragments.values() {
            collect_conditions(&fragment.node.selection_set.node, &mut conditions);
        }
        let fields = usize::try_from(fields).unwrap_or(usize::MAX);
        Self { parsed, bytes, fields, conditions, prepared: Mutex::default() }
    }

    /// The document as it was parsed.
    pub fn parsed(&self) -> &ExecutableDocument {
        &self.parsed
    }

    /// Length of its text.
    pub(super) fn text_bytes(&self) -> usize {
        self.bytes
    }

    /// What it takes in memory with all that may stay prepared of it, as the length of a text that takes as much.
    pub fn weight(&self) -> usize {
        let choices = self.parsed.operations.iter().count().saturating_mul(1 << self.conditions.len().min(CONDITIONS));
        let prepared = if self.conditions.len() > CONDITIONS { 0 } else { choices.min(KEPT) };
        self.bytes.saturating_add(self.fields.saturating_mul(prepared * SELECTION_BYTES))
    }

    /// The operation as it is executed, from an earlier request if one has chosen the same.
    pub(super) fn prepared(
        &self,
        (name, operation): (Option<&Name>, &Positioned<OperationDefinition>),
        variables: &Variables,
        limits: &GuardLimits,
    ) -> Arc<Prepared> {
        let new = || Arc::new(Prepared::new(&self.parsed, (name, operation), (self.fields, variables), limits));
        let Some(choice) = self.choice((name, operation), variables) else { return new() };
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = prepared.iter().find(|(chosen, _)| *chosen == choice) {
            return Arc::clone(known);
        }
        if prepared.len() >= KEPT {
            prepared.remove(0);
        }
        let new = new();
        prepared.push((choice, Arc::clone(&new)));
        new
    }

    /// `None` where a choice has too many conditions, or one that is no boolean, as no schema lets through.
    fn choice(
        &self,
        (name, operation): (Option<&Name>, &Positioned<OperationDefinition>),
        variables: &Variables,
    ) -> Option<Choice> {
        if self.conditions.len() > CONDITIONS {
            return None;
        }
        let declared = &operation.node.variable_definitions;
        let mut conditions = 0;
        for (bit, condition) in self.conditions.iter().enumerate() {
            if declared.iter().any(|it| it.node.name.node == *condition) {
                let Some(Value::Boolean(holds)) = variables.get(condition) else { return None };
                conditions |= u64::from(*holds) << bit;
            }
        }
        Some(Choice { operation: name.cloned(), conditions })
    }

    pub(super) fn choose(
        &self,
        asked: Option<&str>,
    ) -> Result<(Option<&Name>, &Positioned<OperationDefinition>), Refusal> {
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

/// The guard bounds the depth.
fn collect_conditions(set: &SelectionSet, found: &mut Vec<Name>) {
    for selection in &set.items {
        for directive in selection.node.directives() {
            if let Some(name) = condition(&directive.node).filter(|name| !found.contains(name)) {
                found.push(name);
            }
        }
        match &selection.node {
            Selection::Field(field) => collect_conditions(&field.node.selection_set.node, found),
            Selection::InlineFragment(inline) => collect_conditions(&inline.node.selection_set.node, found),
            Selection::FragmentSpread(_) => {}
        }
    }
}

/// The variable that decides what `@skip` or `@include` does.
fn condition(directive: &Directive) -> Option<Name> {
    if !matches!(directive.name.node.as_str(), "skip" | "include") {
        return None;
    }
    directive.get_argument("if")?.node.clone().into_const_with(Err::<Value, Name>).err()
}
