//! References from replies and reposts to other contents. They never change.

use super::{ids::ContentId, kinds::ContentKind};

/// The content that a reply or a repost refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reference {
    /// A post of its own.
    #[default]
    Nothing,
    /// A reply to this content, which is never a repost.
    ReplyTo(ContentId),
    /// A repost of this content, which is never a repost itself.
    RepostOf(ContentId),
}

impl Reference {
    /// The kind of a content with this reference.
    pub const fn kind(self) -> ContentKind {
        match self {
            Self::Nothing => ContentKind::Post,
            Self::ReplyTo(_) => ContentKind::Reply,
            Self::RepostOf(_) => ContentKind::Repost,
        }
    }

    /// The content referred to.
    pub const fn content(self) -> Option<ContentId> {
        match self {
            Self::Nothing => None,
            Self::ReplyTo(content) | Self::RepostOf(content) => Some(content),
        }
    }

    /// The content replied to.
    pub const fn reply_to(self) -> Option<ContentId> {
        if let Self::ReplyTo(content) = self { Some(content) } else { None }
    }

    /// The content reposted.
    pub const fn repost_of(self) -> Option<ContentId> {
        if let Self::RepostOf(content) = self { Some(content) } else { None }
    }

    /// The same reference to another content; `Nothing` stays `Nothing`.
    #[must_use]
    pub const fn directed_to(self, content: ContentId) -> Self {
        match self {
            Self::Nothing => Self::Nothing,
            Self::ReplyTo(_) => Self::ReplyTo(content),
            Self::RepostOf(_) => Self::RepostOf(content),
        }
    }
}
