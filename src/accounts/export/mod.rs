//! A copy of everything that an account holds: links to it, and what is read for one, page after page.
//!
//! A link carries a token of its own kind. It is good as long as the session lives that has asked for it.

mod error;
mod exports;
mod lists;
mod slots;

pub use self::{
    error::ExportError,
    exports::{Export, Exports, Owner},
    lists::{ExportList, ExportStores, Person, Place, Reacted, Rows},
};
