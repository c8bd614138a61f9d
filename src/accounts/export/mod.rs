//! Exports: copies of everything that an account holds, and the links to them.
//!
//! A link carries a token of its own kind. It is valid while the session that requested it exists.

mod error;
mod exports;
mod lists;
mod slots;

pub use self::{
    error::ExportError,
    exports::{Export, Exports, Owner},
    lists::{ExportList, ExportStores, PageStart, Person, ReactedContent, Rows},
};
