//! One thing that is wrong with a document, and where.

use async_graphql::Pos;

/// One thing that is wrong with a document, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// In words; names stand in quotation marks.
    pub message: String,
    /// The place, if it is at one.
    pub at: Option<Pos>,
}
