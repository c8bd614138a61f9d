//! Keys of list pages that are read together, and the pages themselves.

use std::{
    mem::{Discriminant, discriminant},
    sync::Arc,
};

use crate::domain::{ContentId, Direction, Listing, PageRequest, UserId, timeline::folding::Folded};

/// The key of a page, for a given viewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PageOf {
    /// A user's followers.
    Followers(UserId, PageRequest),
    /// The users whom a user follows.
    Following(UserId, PageRequest),
    /// The users who like a content.
    Likers(ContentId, PageRequest),
    /// A user's contents.
    Outbox(UserId, PageRequest),
    /// A user's contents with pictures or video.
    Media(UserId, PageRequest),
    /// The replies to a content.
    Replies(ContentId, PageRequest),
    /// The content that a content replies to, the one that this replies to, and so on.
    Ancestors(ContentId),
}

/// A page of any list.
#[derive(Debug, Clone)]
pub enum Paged {
    /// Users.
    Users(Arc<Listing<UserId>>),
    /// Contents with their positions.
    Entries(Arc<Folded>),
    /// Contents without positions, the farthest first.
    Upward(Arc<[ContentId]>),
}

impl PageOf {
    /// The replies to `content` behind `request`'s bound, oldest first, as threads are read. The page's entries are
    /// newest first, as in any page.
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
