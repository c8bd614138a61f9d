//! The cost of an operation, computed before it runs, in thousandths of a point: reads, objects, fields and answer
//! bytes. A field in a list counts once for each entry; a read counts once for the whole list.
//!
//! `size` bounds all operations of a document without knowing variables. Each fragment is counted once, so this takes
//! time linear in the document.

use std::{collections::HashMap, convert::Infallible};

use async_graphql::{
    Name, Value, Variables,
    parser::types::{ExecutableDocument, Field, OperationType, Selection, SelectionSet},
};

use super::{field_merging::is_skipped, limits::GuardLimits, shape::Shape, types::FieldShape};

/// One point, in thousandths.
const POINT: u64 = 1_000;
/// Cost of every operation: receiving the request and sending the answer.
const OPERATION: u64 = 20 * POINT;
/// Cost of each field that needs a read, in addition to its objects. It counts once, because a list's entries are read
/// together.
const READ: u64 = 20 * POINT;
/// Cost of each object, which some resolver loads.
const OBJECT: u64 = POINT;
/// Cost of each scalar field, and of each object in the schema's description, which the executor resolves.
const FIELD: u64 = POINT / 10;
/// Cost of a selection that is only inspected: a fragment, or one removed by a directive.
const LOOK: u64 = POINT / 100;
/// Bytes of an answer that cost as much as one object.
const ANSWER_BYTES: u64 = 900;
/// Cost of each byte of a document and its variables, at each request.
const REQUEST_BYTE: u64 = POINT / 250;
/// Cost of parsing and validating an unknown document, apart from its bytes, even if it is then refused.
const READING: u64 = 20 * POINT;
/// Additional cost of each byte of a document that is parsed and validated.
const PARSED_BYTE: u64 = POINT * 7 / 100;
/// Cost of each mutation field, which writes, in addition to its objects.
const MUTATION: u64 = 200 * POINT;
/// The length assumed for a list if nothing gives it, not even the schema's [`super::CostHints`].
const UNSIZED_LIST: u64 = 10;
/// Cost of introspection, in addition to what it selects.
const DESCRIPTION: u64 = 50 * POINT;

/// Converts thousandths to points, rounded up.
pub fn points(thousandths: u64) -> u64 {
    thousandths.div_ceil(POINT)
}

/// The cost of the bytes of a document and its variables.
pub fn of_request(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX).saturating_mul(REQUEST_BYTE)
}

/// Points for parsing and validating a document of this length, rounded down.
pub fn of_reading(bytes: usize) -> u64 {
    READING.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX).saturating_mul(PARSED_BYTE)) / POINT
}

/// The cost of an operation that selects `set`, with `variables`. Saturates. Unknown fields count as scalars:
/// validation refuses them. The guard has checked that fragments form no cycle.
pub fn of_operation(
    document: &ExecutableDocument,
    (operation_type, set): (OperationType, &SelectionSet),
    variables: &Variables,
    shape: &Shape,
) -> u64 {
    let mut walk = Walk { document, variables, shape, fragments: HashMap::new() };
    let inside = walk.selections(set, shape.root(operation_type));
    OPERATION.saturating_add(inside.once).saturating_add(inside.within_page(UNSIZED_LIST))
}

/// Whether `operation`, or a fragment in it, selects introspection at its root.
pub fn describes_schema(document: &ExecutableDocument, set: &SelectionSet, limits: &GuardLimits) -> bool {
    // Each level of spreads is bounded by the guard; a root's fragments are few.
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

/// The cost of a selection set: a part that is paid once, a part for each of its objects, and a part for each object
/// and each entry of the enclosing page.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    once: u64,
    fixed: u64,
    per_entry: u64,
}

impl Cost {
    fn fixed(fixed: u64) -> Self {
        Self { fixed, ..Self::default() }
    }

    fn add(&mut self, other: Self) {
        self.once = self.once.saturating_add(other.once);
        self.fixed = self.fixed.saturating_add(other.fixed);
        self.per_entry = self.per_entry.saturating_add(other.per_entry);
    }

    /// The cost within a page, without the part that is paid once.
    fn within_page(self, entries: u64) -> u64 {
        self.fixed.saturating_add(self.per_entry.saturating_mul(entries))
    }
}

struct Walk<'a> {
    document: &'a ExecutableDocument,
    variables: &'a Variables,
    shape: &'a Shape,
    fragments: HashMap<&'a str, Cost>,
}

