//! Imports: makes batches of the lines of a file, commits them, and does at once what their commits leave to be done.
//! And the way back: all that the store has, as such a file.

mod batches;
mod exporter;
mod importer;
mod loader;
mod outcomes;
mod rows;

pub use self::{
    batches::{FileLine, MAX_BATCH_LINES, cut, read_some},
    exporter::{ExportError, Exporter},
    importer::{Importer, ImporterLimits},
    loader::{LEASE_MS, Loaded, Loader, Neighbours},
    outcomes::LoadedLine,
};
