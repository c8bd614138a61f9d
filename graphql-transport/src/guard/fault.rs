//! A fault of a document and its location.

use async_graphql::Pos;

/// A fault of a document and its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// A sentence with names in quotation marks.
    pub message: String,
    /// The location, if there is one.
    pub at: Option<Pos>,
}
