//! Root fields of one response key made one: the executor runs each that is written, and a mutation would happen twice.
//!
//! Apart, because this is the only change that the gate makes to a document; every other it refuses or lets through as it is.

use std::collections::{HashMap, HashSet};

use async_graphql::{
    Name, Positioned, Value, Variables,
    parser::types::{
        Directive, ExecutableDocument, Field, InlineFragment, OperationDefinition, Selection, SelectionSet,
    },
};

/// The selections of `operation` with each response key once at the root, the nested selections of its fields one after the
/// other (specification, 6.3.2); none if that is so already. Of a document that has passed the gate, with complete variables.
pub fn merged(
    document: &ExecutableDocument,
    operation: &Positioned<OperationDefinition>,
    variables: &Variables,
) -> Option<SelectionSet> {
    let mut roots = Roots { document, variables, fields: Vec::new(), visited: HashSet::new(), spreads_twice: false };
    let written = &operation.node.selection_set;
    roots.collect(&written.node);
    let mut keys = HashSet::new();
    if roots.fields.iter().all(|root| keys.insert(&root.node.response_key().node)) && !roots.spreads_twice {
        return None;
    }
    let mut once: Vec<Positioned<Field>> = Vec::new();
    let mut places: HashMap<&Name, usize> = HashMap::new();
    for field in roots.fields {
        let place = *places.entry(&field.node.response_key().node).or_insert(once.len());
        match once.get_mut(place) {
            Some(first) => {
                let more = field.node.selection_set.node.items.iter().cloned();
                first.node.selection_set.node.items.extend(more);
            }
            None => once.push(field.clone()),
        }
    }
    let field = |field: Positioned<Field>| {
        let at = field.pos;
        Positioned::new(Selection::Field(field), at)
    };
    let mut items: Vec<Positioned<Selection>> = once.into_iter().map(field).collect();
    items.push(never(written));
    Some(SelectionSet { items })
}

struct Roots<'a> {
    document: &'a ExecutableDocument,
    variables: &'a Variables,
    fields: Vec<&'a Positioned<Field>>,
    visited: HashSet<&'a Name>,
    spreads_twice: bool,
}

impl<'a> Roots<'a> {
    /// Type conditions are all met: validation lets only the root's own type stand there.
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

/// What was written, skipped: the executor's validation still sees every fragment and every variable used.
fn never(written: &Positioned<SelectionSet>) -> Positioned<Selection> {
    let at = written.pos;
    let always = Positioned::new(Value::Boolean(true).into_value(), at);
    let arguments = vec![(Positioned::new(Name::new("if"), at), always)];
    let skip = Directive { name: Positioned::new(Name::new("skip"), at), arguments };
    let inline = InlineFragment {
        type_condition: None,
        directives: vec![Positioned::new(skip, at)],
        selection_set: written.clone(),
    };
    Positioned::new(Selection::InlineFragment(Positioned::new(inline, at)), at)
}

/// Whether `@skip` or `@include` take a selection with these directives out.
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
