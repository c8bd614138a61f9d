//! Reads what the cards of contents need besides what a node remembers.

use std::collections::HashMap;

use super::{
    super::{
        fragment::Fragment,
        rows::{DomainColumns as _, Row},
    },
    bindings::List,
    candidates::facts,
    shown::Timeline,
};
use crate::{
    domain::{
        ContentId,
        timeline::candidates::{CardFacts, Wanted},
    },
    store::StoreError,
};

impl Timeline<'_> {
    /// Rows of a content's id and the columns of [`Timeline::facts`].
    pub(super) fn card_facts(self) -> Fragment {
        let (columns, joins) = self.facts(("c.id", "c.author_id"), Wanted::ALL);
        let text = format!(
            "SELECT c.id{columns} FROM contents c {then} counters k{by_key} ON k.content_id = c.id",
            then = self.dialect.join_in_order(),
            by_key = self.by_key(),
        );
        Fragment::new(text, [])
            .then(joins)
            .add(" WHERE c.id IN ", [])
            .then(self.bindings.list(List::Ahead))
            .add(" AND c.removed_at IS NULL", [])
    }
}

/// Decodes the rows of [`Timeline::card_facts`].
pub(super) fn decode(rows: &[Row]) -> Result<HashMap<ContentId, CardFacts>, StoreError> {
    let mut found = HashMap::with_capacity(rows.len());
    for row in rows {
        if let Some(facts) = facts(row, 1, true)? {
            found.insert(row.content(0)?, facts);
        }
    }
    Ok(found)
}
