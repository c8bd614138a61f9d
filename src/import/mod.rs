//! Imports: commits batches of lines, and does at once what their commits leave to be done.

mod exporter;
mod importer;

pub use exporter::{ExportError, Exporter};
pub use importer::Importer;
