//! An author's own contents as a page: the outbox is the one source, so its runs are the whole answer.

use super::errors::Failure;
use crate::{
    domain::{
        Floor, Page, PageRequest, UserId,
        plan::{Next, Snapshot, decide},
    },
    store::{Contents, StoreError},
};

/// The page of `author`'s contents that `request` asks for, as far as `viewer` may see it.
pub async fn outbox_page(
    contents: &dyn Contents,
    viewer: Option<UserId>,
    author: UserId,
    request: &PageRequest,
) -> Result<Page, Failure> {
    let outbox = contents.outbox(viewer, author, request).await?;
    let behind = outbox.behind.into_iter().collect();
    let snapshot = Snapshot { floor: Floor::OPEN, uncovered: Vec::new(), ahead: vec![outbox.ahead], behind };
    match decide(request, &snapshot, None) {
        Next::Serve(page) => Ok(page),
        next => Err(StoreError::Unreadable(format!("an outbox page that does not suffice ({next:?})")).into()),
    }
}
