//! Keys of list pages that are read together, and what such a page holds.

use std::{
    mem::{Discriminant, discriminant},
    sync::Arc,
};

use crate::domain::{ContentId, Direction, Listing, PageRequest, UserId, timeline::folding::Folded};

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
    /// Contents with their positions.
    Entries(Arc<Folded>),
    /// Contents alone, the farthest first.
    Upward(Arc<[ContentId]>),
}

impl PageOf {
    /// The page of the replies to `content` that follows `request`'s bound, oldest first as replies are read; its
    /// entries are newest first as in any page.
    pub const fn replies(content: ContentId, request: PageRequest) -> Self {
        Self::Replies(content, PageRequest { direction: Direction::Newer, ..request })
    }

    pub(super) const fn user(&self) -> Option<UserId> {
        match self {
            Self::Followers(user, _) | Self::Following(user, _) | Self::Outbox(user, _) | Self::Media(user, _) => {
                Some(*user)
            }
            Self::Likers(..) | Self::Replies(..) | Self::Ancestors(_) => None,
        }
    }

    pub(super) const fn content(&self) -> Option<ContentId> {
        match self {
            Self::Likers(content, _) | Self::Replies(content, _) | Self::Ancestors(content) => Some(*content),
            Self::Followers(..) | Self::Following(..) | Self::Outbox(..) | Self::Media(..) => None,
        }
    }

    /// Equal for pages that one statement reads.
    pub(super) const fn statement(&self) -> (Discriminant<Self>, Option<PageRequest>) {
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
