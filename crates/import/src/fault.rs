//! Why a record is refused, in the words of the API's `userErrors`.

use domain::text::sentence;
use serde::Serialize;

/// The reason of a refusal, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    /// A value does not have the required form.
    Invalid,
    /// A value, or the line, is too long.
    TooLong,
    /// Another user has the handle.
    Taken,
    /// It refers to something that does not exist.
    NotFound,
    /// It is not allowed, whatever the values are.
    NotAllowed,
    /// It contradicts an earlier record.
    Conflict,
}

/// What is wrong with a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// For programs.
    pub code: Code,
    /// The path to the value at fault, such as `["data", "text"]`; empty if it is the line as a whole.
    pub field: Vec<String>,
    /// For people: a sentence.
    pub message: String,
}

impl Fault {
    /// A fault of the value at `field`. `message` is a fragment.
    pub fn at(field: &[&str], code: Code, message: &str) -> Self {
        Self { code, field: field.iter().map(|step| (*step).to_owned()).collect(), message: sentence(message) }
    }

    /// A fault of the line as a whole. `message` is a fragment.
    pub fn of_line(code: Code, message: &str) -> Self {
        Self::at(&[], code, message)
    }

    /// The same, with `path` before the field.
    #[must_use]
    pub fn below(self, path: &[String]) -> Self {
        Self { field: path.iter().cloned().chain(self.field).collect(), ..self }
    }
}
