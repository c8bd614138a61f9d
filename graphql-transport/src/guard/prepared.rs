//! Prepares an operation once for all requests that run it.
//!
//! The executor takes a document by value, copies it into each request, looks fragments up by name, and evaluates
//! `@skip` and `@include`. Here all of that is done once, and fragments are expanded, which the guard's limits bound.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
};

use async_graphql::{
    Name, Positioned, Variables,
    parser::types::{
        Directive, DocumentOperations, ExecutableDocument, Field, FragmentDefinition, InlineFragment,
        OperationDefinition, OperationType, Selection, SelectionSet,
    },
};

use super::{cost, field_merging, limits::GuardLimits, size::DocumentSize};

/// Most fields of a document that are expanded.
const WRITTEN_OUT: usize = 4_000;
/// Most bytes of strings in the arguments of a document that is expanded. Without fragments no document has more.
const WRITTEN_OUT_BYTES: usize = 64 * 1024;
/// Memory of a selection, about.
const SELECTION_BYTES: usize = 300;

/// Tells operations apart as long as the process runs. What one selects does not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OperationId(u64);

impl OperationId {
    fn next() -> Self {
        static USED: AtomicU64 = AtomicU64::new(0);
        Self(USED.fetch_add(1, Ordering::Relaxed))
    }
}

/// An operation without fragments and conditions, for one choice of its conditions. An operation that is too long to
/// expand stays as it is written.
#[derive(Debug)]
pub struct Prepared {
    id: OperationId,
    name: Option<Name>,
    operation: Positioned<OperationDefinition>,
    /// For an operation that is not expanded.
    fragments: Option<HashMap<Name, Positioned<FragmentDefinition>>>,
    /// The root's selections with each response key once, if that differs from the text. Keeps fragments.
    merged: Option<SelectionSet>,
    describes_schema: bool,
    /// Its memory, about.
    bytes: usize,
}

impl Prepared {
    pub(super) fn new(
        document: &ExecutableDocument,
        (name, operation): (Option<&Name>, &Positioned<OperationDefinition>),
        (size, variables): (DocumentSize, &Variables),
        limits: &GuardLimits,
    ) -> Self {
        let merged = field_merging::merged(document, operation, variables);
        let OperationDefinition { ty, variable_definitions, selection_set, .. } = &operation.node;
        let set = merged.as_ref().unwrap_or(&selection_set.node);
        let describes_schema = cost::describes_schema(document, set, limits);
        let (set, fragments) = if is_written_out(size) {
            (WritingOut { document, variables }.set(set), None)
        } else {
            (set.clone(), Some(document.fragments.clone()))
        };
        let definition = OperationDefinition {
            ty: *ty,
            variable_definitions: variable_definitions.clone(),
            directives: Vec::new(),
            selection_set: Positioned::new(set, selection_set.pos),
        };
        let (id, operation) = (OperationId::next(), Positioned::new(definition, operation.pos));
        let bytes = Self::bytes_of(size);
        Self { id, name: name.cloned(), operation, fragments, merged, describes_schema, bytes }
    }

    /// The memory of a prepared operation of a document of this size, about.
    pub(super) fn bytes_of(document: DocumentSize) -> usize {
        let DocumentSize { bytes, fields, string_bytes } = document;
        // A selection takes two bytes of text at least.
        let written = (bytes.div_ceil(2).min(WRITTEN_OUT), bytes);
        let (fields, strings) = if is_written_out(document) { (fields, string_bytes) } else { written };
        fields.saturating_mul(SELECTION_BYTES).saturating_add(strings)
    }

    /// The most that [`Self::bytes`] can be.
    pub(crate) const MOST_BYTES: usize = WRITTEN_OUT * SELECTION_BYTES + WRITTEN_OUT_BYTES;

    /// Its memory in bytes, about.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its id.
    pub const fn id(&self) -> OperationId {
        self.id
    }

    /// The kind of operation.
    pub fn operation_type(&self) -> OperationType {
        self.operation.node.ty
    }

    /// Its name, if it has one.
    pub fn name(&self) -> Option<&Name> {
        self.name.as_ref()
    }

    /// Its root selections.
    pub fn selections(&self) -> &Positioned<SelectionSet> {
        &self.operation.node.selection_set
    }

