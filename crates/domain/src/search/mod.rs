//! The terms and queries by which contents and people are found.

mod folding;
mod former;
pub mod people;
mod query;
pub mod terms;

pub use self::query::{Candidate, Candidates, Found, InvalidSearch, Look, Search, Source, Span};
