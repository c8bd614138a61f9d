//! What an operation costs in points before it runs: each object one, those in a list as often as the list is long.
//! docs/cost.md has the formula.
//!
//! Apart from `cost`, which knows no schema and no variables and bounds every operation of a document; this is the price of
//! one operation with its variables. Each fragment is priced once, so that time stays linear in the document.

use std::collections::HashMap;

use async_graphql::{
    Name, Value, Variables,
    parser::types::{ExecutableDocument, Field, OperationType, Selection, SelectionSet},
};

use super::{GateLimits, Shape, roots::is_skipped, shape::FieldShape};
use crate::domain::limits::{DEFAULT_PAGE, MAX_PAGE};

/// What every operation costs, whatever it selects.
const OPERATION: u64 = 1;
/// What each field of the mutation costs beside its objects: it writes.
const MUTATION: u64 = 10;
/// What looking through the store costs beside what is found.
const SEARCH: u64 = 20;
/// How long a list is taken to be of which nothing says how long it is, not even the schema's [`super::Shape::weighed`].
const UNSIZED_LIST: u64 = 10;
/// What the description of the schema costs: it is the same each time, and no store is asked.
const DESCRIPTION: u64 = 50;

/// The price of an operation that selects `set`, with `variables`, saturating. Fields that the schema does not have cost nothing: validation
/// refuses them. Of a document that has passed the gate: fragments form no cycle.
pub fn price(
    document: &ExecutableDocument,
    (operation_type, set): (OperationType, &SelectionSet),
    variables: &Variables,
    shape: &Shape,
) -> u64 {
    let mut walk = Walk { document, variables, shape, fragments: HashMap::new() };
    let inside = walk.selections(set, shape.root(operation_type));
    OPERATION.saturating_add(inside.within_page(UNSIZED_LIST))
}

/// Whether `operation`, or what it spreads, asks for the description of the schema at its root.
pub fn describes_schema(document: &ExecutableDocument, set: &SelectionSet, limits: &GateLimits) -> bool {
    // Each level of spreads is bounded by the gate; a root's fragments are few.
    let mut waiting = vec![(set, 0)];
    let mut looked_into = std::collections::HashSet::new();
    while let Some((set, level)) = waiting.pop() {
        for selection in &set.items {
            match &selection.node {
                Selection::Field(field) if matches!(field.node.name.node.as_str(), "__schema" | "__type") => {
                    return true;
                }
                Selection::Field(_) => {}
                Selection::InlineFragment(inline) => waiting.push((&inline.node.selection_set.node, level + 1)),
                Selection::FragmentSpread(spread) => {
                    let name = &spread.node.fragment_name.node;
                    let Some(fragment) = document.fragments.get(name) else { continue };
                    if level < limits.selection_levels && looked_into.insert(name) {
                        waiting.push((&fragment.node.selection_set.node, level + 1));
                    }
                }
            }
        }
    }
    false
}

/// Points of a selection set: some whatever the page around it, some for each entry of that page.
#[derive(Debug, Clone, Copy, Default)]
struct Points {
    fixed: u64,
    per_entry: u64,
}

impl Points {
    fn add(&mut self, other: Self) {
        self.fixed = self.fixed.saturating_add(other.fixed);
        self.per_entry = self.per_entry.saturating_add(other.per_entry);
    }

    fn within_page(self, entries: u64) -> u64 {
        self.fixed.saturating_add(self.per_entry.saturating_mul(entries))
    }
}

struct Walk<'a> {
    document: &'a ExecutableDocument,
    variables: &'a Variables,
    shape: &'a Shape,
    fragments: HashMap<&'a str, Points>,
}

impl<'a> Walk<'a> {
    fn selections(&mut self, set: &'a SelectionSet, parent: &str) -> Points {
        let mut total = Points::default();
        for selection in &set.items {
            if is_skipped(selection.node.directives(), self.variables) {
                continue;
            }
            total.add(match &selection.node {
                Selection::Field(field) => self.field(&field.node, parent),
                Selection::FragmentSpread(spread) => self.fragment(&spread.node.fragment_name.node),
                Selection::InlineFragment(inline) => {
                    let condition = inline.node.type_condition.as_ref().map(|it| it.node.on.node.as_str());
                    self.selections(&inline.node.selection_set.node, condition.unwrap_or(parent))
                }
            });
        }
        total
    }

    fn fragment(&mut self, name: &'a Name) -> Points {
        if let Some(known) = self.fragments.get(name.as_str()) {
            return *known;
        }
        let Some(definition) = self.document.fragments.get(name) else { return Points::default() };
        let on = definition.node.type_condition.node.on.node.as_str();
        let points = self.selections(&definition.node.selection_set.node, on);
        self.fragments.insert(name.as_str(), points);
        points
    }

    fn field(&mut self, field: &'a Field, parent: &str) -> Points {
        let name = field.name.node.as_str();
        if matches!(name, "__schema" | "__type") {
            return Points { fixed: DESCRIPTION, per_entry: 0 };
        }
        let shape = self.shape;
        let Some(known) = shape.field(parent, name) else { return Points::default() };
        let writes = if parent == shape.root(OperationType::Mutation) { MUTATION } else { 0 };
        let looks = if name == "search" && parent == shape.root(OperationType::Query) { SEARCH } else { 0 };
        let mut total = Points { fixed: writes.saturating_add(looks).saturating_add(known.surcharge), per_entry: 0 };
        if shape.is_composite(&known.leads_to) || !field.selection_set.node.items.is_empty() {
            total.add(self.objects(field, known));
        }
        total
    }

    fn objects(&mut self, field: &'a Field, known: &FieldShape) -> Points {
        let inside = self.selections(&field.selection_set.node, &known.leads_to);
        let each = inside.within_page(if known.is_paged { self.page(field) } else { UNSIZED_LIST }).saturating_add(1);
        match (known.is_list, known.is_paged, self.named(field).or(known.entries)) {
            (false, ..) => Points { fixed: each, per_entry: 0 },
            (true, true, _) => Points { fixed: each.saturating_mul(self.page(field)), per_entry: 0 },
            (true, false, Some(count)) => Points { fixed: each.saturating_mul(count), per_entry: 0 },
            (true, false, None) => Points { fixed: 0, per_entry: each },
        }
    }

    /// What `first` or `last` ask for, the default page where neither does. Of more than a page the resolver refuses all.
    fn page(&self, field: &Field) -> u64 {
        let asked = field.arguments.iter().filter(|(name, _)| matches!(name.node.as_str(), "first" | "last"));
        let sizes =
            asked.filter_map(|(_, value)| match value.node.clone().into_const_with(|name| self.variable(&name)) {
                Ok(Value::Number(number)) => number.as_i64().map(|size| u64::try_from(size).unwrap_or(0)),
                _ => None,
            });
        sizes.max().unwrap_or(u64::from(DEFAULT_PAGE)).min(u64::from(MAX_PAGE))
    }

    /// The length of the longest list among the arguments: what a field of this kind is asked for by name.
    fn named(&self, field: &Field) -> Option<u64> {
        let lists = field.arguments.iter().filter_map(|(_, value)| {
            match value.node.clone().into_const_with(|name| self.variable(&name)) {
                Ok(Value::List(items)) => Some(items.len()),
                _ => None,
            }
        });
        lists.max().map(|count| u64::try_from(count).unwrap_or(u64::MAX))
    }

    fn variable(&self, name: &Name) -> Result<Value, ()> {
        self.variables.get(name).cloned().ok_or(())
    }
}
