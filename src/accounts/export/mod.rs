//! A copy of everything that an account holds: the links to it, and the pages that it is written from.
//!
//! A link carries a token of its own kind. It is good as long as the session lives that has asked for it.

mod error;
mod exports;
mod lists;
mod slots;

pub use self::{
    error::ExportError,
    exports::{Export, Exports, Owner},
    lists::{ExportList, ExportStores, PageStart, Person, Reacted, Rows},
};
