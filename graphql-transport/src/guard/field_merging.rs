//! Merges root fields with the same response key. The executor would run each of them, so a mutation would happen
//! twice.
//!
//! This is the only change that the guard makes to a document.

use std::collections::{HashMap, HashSet};

use async_graphql::{
    Name, Positioned, Value, Variables,
    parser::types::{Directive, ExecutableDocument, Field, OperationDefinition, Selection, SelectionSet},
};

/// The root selections of `operation` with each response key once: the nested selections of equal fields are
/// concatenated (specification, 6.3.2). `None` if nothing needs merging. The document has passed the guard, and the
/// variables are complete.
pub fn merged(
    document: &ExecutableDocument,
    operation: &Positioned<OperationDefinition>,
    variables: &Variables,
) -> Option<SelectionSet> {
    let mut roots =
        FieldMerging { document, variables, fields: Vec::new(), visited: HashSet::new(), spreads_twice: false };
    roots.collect(&operation.node.selection_set.node);
    let mut keys = HashSet::new();
    if roots.fields.iter().all(|root| keys.insert(&root.node.response_key().node)) && !roots.spreads_twice {
        return None;
    }
    let mut once: Vec<Positioned<Field>> = Vec::new();
    let mut indexes: HashMap<&Name, usize> = HashMap::new();
    let mut leaves = HashSet::new();
    for field in roots.fields {
        let key = &field.node.response_key().node;
        let inside = field.node.selection_set.node.items.iter();
        let new = inside.filter(|inner| leaf(&inner.node).is_none_or(|leaf| leaves.insert((key, leaf)))).cloned();
        let index = *indexes.entry(key).or_insert(once.len());
        if let Some(first) = once.get_mut(index) {
            first.node.selection_set.node.items.extend(new);
        } else {
            let mut first = field.clone();
            first.node.selection_set.node.items = new.collect();
            once.push(first);
        }
    }
    let field = |field: Positioned<Field>| {
        let at = field.pos;
        Positioned::new(Selection::Field(field), at)
    };
    Some(SelectionSet { items: once.into_iter().map(field).collect() })
}

/// Response key and name of a field without arguments, directives and selections. If it is selected twice, it is
/// answered once.
fn leaf(selection: &Selection) -> Option<(&Name, &Name)> {
    let Selection::Field(field) = selection else { return None };
    let Field { arguments, directives, selection_set, .. } = &field.node;
    let is_leaf = arguments.is_empty() && directives.is_empty() && selection_set.node.items.is_empty();
    is_leaf.then(|| (&field.node.response_key().node, &field.node.name.node))
}

struct FieldMerging<'a> {
    document: &'a ExecutableDocument,
    variables: &'a Variables,
    fields: Vec<&'a Positioned<Field>>,
    visited: HashSet<&'a Name>,
    spreads_twice: bool,
}

impl<'a> FieldMerging<'a> {
    /// All type conditions hold, because validation allows only the root's own type here.
    fn collect(&mut self, set: &'a SelectionSet) {
        for selection in &set.items {
            if is_skipped(selection.node.directives(), self.variables) {
                continue;
            }
            match &selection.node {
                Selection::Field(field) => self.fields.push(field),
                Selection::InlineFragment(inline) => self.collect(&inline.node.selection_set.node),
                Selection::FragmentSpread(spread) => {
                    let (document, name) = (self.document, &spread.node.fragment_name.node);
                    let Some(fragment) = document.fragments.get(name) else { continue };
                    if self.visited.insert(name) {
                        self.collect(&fragment.node.selection_set.node);
                    } else {
                        self.spreads_twice = true;
                    }
                }
            }
        }
    }
}

/// Whether `@skip` or `@include` remove a selection with these directives.
pub fn is_skipped(directives: &[Positioned<Directive>], variables: &Variables) -> bool {
    directives.iter().any(|directive| {
        let takes_out = match directive.node.name.node.as_str() {
            "skip" => true,
            "include" => false,
            _ => return false,
        };
        directive.node.get_argument("if").is_some_and(|value| {
            let condition = value.node.clone().into_const_with(|name| variables.get(&name).cloned().ok_or(()));
            condition == Ok(Value::Boolean(takes_out))
        })
    })
}