    /// Its root's fields, once for each response key, of fragments too.
    pub fn root_fields(&self) -> Vec<&Field> {
        let (mut fields, mut sets) = (Vec::new(), vec![&self.selections().node]);
        while let Some(set) = sets.pop() {
            for selection in &set.items {
                match &selection.node {
                    Selection::Field(field) => fields.push(&field.node),
                    Selection::InlineFragment(inline) => sets.push(&inline.node.selection_set.node),
                    Selection::FragmentSpread(spread) => {
                        let fragment = self.fragments.as_ref().and_then(|it| it.get(&spread.node.fragment_name.node));
                        sets.extend(fragment.map(|it| &it.node.selection_set.node));
                    }
                }
            }
        }
        fields
    }

    /// Whether its root can be resolved directly: it has no fragments, no conditions and no introspection.
    pub fn is_plain(&self) -> bool {
        self.fragments.is_none() && !self.describes_schema
    }

    /// The operation with its variables but without selections.
    pub fn head(&self) -> Positioned<OperationDefinition> {
        let OperationDefinition { ty, variable_definitions, selection_set, .. } = &self.operation.node;
        let definition = OperationDefinition {
            ty: *ty,
            variable_definitions: variable_definitions.clone(),
            directives: Vec::new(),
            selection_set: Positioned::new(SelectionSet::default(), selection_set.pos),
        };
        Positioned::new(definition, self.operation.pos)
    }

    /// A copy in the form that the executor takes.
    pub fn document(&self) -> ExecutableDocument {
        let operation = self.operation.clone();
        let operations = match &self.name {
            None => DocumentOperations::Single(operation),
            Some(name) => DocumentOperations::Multiple(HashMap::from([(name.clone(), operation)])),
        };
        ExecutableDocument { operations, fragments: self.fragments.clone().unwrap_or_default() }
    }

    pub(super) fn merged(&self) -> Option<&SelectionSet> {
        self.merged.as_ref()
    }
}

fn is_written_out(document: DocumentSize) -> bool {
    document.fields <= WRITTEN_OUT && document.string_bytes <= WRITTEN_OUT_BYTES
}

struct WritingOut<'a> {
    document: &'a ExecutableDocument,
    variables: &'a Variables,
}

impl WritingOut<'_> {
    /// The guard has refused cycles and bounds the depth.
    fn set(&self, set: &SelectionSet) -> SelectionSet {
        let stay = set.items.iter().filter(|it| !field_merging::is_skipped(it.node.directives(), self.variables));
        let items = stay.filter_map(|it| Some(Positioned::new(self.selection(&it.node)?, it.pos)));
        SelectionSet { items: items.collect() }
    }

    fn selection(&self, selection: &Selection) -> Option<Selection> {
        match selection {
            Selection::Field(field) => {
                let Field { alias, name, arguments, directives, selection_set } = &field.node;
                let written = Field {
                    alias: alias.clone(),
                    name: name.clone(),
                    arguments: arguments.clone(),
                    directives: unconditional(directives),
                    selection_set: self.positioned(selection_set),
                };
                Some(Selection::Field(Positioned::new(written, field.pos)))
            }
            Selection::InlineFragment(inline) => {
                let InlineFragment { type_condition, directives, selection_set } = &inline.node;
                let written = InlineFragment {
                    type_condition: type_condition.clone(),
                    directives: unconditional(directives),
                    selection_set: self.positioned(selection_set),
                };
                Some(Selection::InlineFragment(Positioned::new(written, inline.pos)))
            }
            Selection::FragmentSpread(spread) => {
                let fragment = &self.document.fragments.get(&spread.node.fragment_name.node)?.node;
                let written = InlineFragment {
                    type_condition: Some(fragment.type_condition.clone()),
                    directives: unconditional(&spread.node.directives),
                    selection_set: self.positioned(&fragment.selection_set),
                };
                Some(Selection::InlineFragment(Positioned::new(written, spread.pos)))
            }
        }
    }

    fn positioned(&self, set: &Positioned<SelectionSet>) -> Positioned<SelectionSet> {
        Positioned::new(self.set(&set.node), set.pos)
    }
}

/// The directives that remain after the conditions are decided.
fn unconditional(directives: &[Positioned<Directive>]) -> Vec<Positioned<Directive>> {
    let is_condition = |directive: &Directive| matches!(directive.name.node.as_str(), "skip" | "include");
    directives.iter().filter(|directive| !is_condition(&directive.node)).cloned().collect()
}
