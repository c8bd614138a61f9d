//! Counts of entries.

use async_graphql::SimpleObject;
use graphql_transport::metered::Metered;

use crate::read::Count;

/// How many entries are new.
#[derive(SimpleObject)]
pub struct NewContentCount {
    /// Exact, unless `isCapped`. Entries that fold into one count once.
    count: Metered<i32>,
    /// Whether there are more than `max`, or more than 1000 before folding.
    is_capped: Metered<bool>,
}

impl From<Count> for NewContentCount {
    fn from(counted: Count) -> Self {
        Self { count: Metered(i32::try_from(counted.count).unwrap_or(i32::MAX)), is_capped: Metered(counted.capped) }
    }
}
