//! How a command ends.

/// How a command ends that has not failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All is well.
    Done,
    /// What was asked for was found wanting, and has been told.
    Wanting,
    /// A signal ended it; what is there is consistent.
    Interrupted,
}
