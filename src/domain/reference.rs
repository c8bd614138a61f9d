//! References between contents: a reply or a repost, and the content that it refers to. They never change.

use super::{ids::ContentId, kinds::ContentKind};

/// Which other content a content answers or repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reference {
    /// None: it stands by itself.
    #[default]
    Nothing,
    /// The content that it answers; never a repost.
    ReplyTo(ContentId),
    /// The content that it shows again; never a repost.
    RepostOf(ContentId),
}

impl Reference {
    /// What a content with this reference is to its readers.
    pub const fn kind(self) -> ContentKind {
        match self {
            Self::Nothing => ContentKind::Post,
            Self::ReplyTo(_) => ContentKind::Reply,
            Self::RepostOf(_) => ContentKind::Repost,
        }
    }

    /// The other content.
    pub const fn content(self) -> Option<ContentId> {
        match self {
            Self::Nothing => None,
            Self::ReplyTo(content) | Self::RepostOf(content) => Some(content),
        }
    }

    /// The content that is answered.
    pub const fn reply_to(self) -> Option<ContentId> {
        if let Self::ReplyTo(content) = self { Some(content) } else { None }
    }

    /// The content that is shown again.
    pub const fn repost_of(self) -> Option<ContentId> {
        if let Self::RepostOf(content) = self { Some(content) } else { None }
    }

    /// The same, to another content; nothing stays nothing.
    #[must_use]
    pub const fn directed_to(self, content: ContentId) -> Self {
        match self {
            Self::Nothing => Self::Nothing,
            Self::ReplyTo(_) => Self::ReplyTo(content),
            Self::RepostOf(_) => Self::RepostOf(content),
        }
    }
}
