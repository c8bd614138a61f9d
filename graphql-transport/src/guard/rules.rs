//! Validates a document by all rules of the specification, once for each document.
//!
//! async-graphql, which executes, has half of the rules, so apollo-compiler validates, as it parses. It sees documents
//! within the guard's limits, and no values of variables.

use std::collections::HashSet;

use apollo_compiler::{
    Name, Schema,
    ast::Document,
    diagnostic::{Diagnostic, ToCliReport as _},
    schema::ExtendedType,
    validation::{DiagnosticData, Valid},
};

use super::{
    fault::Fault,
    positions::Positions,
    refusal::Refusal,
    types::{ByName, ScalarCheck},
    variable_usage,
};

/// Maximum number of faults reported for one document.
const MAX_REPORTED: usize = 20;

/// The library's name for a field that its type does not have.
const UNKNOWN_FIELD: &str = "UndefinedField";
/// The library's name for an argument that its field does not take.
const UNKNOWN_ARGUMENT: &str = "UndefinedArgument";
/// The library's name for a field that its input type does not have.
const UNKNOWN_INPUT: &str = "UndefinedInputValue";
/// The library's name for an object without selections, also for one whose selections it has all refused.
const NO_SELECTION: &str = "MissingSubselection";
/// The library's name for a variable without use, also for one that is used in a field which it has refused.
const UNUSED_VARIABLE: &str = "UnusedVariable";

/// Least similarity (0 to 1) of a known name that is suggested.
const LIKENESS: f64 = 0.8;
/// Bytes of a name that is compared with others.
const LONGEST: usize = 256;

/// Introspection fields of the executor that the library lacks.
const MORE_DESCRIPTION: &str = "extend type __Type { isOneOf: Boolean }";

/// Reads a schema in the schema definition language, and adds what the executor has beside it. The error says what
/// cannot be read.
pub fn definitions(sdl: &str) -> Result<Document, String> {
    let sdl = format!("{sdl}\n{MORE_DESCRIPTION}\n");
    Document::parse(sdl, "schema.graphql").map_err(|invalid| invalid.errors.to_string())
}

/// A schema to validate documents against.
#[derive(Debug)]
pub struct Rules {
    schema: Valid<Schema>,
}

impl Rules {
    /// The rules of a schema that [`definitions`] has read. The error says what is wrong with it.
    pub fn of(definitions: &Document) -> Result<Self, String> {
        let schema = definitions.to_schema_validate().map_err(|invalid| invalid.errors.to_string())?;
        Ok(Self { schema })
    }

    /// Refuses a document that breaks a rule. `query`: its text. `scalars`: the schema's own. `suggests`: whether
    /// messages may name parts of the schema that `query` does not name.
    pub fn check(
        &self,
        (document, query): (&Document, &str),
        scalars: &ByName<ScalarCheck>,
        suggests: bool,
    ) -> Result<(), Refusal> {
        let faults: Vec<(Fault, Option<&str>)> = match document.to_executable_validate(&self.schema) {
            Ok(document) => variable_usage::faults((&document, query), &self.schema, scalars)
                .into_iter()
                .map(|fault| (fault, None))
                .collect(),
            Err(invalid) => {
                let named = |it: &Diagnostic<'_, DiagnosticData>| (fault(it, query), it.error.unstable_error_name());
                let (following, own): (Vec<_>, Vec<_>) = invalid.errors.iter().partition(|it| follows(it, query));
                let mut reported = if own.is_empty() { following } else { own };
                // What is required and misspelt is missing, too: that is told second.
                reported.sort_by_key(|it| !is_unknown(it.error.unstable_error_name()));
                reported.iter().take(MAX_REPORTED).map(named).collect()
            }
        };
        if faults.is_empty() {
            return Ok(());
        }
        let written = words(query).collect();
        let reported = |(fault, kind): (Fault, Option<&str>)| {
            let message = match (suggests, self.suggestion(kind, &fault.message)) {
                (false, _) => sentence(&self.without_names(&fault.message, &written)),
                (true, None) => sentence(&fault.message),
                (true, Some(like)) => format!("{} Did you mean \"{like}\"?", sentence(&fault.message)),
            };
            Fault { message, ..fault }
        };
        Err(Refusal::Invalid { faults: faults.into_iter().take(MAX_REPORTED).map(reported).collect() })
    }

