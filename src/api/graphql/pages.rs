//! Pages of lists that hang on a user or a content, by loader: all that are asked for at once and in the same way make
//! one statement.
//!
//! One kind of key for all lists, so that whatever hangs on the entries of a page is answered together, and what is
//! shown of it is loaded together.

use std::{
    collections::HashMap,
    mem::{Discriminant, discriminant},
    sync::Arc,
};

use async_graphql::dataloader::Loader;
use futures_util::future::join_all;

use super::{
    errors::{ApiError, Failure},
    loaders::Source,
};
use crate::{
    domain::{
        ContentId, Direction, Floor, Listing, Page, PageRequest, UserId,
        limits::MAX_ANCESTORS,
        timeline::{
            folding::Folded,
            plan::{Next, Snapshot, decide},
        },
    },
    store::{StoreError, contents::OutboxPage},
};

/// Key of a page, as the viewer sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PageOf {
    /// Of a user's followers.
    Followers(UserId, PageRequest),
    /// Of those whom a user follows.
    Following(UserId, PageRequest),
    /// Of those who like a content.
    Likers(ContentId, PageRequest),
    /// Of what a user has published.
    Outbox(UserId, PageRequest),
    /// Of what a user has published with pictures or video.
    Media(UserId, PageRequest),
    /// Of the replies to a content.
    Replies(ContentId, PageRequest),
    /// What a content answers, what that answers, and so on.
    Ancestors(ContentId),
}

/// A page that was read.
#[derive(Debug, Clone)]
pub enum Paged {
    /// People.
    Users(Arc<Listing<UserId>>),
    /// Contents with their places.
    Entries(Arc<Folded>),
    /// Contents without, the farthest first.
    Upward(Arc<[ContentId]>),
}

impl PageOf {
    /// The page of the replies to `content` that follows `request`'s bound, oldest first as replies are read; its
    /// entries are newest first as in any page.
    pub const fn replies(content: ContentId, request: PageRequest) -> Self {
        Self::Replies(content, PageRequest { direction: Direction::Newer, ..request })
    }

    const fn user(&self) -> Option<UserId> {
        match self {
            Self::Followers(user, _) | Self::Following(user, _) | Self::Outbox(user, _) | Self::Media(user, _) => {
                Some(*user)
            }
            Self::Likers(..) | Self::Replies(..) | Self::Ancestors(_) => None,
        }
    }

    const fn content(&self) -> Option<ContentId> {
        match self {
            Self::Likers(content, _) | Self::Replies(content, _) | Self::Ancestors(content) => Some(*content),
            Self::Followers(..) | Self::Following(..) | Self::Outbox(..) | Self::Media(..) => None,
        }
    }

    /// Equal for those that one statement reads.
    const fn way(&self) -> (Discriminant<Self>, Option<PageRequest>) {
        let request = match self {
            Self::Followers(_, request)
            | Self::Following(_, request)
            | Self::Likers(_, request)
            | Self::Outbox(_, request)
            | Self::Media(_, request)
            | Self::Replies(_, request) => Some(*request),
            Self::Ancestors(_) => None,
        };
        (discriminant(self), request)
    }
}

impl Loader<PageOf> for Source {
    /// A failed statement fails its own pages alone.
    type Value = Option<Result<Paged, ApiError>>;
    type Error = ApiError;

    async fn load(&self, keys: &[PageOf]) -> Result<HashMap<PageOf, Self::Value>, ApiError> {
        let mut alike: HashMap<_, Vec<PageOf>> = HashMap::new();
        for key in keys {
            alike.entry(key.way()).or_default().push(*key);
        }
        let read = join_all(alike.into_values().map(|keys| self.pages(keys))).await;
        Ok(read.into_iter().flatten().map(|(key, page)| (key, Some(page))).collect())
    }
}

impl Source {
    async fn pages(&self, keys: Vec<PageOf>) -> Vec<(PageOf, Result<Paged, ApiError>)> {
        match self.read_pages(&keys).await {
            Ok(pages) => keys.into_iter().zip(pages.into_iter().map(Ok)).collect(),
            Err(failure) => {
                let error = failure.told();
                keys.into_iter().map(|key| (key, Err(error.clone()))).collect()
            }
        }
    }

    /// The pages of `keys`, which are all of one way.
    async fn read_pages(&self, keys: &[PageOf]) -> Result<Vec<Paged>, Failure> {
        let Some(first) = keys.first() else { return Ok(Vec::new()) };
        let viewer = self.viewer_dependence.viewer().map(|viewer| viewer.id);
        let users: Vec<UserId> = keys.iter().filter_map(PageOf::user).collect();
        let contents: Vec<ContentId> = keys.iter().filter_map(PageOf::content).collect();
        let services = &self.services;
        match first {
            PageOf::Followers(_, request) => {
                Ok(people(services.follow_lists.followers(viewer, &users, request).await?))
            }
            PageOf::Following(_, request) => {
                Ok(people(services.follow_lists.following(viewer, &users, request).await?))
            }
            PageOf::Likers(_, request) => Ok(people(services.reactions.likers(viewer, &contents, request).await?)),
            PageOf::Outbox(_, request) => entries(services.contents.outbox(viewer, &users, request).await?, request),
            PageOf::Media(_, request) => entries(services.contents.with_media(viewer, &users, request).await?, request),
            PageOf::Replies(_, request) => {
                entries(services.contents.replies(viewer, &contents, request).await?, request)
            }
            PageOf::Ancestors(_) => {
                let above = services.contents.ancestors(&contents, MAX_ANCESTORS).await?;
                Ok(above.into_iter().map(|above| Paged::Upward(above.into())).collect())
            }
        }
    }
}

fn people(listings: Vec<Listing<UserId>>) -> Vec<Paged> {
    listings.into_iter().map(|listing| Paged::Users(Arc::new(listing))).collect()
}

fn entries(outboxes: Vec<OutboxPage>, request: &PageRequest) -> Result<Vec<Paged>, Failure> {
    let pages = outboxes.into_iter().map(|outbox| page_of(outbox, request));
    pages.map(|page| Ok(Paged::Entries(Arc::new(page?.into())))).collect()
}

/// There is one source, so its runs are the whole answer.
fn page_of(outbox: OutboxPage, request: &PageRequest) -> Result<Page, Failure> {
    let behind = outbox.behind.into_iter().collect();
    let snapshot =
        Snapshot { floor: Floor::OPEN, excludes: false, uncovered: Vec::new(), ahead: vec![outbox.ahead], behind };
    match decide(request, &snapshot, None) {
        Next::Serve(page) => Ok(page),
        next => Err(StoreError::Unreadable(format!("a list that does not suffice ({next:?})")).into()),
    }
}
