//! Reasons why a document does not pass the guard. HTTP and WebSocket send them in different envelopes.

use async_graphql::{ErrorExtensionValues, Pos, ServerError};

use super::fault::Fault;
use crate::codes;

/// Most bytes of a message, which may quote the client's names.
const MESSAGE_BYTES: usize = 1_000;

/// The value of `extensions.code` of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalCode {
    /// The text is not a GraphQL document.
    ParseFailed,
    /// The document breaks a rule of the language.
    ValidationFailed,
    /// The document is larger or deeper than this server executes.
    TooComplex,
    /// The operation that the request names is not in the document.
    OperationResolution,
    /// A variable is missing or is not of its declared type.
    BadUserInput,
}

impl RefusalCode {
    /// The code in the answer.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ParseFailed => codes::PARSE_FAILED,
            Self::ValidationFailed => codes::VALIDATION_FAILED,
            Self::TooComplex => codes::TOO_COMPLEX,
            Self::OperationResolution => codes::OPERATION_RESOLUTION,
            Self::BadUserInput => codes::BAD_USER_INPUT,
        }
    }
}

/// Why a document or operation is not executed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// More bytes than `GuardLimits::query_bytes`.
    #[error(
        "The query is {found} bytes long; the limit is {limit}. Send a shorter query, with its values in variables."
    )]
    TooLong {
        /// Length of the query in bytes.
        found: usize,
        /// The bound.
        limit: usize,
    },
    /// More tokens than `GuardLimits::tokens`; counting stops at the first one too many.
    #[error("The query has more than {limit} tokens. Send a shorter query, with its values in variables.")]
    TooManyTokens {
        /// The bound.
        limit: usize,
        /// Where the first token too many stands.
        at: Pos,
    },
    /// More brackets open than `GuardLimits::nesting`.
    #[error(
        "The query nests {found} brackets, braces or parentheses; the limit is {limit}. Send nested values in variables."
    )]
    NestedTooDeeply {
        /// The nesting at which the scan stopped.
        found: usize,
        /// The bound.
        limit: usize,
        /// Where the first bracket too many stands.
        at: Pos,
    },
    /// A name or a number of more bytes than `GuardLimits::name_bytes`.
    #[error("A name or number is {found} bytes long; the limit is {limit}. Shorten it.")]
    NameTooLong {
        /// Its length in bytes.
        found: usize,
        /// The bound.
        limit: usize,
        /// Where it begins.
        at: Pos,
    },
    /// The parser does not understand the document.
    #[error("{message}")]
    Syntax {
        /// What was expected, and where.
        message: String,
        /// Where, unless it concerns the whole document.
        at: Option<Pos>,
    },
    /// More fields than `GuardLimits::expanded_fields`.
    #[error(
        "The document selects {found} fields once its fragments are expanded (spreads, directives and argument values count too); the limit is {limit}. Split it into smaller queries."
    )]
    TooManyFields {
        /// Fields after expansion, saturating.
        found: u64,
        /// The bound.
        limit: u64,
    },
    /// More aliases than `GuardLimits::aliases`.
    #[error(
        "The document has {found} aliases once its fragments are expanded; the limit is {limit}. Split it into smaller queries."
    )]
    TooManyAliases {
        /// Aliases after expansion, saturating.
        found: u64,
        /// The bound.
        limit: u64,
    },
    /// Fields nested deeper than `GuardLimits::depth`.
    #[error(
        "The document nests fields {found} deep; the limit is {limit}. Ask for the inner objects in a query of their own."
    )]
    TooDeep {
        /// Depth of the deepest field.
        found: usize,
        /// The bound.
        limit: usize,
    },
    /// Selection sets nested deeper than `GuardLimits::selection_levels`.
    #[error(
        "The document nests more than {limit} selection sets, fragments included. Use fewer fragments within fragments."
    )]
    TooManyLevels {
        /// The bound.
        limit: usize,
    },
    /// More lists within lists than `GuardLimits::introspection_lists`.
    #[error(
        "The document nests {found} lists of the schema's description in each other; the limit is {limit}. Ask for types by name with __type."
    )]
    IntrospectionTooDeep {
        /// Lists within lists.
        found: usize,
        /// The bound.
        limit: usize,
    },
    /// A fragment that contains itself.
    #[error("Fragment \"{name}\" contains itself. Remove the cycle.")]
    FragmentCycle {
        /// The fragment's name.
        name: String,
        /// The spread that closes the cycle.
        at: Pos,
    },
    /// A subscription that selects more than one field.
    #[error("A subscription selects exactly one root field; this one selects {found}. Send one subscription for each.")]
    ManyRootFields {
        /// Root fields of the operation.
        found: usize,
        /// Where the operation begins.
        at: Pos,
    },
    /// A subscription whose root field is inside a fragment.
    #[error("A subscription's root field must stand in the operation itself, not in a fragment. Move it there.")]
    SubscriptionFragment {
        /// Where the fragment is used.
        at: Pos,
    },
    /// `operationName` names nothing in the document.
    #[error("The document has no operation named \"{name}\". Send one of its operations' names as operationName.")]
    UnknownOperation {
        /// The name asked for.
        name: String,
    },
    /// Several operations and no `operationName`.
    #[error("The document has {found} operations. Send the name of the one to execute as operationName.")]
    OperationNameNeeded {
        /// Operations in the document.
        found: usize,
    },
    /// A required variable is absent.
    #[error("Variable \"${name}\" of required type \"{expected}\" was not provided. Add it to variables.")]
    VariableMissing {
        /// The variable's name.
        name: String,
        /// Its declared type.
        expected: String,
        /// Where it is declared.
        at: Pos,
    },
    /// More operations than `GuardLimits::operations`.
    #[error("The document has {found} operations; the limit is {limit}. Send those that are to run.")]
    TooManyOperations {
        /// Operations in the document.
        found: usize,
        /// The bound.
        limit: usize,
    },
    /// More fragments than `GuardLimits::fragments`.
    #[error("The document defines {found} fragments; the limit is {limit}. Send those that are used.")]
    TooManyFragments {
        /// Fragments in the document.
        found: usize,
        /// The bound.
        limit: usize,
    },
    /// More directives at one place than `GuardLimits::directives`.
    #[error("There are {found} directives at one place; the limit is {limit}. Remove some.")]
    TooManyDirectives {
        /// Directives at the place.
        found: usize,
        /// The bound.
        limit: usize,
        /// Where the first directive too many stands.
        at: Pos,
    },
    /// More bytes of variables than `GuardLimits::variable_bytes`.
    #[error("The variables are longer than {limit} bytes. Send less at once.")]
    VariablesTooLarge {
        /// The bound.
        limit: usize,
    },
    /// Variables nested deeper than `GuardLimits::variable_nesting`.
    #[error("The variables nest lists and objects more than {limit} deep. Send flatter ones.")]
    VariablesTooDeep {
        /// The bound.
        limit: usize,
    },
    /// More points than `GuardLimits::cost`.
    #[error(
        "The operation costs {found} points; the limit is {limit}. Ask for smaller pages, or for less of each entry."
    )]
    TooExpensive {
        /// Points, saturating.
        found: u64,
        /// The bound.
        limit: u64,
    },
    /// Introspection is turned off.
    #[error("This server does not describe its schema: leave out __schema and __type.")]
    NoIntrospection {
        /// Where the operation begins.
        at: Pos,
    },
    /// The document breaks rules of the specification.
    #[error("{}", .faults.first().map_or("The document is not valid.", |fault| fault.message.as_str()))]
    Invalid {
        /// The faults, at least one; not all of a large number.
        faults: Vec<Fault>,
    },
    /// An input object has a field that its type does not have.
    #[error(
        "Variable \"${name}\" got an invalid value: \"{path}\" is not a field of type \"{input}\". Leave it out{}.",
        .meant.as_ref().map_or_else(String::new, |meant| format!(", or write \"{meant}\""))
    )]
    VariableFieldUnknown {
        /// The variable's name.
        name: String,
        /// The variable, and the way to the field.
        path: String,
        /// The input type.
        input: String,
        /// A field of the type with a similar name.
        meant: Option<String>,
        /// Where the variable is declared.
        at: Pos,
    },
    /// An input object lacks a required field.
    #[error(
        "Variable \"${name}\" got an invalid value: \"{path}\" of required type \"{expected}\" is missing. Add it."
    )]
    VariableFieldMissing {
        /// The variable's name.
        name: String,
        /// The variable, and the way to the field.
        path: String,
        /// The type expected there.
        expected: String,
        /// Where the variable is declared.
        at: Pos,
    },
    /// A variable is invalid. The message contains no names but the client's own.
    #[error("Variable \"${name}\" got an invalid value at \"{path}\": {reason}.")]
    VariableUnfit {
        /// The variable's name.
        name: String,
        /// The variable, and the fields and list indexes below it.
        path: String,
        /// What is wrong there.
        reason: &'static str,
        /// Where the variable is declared.
        at: Pos,
    },
    /// A variable is not of its declared type.
    #[error("Variable \"${name}\" got an invalid value at \"{path}\": expected type \"{expected}\", found {found}.")]
    VariableInvalid {
        /// The variable's name.
        name: String,
        /// The variable, and the fields and list indexes below it.
        path: String,
        /// The type expected there.
        expected: String,
        /// What kind of value stands there.
        found: &'static str,
        /// Where the variable is declared.
        at: Pos,
    },
}

