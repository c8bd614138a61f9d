//! The records of a file, checked by the rules that the API has for the same values.

use domain::{
    Handle, Media, Reaction,
    account::{attributes::Attributes, external::ExternalId},
    json::JsonObject,
    object::ContentType,
};

/// A record: what one line says. Times are ms UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A user, or a change of one.
    User(User),
    /// A content.
    Content(Content),
    /// Somebody follows an author.
    Follow(Follow),
    /// A like or a bookmark.
    Reaction(Reacted),
    /// The user does not see the other one.
    Mute(Pair),
    /// Neither sees the other one.
    Block(Pair),
    /// The other one does not see the user.
    Hide(Pair),
    /// Up to where somebody has read.
    ReadMarker(ReadMarker),
    /// A content that does not exist any more, and never comes back.
    Tombstone(Tombstone),
}

/// What a line says of a value that can be removed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Patch<T> {
    /// Nothing: it stays as it is.
    #[default]
    LeftOut,
    /// Null: it is removed.
    Null,
    /// It is this from now on.
    Value(T),
}

impl<T> Patch<T> {
    /// The value, where null is as left out.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            Self::LeftOut | Self::Null => None,
        }
    }

    /// The same of another value.
    pub fn try_map<U, E>(self, change: impl FnOnce(T) -> Result<U, E>) -> Result<Patch<U>, E> {
        Ok(match self {
            Self::LeftOut => Patch::LeftOut,
            Self::Null => Patch::Null,
            Self::Value(value) => Patch::Value(change(value)?),
        })
    }
}

/// A user. What is `None` or [`Patch::LeftOut`] stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The product's id.
    pub external_id: ExternalId,
    /// Unique name. Null in the file is as left out: a user always has one.
    pub handle: Option<Handle>,
    /// Display name, trimmed. Null in the file is as left out, as with the handle.
    pub name: Option<String>,
    /// A short text, trimmed.
    pub bio: Patch<String>,
    /// The URL of a picture.
    pub avatar_url: Patch<String>,
    /// All open attributes.
    pub attributes: Patch<Attributes>,
    /// Whether they may sign in. Null in the file is as left out: a user always has a state, a new one is active.
    pub state: Option<UserState>,
    /// When the user joined the product. Only counts for a new user.
    pub created_at: Option<i64>,
}

/// Whether a user may sign in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserState {
    /// Yes.
    Active,
    /// The product keeps them out.
    Deactivated,
}

impl UserState {
    /// Every state.
    pub const ALL: [Self; 2] = [Self::Active, Self::Deactivated];

    /// The `state` in the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Deactivated => "DEACTIVATED",
        }
    }
}

/// A content as a whole: what is left out in the file, or null, it does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The product's id.
    pub external_id: ExternalId,
    /// The product's id of its author.
    pub author: ExternalId,
    /// Its words, trimmed; empty in reposts.
    pub text: String,
    /// Its pictures and videos.
    pub media: Vec<Media>,
    /// What it links to.
    pub url: Option<String>,
    /// What it is to the product.
    pub content_type: Option<ContentType>,
    /// The product's own values.
    pub attributes: Option<JsonObject>,
    /// The content that it replies to or reposts.
    pub reference: ContentReference,
    /// When it was published.
    pub created_at: i64,
    /// When it was last edited; not before it was published.
    pub edited_at: Option<i64>,
}

/// The content that a reply or a repost refers to, by the product's id.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum ContentReference {
    /// A post of its own.
    #[default]
    Nothing,
    /// A reply to this content.
    ReplyTo(ExternalId),
    /// A repost of this content.
    RepostOf(ExternalId),
}

impl ContentReference {
    /// The content, however it is referred to.
    pub const fn content(&self) -> Option<&ExternalId> {
        match self {
            Self::Nothing => None,
            Self::ReplyTo(content) | Self::RepostOf(content) => Some(content),
        }
    }
}

/// An edge between two different users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Follow {
    /// Who follows.
    pub follower: ExternalId,
    /// Whom.
    pub author: ExternalId,
    /// Since when, if that is known.
    pub created_at: Option<i64>,
}

/// A user's reaction to a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reacted {
    /// Who.
    pub user: ExternalId,
    /// To what.
    pub content: ExternalId,
    /// How.
    pub kind: Reaction,
    /// When, if that is known.
    pub created_at: Option<i64>,
}

/// Two different users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// Who mutes, blocks or hides.
    pub user: ExternalId,
    /// Whom, or from whom.
    pub other: ExternalId,
}

/// Up to where a user has read their timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadMarker {
    /// Who.
    pub user: ExternalId,
    /// What was published until then is read.
    pub at: i64,
}

/// A content that does not exist any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// The product's id.
    pub content: ExternalId,
}

/// The kinds of records, in the order of a sorted file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// [`Record::User`].
    User,
    /// [`Record::Content`].
    Content,
    /// [`Record::Follow`].
    Follow,
    /// [`Record::Reaction`].
    Reaction,
    /// [`Record::Mute`].
    Mute,
    /// [`Record::Block`].
    Block,
    /// [`Record::Hide`].
    Hide,
    /// [`Record::ReadMarker`].
    ReadMarker,
    /// [`Record::Tombstone`].
    Tombstone,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::User,
        Self::Content,
        Self::Follow,
        Self::Reaction,
        Self::Mute,
        Self::Block,
        Self::Hide,
        Self::ReadMarker,
        Self::Tombstone,
    ];

    /// The `type` of its lines.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Content => "content",
            Self::Follow => "follow",
            Self::Reaction => "reaction",
            Self::Mute => "mute",
            Self::Block => "block",
            Self::Hide => "hide",
            Self::ReadMarker => "read_marker",
            Self::Tombstone => "tombstone",
        }
    }

    /// The kind with this `type`.
    pub fn of_type(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl Record {
    /// Its kind.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::User(_) => Kind::User,
            Self::Content(_) => Kind::Content,
            Self::Follow(_) => Kind::Follow,
            Self::Reaction(_) => Kind::Reaction,
            Self::Mute(_) => Kind::Mute,
            Self::Block(_) => Kind::Block,
            Self::Hide(_) => Kind::Hide,
            Self::ReadMarker(_) => Kind::ReadMarker,
            Self::Tombstone(_) => Kind::Tombstone,
        }
    }

    /// The product's id of the user or the content that it defines; `None` for what has no id of its own.
    pub const fn external_id(&self) -> Option<&ExternalId> {
        match self {
            Self::User(user) => Some(&user.external_id),
            Self::Content(content) => Some(&content.external_id),
            Self::Tombstone(tombstone) => Some(&tombstone.content),
            _ => None,
        }
    }
}
