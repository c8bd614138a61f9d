//! The filter of a list of contents.

use async_graphql::InputObject;

use super::ContentKind;
use crate::domain::{Kinds, timeline::page::InvalidPage};

/// A filter of a list of contents.
#[derive(InputObject)]
pub struct TimelineFilter {
    /// The kinds to show; at least one. All if omitted.
    kinds: Option<Vec<ContentKind>>,
}

impl TimelineFilter {
    /// The kinds in `filter`; all without a filter.
    pub fn kinds(filter: Option<Self>) -> Result<Kinds, InvalidPage> {
        let Some(kinds) = filter.and_then(|filter| filter.kinds) else { return Ok(Kinds::ALL) };
        Ok(Kinds::try_new(kinds.into_iter().map(Into::into))?)
    }
}
