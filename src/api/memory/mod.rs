//! What clients make a node hold in memory, in bytes, and what bounds it.
//!
//! Beside transport and schema, because both count into the same bounds.

mod answer;

pub use self::answer::{ANSWER_TOO_LARGE, AnswerBudget, DEFAULT_ANSWER_BYTES, too_large};
