//! Counts the memory that a node holds for clients. Transport and schema share the limits.

mod answer;
mod ledger;

pub use self::{
    answer::{AnswerBudget, DEFAULT_ANSWER_BYTES, Stop, too_large},
    ledger::{Clients, Hold, Ledger, LedgerLimits, NoRoom},
};