    /// The known name most similar to an unknown field, argument or input field, which the message quotes; `kind` is
    /// the kind of fault.
    fn suggestion(&self, kind: Option<&str>, message: &str) -> Option<String> {
        let mut quoted = message.split('`').skip(1).step_by(2);
        let (first, second) = (quoted.next()?, quoted.next()?);
        let (unknown, known): (_, Vec<&Name>) = match kind? {
            UNKNOWN_FIELD => {
                let fields = match self.schema.types.get(first)? {
                    ExtendedType::Object(object) => &object.fields,
                    ExtendedType::Interface(interface) => &interface.fields,
                    _ => return None,
                };
                (second, fields.keys().collect())
            }
            UNKNOWN_ARGUMENT => {
                let (of, field) = second.split_once('.')?;
                let arguments = &self.schema.type_field(of, field).ok()?.arguments;
                (first, arguments.iter().map(|argument| &argument.name).collect())
            }
            UNKNOWN_INPUT => (first, self.schema.get_input_object(second)?.fields.keys().collect()),
            _ => return None,
        };
        nearest(unknown, known.into_iter().map(Name::as_str)).map(str::to_owned)
    }

    /// `message` with an ellipsis for each quotation and type name that does not occur in the document.
    fn without_names(&self, message: &str, written: &HashSet<&str>) -> String {
        let is_written = |text: &str| words(text).all(|word| written.contains(word));
        let names_type = |text: &str| words(text).any(|word| self.schema.types.contains_key(word));
        let parts = message.split('`').enumerate().map(|(index, part)| match index % 2 {
            1 if is_written(part) => format!("`{part}`"),
            1 => "`…`".to_owned(),
            _ => {
                let shown = |word| if names_type(word) && !is_written(word) { "…" } else { word };
                part.split(' ').map(shown).collect::<Vec<_>>().join(" ")
            }
        });
        parts.collect()
    }
}

/// The most similar of the `known` names, if it is similar enough to be what was meant. Names in variables have no
/// bound of their own.
pub(super) fn nearest<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |name: &str| if unknown.len() > LONGEST { 0.0 } else { strsim::jaro_winkler(unknown, name) };
    known.filter(|name| likeness(name) >= LIKENESS).max_by(|a, b| likeness(a).total_cmp(&likeness(b)).then(b.cmp(a)))
}

/// Whether it follows from another fault: a field has no selections although some are written, or a variable no use
/// although one is. Each of those is in what was refused.
fn follows(diagnostic: &Diagnostic<'_, DiagnosticData>, query: &str) -> bool {
    let written = || query.get(diagnostic.error.location()?.offset()..diagnostic.error.location()?.end_offset());
    match diagnostic.error.unstable_error_name() {
        Some(NO_SELECTION) => written().is_some_and(|field| field.ends_with('}')),
        Some(UNUSED_VARIABLE) => {
            let message = diagnostic.error.to_string();
            let uses = |name| query.split('$').skip(1).filter(|text| words(text).next() == Some(name)).count();
            words(message.rsplit('$').next().unwrap_or_default()).next().is_some_and(|name| uses(name) > 1)
        }
        _ => false,
    }
}

/// Whether a fault of this kind is a name that the schema does not have.
fn is_unknown(kind: Option<&str>) -> bool {
    matches!(kind, Some(UNKNOWN_FIELD | UNKNOWN_ARGUMENT | UNKNOWN_INPUT))
}

/// The words of a text that could be names.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// What is wrong, and where in `query`.
pub fn fault(diagnostic: &Diagnostic<'_, DiagnosticData>, query: &str) -> Fault {
    let location = diagnostic.error.location();
    Fault { message: diagnostic.error.to_string(), at: location.map(|span| Positions::of(query).at(span.offset())) }
}

/// `message` in the style of the other refusals: a capital, a full stop, names in quotation marks.
fn sentence(message: &str) -> String {
    let mut letters = message.trim_end_matches('.').chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect::<String>().replace('`', "\"")
}
