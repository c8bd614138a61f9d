//! How a command ends.

/// The outcome of a command that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// Everything is in order.
    Done,
    /// The command ran, found problems and reported them.
    ProblemsFound,
    /// The command has done the rest, and reported what it left out.
    SomeRefused,
    /// A signal ended it; the data is consistent.
    Interrupted,
}
