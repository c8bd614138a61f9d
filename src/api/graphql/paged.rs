//! Pages of lists from the loaders, each in the type of its list.

use std::sync::Arc;

use super::{errors::Failure, hydration::Hydration};
use crate::{
    domain::{ContentId, Listing, UserId, timeline::folding::Folded},
    read::lists::{PageOf, Paged},
    store::StoreError,
};

impl Hydration {
    /// A page of users.
    pub async fn people_in(&self, page: PageOf) -> Result<Arc<Listing<UserId>>, Failure> {
        match self.page(page).await? {
            Some(Paged::Users(people)) => Ok(people),
            other => Err(no_such_page(page, other.as_ref())),
        }
    }

    /// A page of contents.
    pub async fn entries_in(&self, page: PageOf) -> Result<Arc<Folded>, Failure> {
        match self.page(page).await? {
            Some(Paged::Entries(entries)) => Ok(entries),
            other => Err(no_such_page(page, other.as_ref())),
        }
    }

    /// The ancestors of a content, the farthest first.
    pub async fn above(&self, content: ContentId) -> Result<Arc<[ContentId]>, Failure> {
        let page = PageOf::Ancestors(content);
        match self.page(page).await? {
            Some(Paged::Upward(contents)) => Ok(contents),
            other => Err(no_such_page(page, other.as_ref())),
        }
    }
}

/// The error for a page of another kind than requested.
fn no_such_page(asked: PageOf, read: Option<&Paged>) -> Failure {
    StoreError::Unreadable(format!("{read:?} in answer to {asked:?}")).into()
}
