//! What a task of the search index has to write and to delete, remembered between its steps.

use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::{Position, search::terms::Term};

/// What is to be done with a content's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Kind {
    /// Write them.
    Index,
    /// Delete them.
    Remove,
}

impl Kind {
    /// As stored.
    pub(super) const fn code(self) -> i32 {
        match self {
            Self::Index => 0,
            Self::Remove => 1,
        }
    }
}

/// The terms of one task, in the order in which steps take them.
#[derive(Debug)]
pub(super) struct TaskTerms {
    pub(super) written: Vec<Term>,
    pub(super) deleted: Vec<Term>,
}

/// The terms of the task that this node worked on last: it takes many steps, and cutting its text takes longer than
/// one. A content's text never changes.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct RememberedTask(Arc<Mutex<Option<LastTask>>>);

type LastTask = (Kind, Position, Arc<TaskTerms>);

impl RememberedTask {
    pub(super) fn get(&self, kind: Kind, at: Position) -> Option<Arc<TaskTerms>> {
        let remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.as_ref().filter(|(of, place, _)| (*of, *place) == (kind, at)).map(|(.., terms)| Arc::clone(terms))
    }

    pub(super) fn set(&self, kind: Kind, at: Position, terms: Option<&Arc<TaskTerms>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = terms.map(|terms| (kind, at, Arc::clone(terms)));
    }
}
