//! The files with which a product moves in: records as lines of JSON, read with bounds, checked, sorted and written.
//!
//! Nothing here awaits, reads a clock or knows a database.

pub mod check;
pub mod convert;
pub mod fault;
pub mod input;
mod json;
pub mod lines;
mod parse;
pub mod read;
pub mod record;
mod references;
pub mod report;
mod runs;
pub mod sort;
#[cfg(test)]
mod tests;
pub mod time;
pub mod write;