impl<'a> Walk<'a> {
    fn selections(&mut self, set: &'a SelectionSet, parent: &str) -> Cost {
        let mut total = Cost::default();
        for selection in &set.items {
            if is_skipped(selection.node.directives(), self.variables) {
                total.add(Cost::fixed(LOOK));
                continue;
            }
            if !matches!(selection.node, Selection::Field(_)) {
                total.add(Cost::fixed(LOOK));
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

    fn fragment(&mut self, name: &'a Name) -> Cost {
        if let Some(known) = self.fragments.get(name.as_str()) {
            return *known;
        }
        let Some(definition) = self.document.fragments.get(name) else { return Cost::default() };
        let on = definition.node.type_condition.node.on.node.as_str();
        let cost = self.selections(&definition.node.selection_set.node, on);
        self.fragments.insert(name.as_str(), cost);
        cost
    }

    fn field(&mut self, field: &'a Field, parent: &str) -> Cost {
        let (name, shape) = (field.name.node.as_str(), self.shape);
        let Some(known) = shape.field(parent, name) else { return Cost::fixed(FIELD) };
        let writes = if parent == shape.root(OperationType::Mutation) { MUTATION } else { 0 };
        let describes = if matches!(name, "__schema" | "__type") { DESCRIPTION } else { 0 };
        let extra = known.surcharge.saturating_add(self.filter(field));
        let beside = extra.saturating_mul(POINT).saturating_add(writes + describes);
        let beside = beside.saturating_add(self.inputs(field, known));
        let mut total = Cost::fixed(beside);
        if shape.is_composite(&known.leads_to) || !field.selection_set.node.items.is_empty() {
            total.add(self.objects(field, known));
        } else {
            total.add(Cost::fixed(FIELD.saturating_add(known.bytes.saturating_mul(POINT) / ANSWER_BYTES)));
        }
        total
    }

    fn objects(&mut self, field: &'a Field, known: &FieldShape) -> Cost {
        let inside = self.selections(&field.selection_set.node, &known.leads_to);
        let within = inside.within_page(if known.is_paged { self.page(field) } else { UNSIZED_LIST });
        let each = within.saturating_add(if known.describes { FIELD } else { OBJECT });
        let each = match (known.is_list, known.is_paged, self.named(field).or(known.entries)) {
            _ if known.describes => Cost::fixed(each.saturating_mul(known.entries.unwrap_or(1))),
            (false, ..) => Cost::fixed(each),
            (true, true, _) => Cost::fixed(each.saturating_mul(self.page(field))),
            (true, false, Some(count)) => Cost::fixed(each.saturating_mul(count)),
            (true, false, None) => Cost { per_entry: each, ..Cost::default() },
        };
        Cost { once: inside.once.saturating_add(if known.reads { READ } else { 0 }), ..each }
    }

    /// Points for a filter, because the filtered entries are read, too.
    fn filter(&self, field: &Field) -> u64 {
        let (argument, points) = self.shape.filter();
        let given = field.get_argument(argument).map(|it| it.node.clone().into_const_with(|name| self.variable(&name)));
        if matches!(given, None | Some(Err(()) | Ok(Value::Null))) { 0 } else { points }
    }

    /// Thousandths for the texts and the lists among the arguments: a point for 1,000 bytes is a thousandth for one.
    fn inputs(&self, field: &Field, known: &FieldShape) -> u64 {
        let text_bytes = |value: &Value| if let Value::String(text) = value { text.len() } else { 0 };
        let texts = known.inputs.iter().map(|(path, points)| {
            let bytes = self.given(field, path).iter().map(text_bytes).fold(0, usize::saturating_add);
            u64::try_from(bytes).unwrap_or(u64::MAX).saturating_mul(*points)
        });
        let lists = known.batches.iter().map(|(path, points)| {
            let entries = u64::try_from(self.given(field, path).len()).unwrap_or(u64::MAX);
            entries.saturating_mul(points.saturating_mul(POINT))
        });
        texts.chain(lists).fold(0, u64::saturating_add)
    }

    /// The values to which these names lead, the first of which is an argument: each entry of a list on the way, or at
    /// its end, is one of its own.
    fn given(&self, field: &Field, path: &[String]) -> Vec<Value> {
        let Some((argument, inner)) = path.split_first() else { return Vec::new() };
        let Some(given) = field.get_argument(argument) else { return Vec::new() };
        let null = |name: Name| Ok::<_, Infallible>(self.variable(&name).unwrap_or_default());
        let Ok(value) = given.node.clone().into_const_with(null);
        let mut values = entries(value);
        for name in inner {
            let within = values.into_iter().filter_map(|value| match value {
                Value::Object(mut fields) => fields.swap_remove(name.as_str()),
                _ => None,
            });
            values = within.flat_map(entries).collect();
        }
        values
    }

    /// The value of `first` or `last`, at most the maximum, beyond which the resolver refuses; the default without
    /// either.
    fn page(&self, field: &Field) -> u64 {
        let pages = self.shape.pages();
        let asked = field.arguments.iter().filter(|(name, _)| matches!(name.node.as_str(), "first" | "last"));
        let sizes =
            asked.filter_map(|(_, value)| match value.node.clone().into_const_with(|name| self.variable(&name)) {
                Ok(Value::Number(number)) => number.as_i64().map(|size| u64::try_from(size).unwrap_or(0)),
                _ => None,
            });
        sizes.max().unwrap_or(u64::from(pages.usual)).min(u64::from(pages.most))
    }

    /// The length of the longest list among the arguments, for a field that loads objects by the ids in it.
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

/// The entries of a list, or the value itself: one stands for a list of one.
fn entries(value: Value) -> Vec<Value> {
    match value {
        Value::List(values) => values,
        Value::Null => Vec::new(),
        value => vec![value],
    }
}
