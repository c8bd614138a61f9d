//! What does not fit a schema, in sentences for people. They have no value of the attributes.

use std::fmt;

use boon::{ErrorKind, InstanceToken, Type, Types, ValidationError};
use domain::{
    limits::{MAX_VIOLATION_CHARS, MAX_VIOLATION_NAME_CHARS, MAX_VIOLATIONS},
    text::sentence,
};
use serde_json::Value;

/// One value that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The names and places that lead to the value, each of at most [`MAX_VIOLATION_NAME_CHARS`].
    pub path: Vec<String>,
    /// What is wrong, without a capital and a full stop, of at most [`MAX_VIOLATION_CHARS`].
    pub message: String,
}

/// What does not fit: at least one [`Violation`], and at most [`MAX_VIOLATIONS`]. Displayed as sentences, the first
/// without its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violations {
    all: Vec<Violation>,
    are_more: bool,
}

impl Violation {
    /// The path as a JSON pointer.
    pub fn pointer(&self) -> String {
        self.path.iter().flat_map(|step| ["/".to_owned(), step.replace('~', "~0").replace('/', "~1")]).collect()
    }
}

impl Violations {
    pub(crate) fn of(error: &ValidationError<'_, '_>) -> Self {
        let mut all = Vec::new();
        collect(error, &mut all);
        let are_more = all.len() > MAX_VIOLATIONS;
        all.truncate(MAX_VIOLATIONS);
        Self { all, are_more }
    }

    /// The first one.
    pub fn first(&self) -> Option<&Violation> {
        self.all.first()
    }

    /// Those of a schema by where their values are.
    pub fn iter(&self) -> impl Iterator<Item = &Violation> {
        self.all.iter()
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, violation) in self.all.iter().enumerate() {
            match place {
                0 => f.write_str(&sentence(&violation.message))?,
                _ => write!(f, " At `{}`: {}", violation.pointer(), with_full_stop(&violation.message))?,
            }
        }
        if self.are_more { f.write_str(" There is more.") } else { Ok(()) }
    }
}

/// Whether a schema leads back to itself without a step into the value.
pub fn is_cycle(error: &ValidationError<'_, '_>) -> bool {
    matches!(error.kind, ErrorKind::RefCycle { .. }) || error.causes.iter().any(is_cycle)
}

/// Gathers one more than may be told at most.
fn collect(error: &ValidationError<'_, '_>, found: &mut Vec<Violation>) {
    use ErrorKind::{AllOf, ContentSchema, Group, Reference, Schema};
    if found.len() > MAX_VIOLATIONS {
        return;
    }
    match &error.kind {
        Group | Schema { .. } | ContentSchema | Reference { .. } | AllOf => {
            // The validator names members that nothing evaluates in an order of chance.
            let mut causes: Vec<_> = error.causes.iter().collect();
            causes.sort_by_cached_key(|cause| location(cause));
            for cause in causes {
                collect(cause, found);
            }
        }
        kind => {
            let path = error.instance_location.tokens.iter().map(step).collect();
            found.push(Violation { path, message: cut(message(kind), MAX_VIOLATION_CHARS) });
        }
    }
}

/// Where the value is, so that elements sort by their numbers.
fn location(error: &ValidationError<'_, '_>) -> Vec<String> {
    let steps = error.instance_location.tokens.iter().map(|token| match token {
        InstanceToken::Prop(name) => name.clone().into_owned(),
        InstanceToken::Item(index) => format!("{index:010}"),
    });
    steps.collect()
}

fn step(token: &InstanceToken<'_>) -> String {
    match token {
        InstanceToken::Prop(name) => cut(name.clone().into_owned(), MAX_VIOLATION_NAME_CHARS),
        InstanceToken::Item(index) => index.to_string(),
    }
}

fn message(kind: &ErrorKind<'_, '_>) -> String {
    match kind {
        ErrorKind::Type { got, want } => format!("this must be {}, not {}", alternatives(*want), named(*got)),
        ErrorKind::Enum { want } => one_of(want),
        ErrorKind::Const { want } => one_of(std::slice::from_ref(*want)),
        ErrorKind::Format { want, .. } => format!("this is not of the format `{want}`"),
        ErrorKind::FalseSchema => "this must not be there".to_owned(),
        ErrorKind::RefCycle { .. } => "the schema refers to itself without end".to_owned(),
        ErrorKind::Not => "this fits the schema in `not`".to_owned(),
        ErrorKind::AnyOf => "this fits none of the schemas in `anyOf`".to_owned(),
        ErrorKind::OneOf(None) => "this fits none of the schemas in `oneOf`".to_owned(),
        ErrorKind::OneOf(Some((one, other))) => {
            format!("this fits more than one of the schemas in `oneOf`: those at {one} and {other}")
        }
        other => of_members(other).or_else(|| of_elements(other)).unwrap_or_else(|| of_scalars(other)),
    }
}

