//! An author's own contents, and the replies to one, as pages: there is one source, so its runs are the whole answer.

use super::errors::Failure;
use crate::{
    domain::{
        ContentId, Direction, Floor, Page, PageRequest, UserId,
        plan::{Next, Snapshot, decide},
    },
    store::{Contents, StoreError, contents::OutboxPage},
};

/// The page of `author`'s contents that `request` asks for, as far as `viewer` may see it.
pub async fn outbox_page(
    contents: &dyn Contents,
    viewer: Option<UserId>,
    author: UserId,
    request: &PageRequest,
) -> Result<Page, Failure> {
    page_of(contents.outbox(viewer, author, request).await?, request)
}

/// The page of the replies to `content` that follows `request`'s bound, oldest first as replies are read; its entries are newest first as in any page.
pub async fn replies_page(
    contents: &dyn Contents,
    viewer: Option<UserId>,
    content: ContentId,
    request: PageRequest,
) -> Result<Page, Failure> {
    let request = PageRequest { direction: Direction::Newer, ..request };
    page_of(contents.replies(viewer, content, &request).await?, &request)
}

fn page_of(outbox: OutboxPage, request: &PageRequest) -> Result<Page, Failure> {
    let behind = outbox.behind.into_iter().collect();
    let snapshot =
        Snapshot { floor: Floor::OPEN, excludes: false, uncovered: Vec::new(), ahead: vec![outbox.ahead], behind };
    match decide(request, &snapshot, None) {
        Next::Serve(page) => Ok(page),
        next => Err(StoreError::Unreadable(format!("a list that does not suffice ({next:?})")).into()),
    }
}
