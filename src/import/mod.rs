//! Imports: commits batches of lines, and does at once what their commits leave to be done.

mod importer;

pub use importer::Importer;