impl Refusal {
    /// A document that is not one; `words` say why.
    pub(super) fn syntax(words: &str, at: Option<Pos>) -> Self {
        let place = at.map_or_else(String::new, |Pos { line, column }| format!(" at line {line}, column {column}"));
        Self::Syntax { message: format!("Syntax error{place}: {}.", words.trim_end_matches('.')), at }
    }

    /// Its `extensions.code`.
    pub fn code(&self) -> RefusalCode {
        match self {
            Self::Syntax { .. } => RefusalCode::ParseFailed,
            Self::FragmentCycle { .. }
            | Self::ManyRootFields { .. }
            | Self::SubscriptionFragment { .. }
            | Self::NoIntrospection { .. }
            | Self::Invalid { .. } => RefusalCode::ValidationFailed,
            Self::TooLong { .. }
            | Self::TooManyTokens { .. }
            | Self::NestedTooDeeply { .. }
            | Self::NameTooLong { .. }
            | Self::TooManyFields { .. }
            | Self::TooManyAliases { .. }
            | Self::TooDeep { .. }
            | Self::TooManyLevels { .. }
            | Self::IntrospectionTooDeep { .. }
            | Self::TooManyOperations { .. }
            | Self::TooManyFragments { .. }
            | Self::TooManyDirectives { .. }
            | Self::VariablesTooLarge { .. }
            | Self::VariablesTooDeep { .. }
            | Self::TooExpensive { .. } => RefusalCode::TooComplex,
            Self::UnknownOperation { .. } | Self::OperationNameNeeded { .. } => RefusalCode::OperationResolution,
            Self::VariableMissing { .. }
            | Self::VariableUnfit { .. }
            | Self::VariableInvalid { .. }
            | Self::VariableFieldUnknown { .. }
            | Self::VariableFieldMissing { .. } => RefusalCode::BadUserInput,
        }
    }

