//! Bounds the size of a document after fragment expansion, without expanding it.
//!
//! The executor's own limits walk the expansion, which 801 bytes can make 2^30 long. Here each fragment is walked once
//! and its sum remembered. `cost` computes what an operation costs with its variables; this file knows no schema.

use std::{collections::HashMap, convert::Infallible};

use async_graphql::{
    Name, Positioned, Value,
    parser::types::{Directive, ExecutableDocument, Field, FragmentSpread, Selection, SelectionSet},
};

use super::{limits::GuardLimits, refusal::Refusal};

/// Refuses a `document` that is too large or deep after expansion, or has a cyclic fragment.
///
/// Counts all operations together, because validation walks them all; an unused fragment must pass alone. Takes time
/// linear in the document. `bytes`: the length of its text.
pub fn check(document: &ExecutableDocument, bytes: usize, limits: &GuardLimits) -> Result<DocumentSize, Refusal> {
    let mut walk = Walk { document, limits, fragments: HashMap::new() };
    let mut total = Size::default();
    for (_, operation) in document.operations.iter() {
        total.add(walk.arguments_of(&operation.node.directives)?);
        total.add(walk.selection_set(&operation.node.selection_set, 0)?);
    }
    walk.compare(total)?;
    for name in document.fragments.keys() {
        let alone = walk.fragment(name, 0)?;
        walk.compare(alone)?;
    }
    let count = |number| usize::try_from(number).unwrap_or(usize::MAX);
    Ok(DocumentSize { bytes, fields: count(total.fields), string_bytes: count(total.string_bytes) })
}

/// The size of a document and of its operations with fragments expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentSize {
    /// Length of its text.
    pub bytes: usize,
    /// Fields of all operations; spreads, directives and argument values count as fields.
    pub fields: usize,
    /// Bytes of the strings in the arguments of all operations.
    pub string_bytes: usize,
}

/// The size of a part of a document after expansion.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    fields: u64,
    string_bytes: u64,
    aliases: u64,
    /// Nesting of fields.
    depth: usize,
    /// Nesting of selection sets.
    levels: usize,
    /// Nesting of introspection lists.
    schema_lists: usize,
}

/// Introspection fields that are lists of types, or of things that refer to types.
const SCHEMA_LISTS: [&str; 4] = ["fields", "inputFields", "interfaces", "possibleTypes"];

impl Size {
    fn fields(fields: u64) -> Self {
        Self { fields, ..Self::default() }
    }

    /// The values in a value, including itself, and their strings. The guard has bounded the nesting.
    fn of_value(value: &Value) -> Self {
        let mut size = Self::fields(1);
        match value {
            Value::List(items) => items.iter().for_each(|item| size.add(Self::of_value(item))),
            Value::Object(fields) => fields.values().for_each(|item| size.add(Self::of_value(item))),
            Value::String(text) => size.string_bytes = text.len() as u64,
            _ => {}
        }
        size
    }

    /// Adds the size of a sibling.
    fn add(&mut self, other: Self) {
        self.fields = self.fields.saturating_add(other.fields);
        self.string_bytes = self.string_bytes.saturating_add(other.string_bytes);
        self.aliases = self.aliases.saturating_add(other.aliases);
        self.depth = self.depth.max(other.depth);
        self.levels = self.levels.max(other.levels);
        self.schema_lists = self.schema_lists.max(other.schema_lists);
    }
}

struct Walk<'a> {
    document: &'a ExecutableDocument,
    limits: &'a GuardLimits,
    /// `None` while a fragment is being walked: meeting it again means a cycle.
    fragments: HashMap<&'a str, Option<Size>>,
}

impl<'a> Walk<'a> {
    fn compare(&self, size: Size) -> Result<(), Refusal> {
        let Size { fields, aliases, depth, .. } = size;
        if fields > self.limits.expanded_fields {
            return Err(Refusal::TooManyFields { found: fields, limit: self.limits.expanded_fields });
        }
        if aliases > self.limits.aliases {
            return Err(Refusal::TooManyAliases { found: aliases, limit: self.limits.aliases });
        }
        if depth > self.limits.depth {
            return Err(Refusal::TooDeep { found: depth, limit: self.limits.depth });
        }
        Ok(())
    }