fn of_members(kind: &ErrorKind<'_, '_>) -> Option<String> {
    Some(match kind {
        ErrorKind::Required { want } => format!("{} must be there", names(want)),
        ErrorKind::AdditionalProperties { got } => format!("{} must not be there", names(got)),
        ErrorKind::PropertyName { prop } => format!("the name {} is not allowed", names(&[prop])),
        ErrorKind::Dependency { prop, missing } | ErrorKind::DependentRequired { prop, missing } => {
            format!("{} must be there, because {} is", names(missing), names(&[prop]))
        }
        ErrorKind::MinProperties { want, .. } => format!("the number of members must be at least {want}"),
        ErrorKind::MaxProperties { want, .. } => format!("the number of members must be at most {want}"),
        _ => return None,
    })
}

fn of_elements(kind: &ErrorKind<'_, '_>) -> Option<String> {
    Some(match kind {
        ErrorKind::MinItems { want, .. } => format!("the number of elements must be at least {want}"),
        ErrorKind::MaxItems { want, .. } => format!("the number of elements must be at most {want}"),
        ErrorKind::Contains => "no element fits the schema in `contains`".to_owned(),
        ErrorKind::MinContains { want, .. } => {
            format!("the number of elements that fit the schema in `contains` must be at least {want}")
        }
        ErrorKind::MaxContains { want, .. } => {
            format!("the number of elements that fit the schema in `contains` must be at most {want}")
        }
        ErrorKind::UniqueItems { got: [one, other] } => format!("the elements at {one} and {other} are equal"),
        ErrorKind::AdditionalItems { got } => format!("the last {got} elements must not be there"),
        _ => return None,
    })
}

fn of_scalars(kind: &ErrorKind<'_, '_>) -> String {
    match kind {
        ErrorKind::MinLength { want, .. } => format!("the number of characters must be at least {want}"),
        ErrorKind::MaxLength { want, .. } => format!("the number of characters must be at most {want}"),
        ErrorKind::Pattern { want, .. } => format!("this does not match the pattern `{want}`"),
        ErrorKind::Minimum { want, .. } => format!("this must be at least {want}"),
        ErrorKind::Maximum { want, .. } => format!("this must be at most {want}"),
        ErrorKind::ExclusiveMinimum { want, .. } => format!("this must be more than {want}"),
        ErrorKind::ExclusiveMaximum { want, .. } => format!("this must be less than {want}"),
        ErrorKind::MultipleOf { want, .. } => format!("this must be a multiple of {want}"),
        _ => "this does not fit the schema".to_owned(),
    }
}

fn alternatives(types: Types) -> String {
    types.iter().map(named).collect::<Vec<_>>().join(" or ")
}

const fn named(kind: Type) -> &'static str {
    match kind {
        Type::Null => "null",
        Type::Boolean => "a boolean",
        Type::Number => "a number",
        Type::Integer => "an integer",
        Type::String => "a string",
        Type::Array => "an array",
        Type::Object => "an object",
    }
}

/// The schema's own values, if they are simple.
fn one_of(values: &[Value]) -> String {
    if values.iter().any(|value| value.is_array() || value.is_object()) {
        return "this is none of the values that the schema lists".to_owned();
    }
    let values: Vec<String> = values.iter().map(Value::to_string).collect();
    let which = if values.len() == 1 { "" } else { "one of " };
    format!("this must be {which}{}", values.join(", "))
}

fn names<T: AsRef<str>>(names: &[T]) -> String {
    let name = |name: &T| format!("`{}`", cut(name.as_ref().to_owned(), MAX_VIOLATION_NAME_CHARS));
    names.iter().take(MAX_VIOLATIONS).map(name).collect::<Vec<_>>().join(", ")
}

fn with_full_stop(fragment: &str) -> String {
    format!("{fragment}{}", if fragment.ends_with(['.', '?', '!']) { "" } else { "." })
}

/// The text, or its beginning.
fn cut(mut text: String, most_chars: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(most_chars) {
        text.truncate(end);
        text.push('…');
    }
    text
}
