//! What an operation costs before it runs, in thousandths of a point: its objects, its fields, the bytes that it may answer; those in a list as
//! often as the list is long. docs/cost.md has the formula, `make bench` holds it against the processor's time.
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

/// A point, in what is counted here.
const POINT: u64 = 1_000;
/// What every operation costs, whatever it selects.
const OPERATION: u64 = POINT;
/// What each object costs: a store is asked for it.
const OBJECT: u64 = POINT;
/// What each field of a scalar costs, and each object of the schema's description: the executor resolves it.
const FIELD: u64 = POINT / 10;
/// What a selection costs that is only looked at: a fragment, and whatever a directive takes out.
const LOOK: u64 = POINT / 100;
/// Bytes of an answer that cost as much as an object.
const ANSWER_BYTES: u64 = 8 * 1024;
/// What each byte of a document and of its variables costs, at each request.
const REQUEST_BYTE: u64 = POINT / 1_000;
/// What each byte of a document costs beside, when it is parsed and validated.
const READ_BYTE: u64 = POINT / 50;
/// What each field of the mutation costs beside its objects: it writes.
const MUTATION: u64 = 10 * POINT;
/// What looking through the store costs beside what is found.
const SEARCH: u64 = 20 * POINT;
/// How long a list is taken to be of which nothing says how long it is, not even the schema's [`super::Shape::weighed`].
const UNSIZED_LIST: u64 = 10;
/// What asking for the description of the schema costs beside what is selected in it.
const DESCRIPTION: u64 = 50 * POINT;

/// Points for so many thousandths, rounded up.
pub fn points(thousandths: u64) -> u64 {
    thousandths.div_ceil(POINT)
}

/// The price of so many bytes of document and variables, whenever they are sent.
pub fn of_request(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX).saturating_mul(REQUEST_BYTE)
}

/// Points for parsing and validating a document of so many bytes, rounded down: the shortest are free.
pub fn of_reading(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX).saturating_mul(READ_BYTE) / POINT
}

/// The price of an operation that selects `set`, with `variables`, saturating. Fields that the schema does not have cost as
/// scalars do: validation refuses them. Of a document that has passed the gate: fragments form no cycle.
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

/// The price of a selection set: some whatever the page around it, some for each entry of that page.
#[derive(Debug, Clone, Copy, Default)]
struct Price {
    fixed: u64,
    per_entry: u64,
}

impl Price {
    fn fixed(fixed: u64) -> Self {
        Self { fixed, per_entry: 0 }
    }

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
    fragments: HashMap<&'a str, Price>,
}

impl<'a> Walk<'a> {
    fn selections(&mut self, set: &'a SelectionSet, parent: &str) -> Price {
        let mut total = Price::default();
        for selection in &set.items {
            if is_skipped(selection.node.directives(), self.variables) {
                total.add(Price::fixed(LOOK));
                continue;
            }
            if !matches!(selection.node, Selection::Field(_)) {
                total.add(Price::fixed(LOOK));
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

    fn fragment(&mut self, name: &'a Name) -> Price {
        if let Some(known) = self.fragments.get(name.as_str()) {
            return *known;
        }
        let Some(definition) = self.document.fragments.get(name) else { return Price::default() };
        let on = definition.node.type_condition.node.on.node.as_str();
        let price = self.selections(&definition.node.selection_set.node, on);
        self.fragments.insert(name.as_str(), price);
        price
    }

    fn field(&mut self, field: &'a Field, parent: &str) -> Price {
        let (name, shape) = (field.name.node.as_str(), self.shape);
        let Some(known) = shape.field(parent, name) else { return Price::fixed(FIELD) };
        let writes = if parent == shape.root(OperationType::Mutation) { MUTATION } else { 0 };
        let looks = if name == "search" && parent == shape.root(OperationType::Query) { SEARCH } else { 0 };
        let describes = if matches!(name, "__schema" | "__type") { DESCRIPTION } else { 0 };
        let beside = known.surcharge.saturating_mul(POINT).saturating_add(writes + looks + describes);
        let mut total = Price::fixed(beside);
        if shape.is_composite(&known.leads_to) || !field.selection_set.node.items.is_empty() {
            total.add(self.objects(field, known));
        } else {
            total.add(Price::fixed(FIELD.saturating_add(known.bytes.saturating_mul(POINT) / ANSWER_BYTES)));
        }
        total
    }

    fn objects(&mut self, field: &'a Field, known: &FieldShape) -> Price {
        let inside = self.selections(&field.selection_set.node, &known.leads_to);
        let within = inside.within_page(if known.is_paged { self.page(field) } else { UNSIZED_LIST });
        let each = within.saturating_add(if known.describes { FIELD } else { OBJECT });
        match (known.is_list, known.is_paged, self.named(field).or(known.entries)) {
            _ if known.describes => Price::fixed(each.saturating_mul(known.entries.unwrap_or(1))),
            (false, ..) => Price::fixed(each),
            (true, true, _) => Price::fixed(each.saturating_mul(self.page(field))),
            (true, false, Some(count)) => Price::fixed(each.saturating_mul(count)),
            (true, false, None) => Price { fixed: 0, per_entry: each },
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
