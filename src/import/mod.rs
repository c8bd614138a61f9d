//! Imports: makes batches of the lines of a file, commits them, and does at once what their commits leave to be done.
//! And the way back: all that the store has, as such a file.

mod attributes;
mod batches;
mod exporter;
mod file_loader;
mod importer;
mod loader;
mod outcomes;
mod pace;
mod progress;
mod rows;
mod source;

pub use self::{
    attributes::check_attributes,
    batches::{FileLine, MAX_BATCH_LINES, cut, read_some},
    exporter::{ExportError, Exporter},
    file_loader::{FileEnd, FileLoader, Listener, LoadError, NotLoaded},
    importer::{Importer, ImporterLimits},
    loader::{LEASE_MS, Loaded, Loader, Neighbours},
    outcomes::{LoadedLine, report_lines},
    progress::Progress,
    source::{NotKept, Source, Spool},
};
