//! What clients make a node hold in memory, in bytes. Transport and schema count into the same bounds.

mod answer;
mod ledger;

pub use self::{
    answer::{AnswerBudget, DEFAULT_ANSWER_BYTES, Stop, too_large},
    ledger::{Clients, Hold, Ledger, LedgerLimits, NoRoom},
};
