//! The rules of the timeline as values and pure functions: positions, coverage, the merge, the delivery policy,
//! subtasks.
//!
//! Nothing here awaits, reads a clock, draws a random number or knows a database.

pub mod account;
pub mod backoff;
pub mod content;
pub mod delivery;
pub mod ids;
pub mod json;
pub mod kinds;
pub mod limits;
pub mod live;
pub mod object;
pub mod reaction;
pub mod reference;
pub mod search;
pub mod sweep;
pub mod text;
pub mod timeline;

pub use self::{
    account::profile::{Handle, Profile},
    content::{Content, Counters, Media, MediaKind},
    delivery::edge::EdgeMode,
    ids::{ContentId, IdMap, IdSet, ServiceKeyId, SessionId, UserId},
    kinds::{ContentKind, Kinds},
    live::{resume::ResumePoint, shown::Shown},
    object::ContentObject,
    reaction::{Reaction, ViewerReactions},
    reference::Reference,
    timeline::{
        floor::Floor,
        listing::{Listed, Listing},
        merge::Run,
        page::{Direction, Page, PageRequest, PageSize},
        position::{Entry, Position},
    },
};