    /// `level`: the number of enclosing selection sets. Bounds the recursion.
    fn selection_set(&mut self, set: &'a Positioned<SelectionSet>, level: usize) -> Result<Size, Refusal> {
        if set.node.items.is_empty() {
            return Ok(Size::default());
        }
        self.within_levels(level + 1)?;
        let mut total = Size::default();
        for selection in &set.node.items {
            total.add(Size::fields(1));
            total.add(self.arguments_of(selection.node.directives())?);
            total.add(match &selection.node {
                Selection::Field(field) => self.field(&field.node, level + 1)?,
                Selection::FragmentSpread(spread) => self.spread(spread, level + 1)?,
                Selection::InlineFragment(inline) => self.selection_set(&inline.node.selection_set, level + 1)?,
            });
        }
        total.levels += 1;
        Ok(total)
    }

    fn field(&mut self, field: &'a Field, level: usize) -> Result<Size, Refusal> {
        let mut size = self.selection_set(&field.selection_set, level)?;
        size.depth += 1;
        size.aliases = size.aliases.saturating_add(u64::from(field.alias.is_some()));
        size.schema_lists = self.schema_lists(field.name.node.as_str(), size.schema_lists)?;
        for (_, value) in &field.arguments {
            let Ok(plain) = value.node.clone().into_const_with(|_| Ok::<_, Infallible>(Value::Null));
            size.add(Size::of_value(&plain));
        }
        Ok(size)
    }

    /// `inside`: the lists nested below this field. The names only matter within introspection.
    fn schema_lists(&self, name: &str, inside: usize) -> Result<usize, Refusal> {
        let limit = self.limits.introspection_lists;
        match name {
            "__schema" | "__type" if inside > limit => Err(Refusal::IntrospectionTooDeep { found: inside, limit }),
            "__schema" | "__type" => Ok(0),
            _ => Ok(inside + usize::from(SCHEMA_LISTS.contains(&name))),
        }
    }

    fn spread(&mut self, spread: &'a Positioned<FragmentSpread>, level: usize) -> Result<Size, Refusal> {
        let name = &spread.node.fragment_name.node;
        if let Some(None) = self.fragments.get(name.as_str()) {
            return Err(Refusal::FragmentCycle { name: name.to_string(), at: spread.pos });
        }
        self.fragment(name, level)
    }

    /// An unknown fragment has no size; validation refuses it by name.
    fn fragment(&mut self, name: &'a Name, level: usize) -> Result<Size, Refusal> {
        if let Some(Some(known)) = self.fragments.get(name.as_str()) {
            self.within_levels(level + known.levels)?;
            return Ok(*known);
        }
        let document = self.document;
        let Some(definition) = document.fragments.get(name) else {
            return Ok(Size::default());
        };
        self.fragments.insert(name.as_str(), None);
        let mut size = self.selection_set(&definition.node.selection_set, level)?;
        size.add(self.arguments_of(&definition.node.directives)?);
        self.fragments.insert(name.as_str(), Some(size));
        Ok(size)
    }

    fn within_levels(&self, levels: usize) -> Result<(), Refusal> {
        let limit = self.limits.selection_levels;
        if levels > limit { Err(Refusal::TooManyLevels { limit }) } else { Ok(()) }
    }

    /// Directives count as fields: one each, and one for each value in their arguments.
    fn arguments_of(&self, directives: &[Positioned<Directive>]) -> Result<Size, Refusal> {
        let (found, limit) = (directives.len(), self.limits.directives);
        if let Some(beyond) = directives.get(limit) {
            return Err(Refusal::TooManyDirectives { found, limit, at: beyond.pos });
        }
        let mut total = Size::default();
        for directive in directives {
            total.add(Size::fields(1));
            for (_, value) in &directive.node.arguments {
                let Ok(plain) = value.node.clone().into_const_with(|_| Ok::<_, Infallible>(Value::Null));
                total.add(Size::of_value(&plain));
            }
        }
        Ok(total)
    }
}
