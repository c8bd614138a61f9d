//! A document that has passed the guard, with its prepared operations.

use std::sync::{Arc, Mutex, PoisonError};

use async_graphql::{
    Name, Positioned, Value, Variables,
    parser::types::{Directive, DocumentOperations, ExecutableDocument, OperationDefinition, Selection, SelectionSet},
};

use super::{limits::GuardLimits, prepared::Prepared, refusal::Refusal, size::DocumentSize};

/// Prepared operations that one document keeps: one for each operation and each choice of its conditions.
const KEPT: usize = 4;
/// Most condition variables of a document whose operations are kept.
const CONDITIONS: usize = 32;
/// Memory of a parsed document for each byte of its text, about.
const OF_TEXT_BYTE: usize = 10;

/// A document that is safe to execute. It is the same for every request, so it can be cached.
#[derive(Debug)]
pub struct SafeDocument {
    parsed: ExecutableDocument,
    size: DocumentSize,
    /// Variables of `@skip` and `@include`.
    conditions: Vec<Name>,
    prepared: Mutex<Vec<(Choice, Arc<Prepared>)>>,
}

/// An operation and the conditions that hold.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Choice {
    operation: Option<Name>,
    conditions: u64,
}

impl SafeDocument {
    pub(super) fn new(parsed: ExecutableDocument, size: DocumentSize) -> Self {
        let mut conditions = Vec::new();
        for (_, operation) in parsed.operations.iter() {
            collect_conditions(&operation.node.selection_set.node, &mut conditions);
        }
        for fragment in parsed.fragments.values() {
            collect_conditions(&fragment.node.selection_set.node, &mut conditions);
        }
        Self { parsed, size, conditions, prepared: Mutex::default() }
    }

    /// The parsed document.
    pub fn parsed(&self) -> &ExecutableDocument {
        &self.parsed
    }

    /// Length of its text.
    pub(super) fn text_bytes(&self) -> usize {
        self.size.bytes
    }

    /// Memory of the document with all operations that it may keep, as the length of an equally heavy text.
    pub fn weight(&self) -> usize {
        let choices = self.parsed.operations.iter().count().saturating_mul(1 << self.conditions.len().min(CONDITIONS));
        let prepared = if self.conditions.len() > CONDITIONS { 0 } else { choices.min(KEPT) };
        let each = Prepared::bytes_of(self.size) / OF_TEXT_BYTE;
        self.size.bytes.saturating_add(each.saturating_mul(prepared))
    }

    /// The operation as it is executed, taken from an earlier request with the same choice if possible.
    pub(super) fn prepared(
        &self,
        (name, operation): (Option<&Name>, &Positioned<OperationDefinition>),
        variables: &Variables,
        limits: &GuardLimits,
    ) -> Arc<Prepared> {
        let new = || Arc::new(Prepared::new(&self.parsed, (name, operation), (self.size, variables), limits));
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

    /// `None` for too many conditions, or for one that is not a boolean, which no schema accepts.
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

    /// The operation that runs if a client asks for this name, or for none.
    pub(crate) fn operation(&self, asked: Option<&str>) -> Option<&OperationDefinition> {
        self.choose(asked.filter(|name| !name.is_empty())).ok().map(|(_, operation)| &operation.node)
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

/// The variable of `@skip` or `@include`.
fn condition(directive: &Directive) -> Option<Name> {
    if !matches!(directive.name.node.as_str(), "skip" | "include") {
        return None;
    }
    directive.get_argument("if")?.node.clone().into_const_with(Err::<Value, Name>).err()
}