    /// The same refusal without names that the client has not sent.
    pub(super) fn without_names(self) -> Self {
        let (name, path, reason, at) = match self {
            Self::VariableFieldUnknown { name, path, at, .. } => (name, path, "there is no such field", at),
            Self::VariableFieldMissing { name, path, at, .. } => {
                let input = path.rsplit_once('.').map_or(path.as_str(), |(input, _)| input).to_owned();
                (name, input, "a required field is missing", at)
            }
            Self::VariableInvalid { name, path, at, .. } if path.contains('.') => {
                (name, path, "this kind of value is not taken", at)
            }
            refusal => return refusal,
        };
        Self::VariableUnfit { name, path, reason, at }
    }

    /// The errors in the answer, one for each fault.
    pub fn into_errors(self) -> Vec<ServerError> {
        let Self::Invalid { faults } = self else { return vec![self.into()] };
        let each = |fault| Self::Invalid { faults: vec![fault] }.into();
        faults.into_iter().map(each).collect()
    }

    /// The locations in the query; empty if it concerns the whole query.
    pub fn locations(&self) -> Vec<Pos> {
        match self {
            Self::TooManyTokens { at, .. }
            | Self::NestedTooDeeply { at, .. }
            | Self::NameTooLong { at, .. }
            | Self::FragmentCycle { at, .. }
            | Self::ManyRootFields { at, .. }
            | Self::SubscriptionFragment { at }
            | Self::TooManyDirectives { at, .. }
            | Self::NoIntrospection { at }
            | Self::VariableMissing { at, .. }
            | Self::VariableFieldUnknown { at, .. }
            | Self::VariableFieldMissing { at, .. }
            | Self::VariableUnfit { at, .. }
            | Self::VariableInvalid { at, .. } => vec![*at],
            Self::Syntax { at, .. } => at.iter().copied().collect(),
            Self::Invalid { faults } => faults.first().and_then(|fault| fault.at).into_iter().collect(),
            _ => Vec::new(),
        }
    }
}

impl From<Refusal> for ServerError {
    fn from(refusal: Refusal) -> Self {
        let mut error = Self::new(shortened(refusal.to_string()), None);
        error.locations = refusal.locations();
        let mut extensions = ErrorExtensionValues::default();
        extensions.set("code", refusal.code().as_str());
        error.extensions = Some(extensions);
        error
    }
}

/// The beginning of a message that quotes too much of the client's text.
fn shortened(mut message: String) -> String {
    if message.len() > MESSAGE_BYTES {
        message.truncate(message.floor_char_boundary(MESSAGE_BYTES));
        message.push('…');
    }
    message
}
