//! The objects of the schema, each over a domain value and its hydration.
//!
//! They are neither domain nor store types. Fields that the value does not hold go through loaders.

mod connection;
mod content;
mod counted;
mod excluded;
mod feed;
mod filter;
mod lists;
mod node;
mod people;
mod reacted;
mod session;
mod user;

pub use connection::{ContentConnection, ReplyConnection, Shown, TimelineConnection, TimelineEdge};
pub use content::{Content, ContentKind, MediaKind};
pub use counted::NewContentCount;
pub use excluded::ExcludedUserConnection;
pub use feed::{
    AuthorRemoved, ContentRemoved, EntryAdded, FeedEdge, NewFeedEvent, ReadMarkerMoved, RefetchNeeded, RelationChanged,
    ResumeToken, ShownChanged, TimelineMayDiffer,
};
pub use filter::TimelineFilter;
pub(super) use lists::connections;
pub use lists::{PageArguments, UserConnection};
pub use node::Node;
pub use people::{FoundUserConnection, suggested};
pub use reacted::{BookmarkConnection, LikeConnection, ReactedPage};
pub use session::{ProfileAttribute, Session};
pub use user::User;
