//! The rules of the timeline, as values and pure functions: what a position is, what a source of entries covers, how
//! sources merge into a page, who is pushed to, how a delivery is cut and resumed.
//!
//! Nothing here awaits, reads a clock, draws a random number or knows a database; all of it is tested without any.

pub mod attempts;
pub mod attributes;
pub mod audit;
pub mod backoff;
pub mod content;
pub mod coverage;
pub mod cursor;
pub mod delivery;
pub mod edge;
pub mod exclusion;
pub mod floor;
pub mod folding;
pub mod ids;
pub mod kinds;
pub mod limits;
pub mod listing;
pub mod merge;
pub mod page;
pub mod plan;
pub mod position;
pub mod profile;
pub mod rate;
pub mod reaction;
pub mod reference;
pub mod resume;
pub mod search;
pub mod session;
pub mod subtask;
pub mod terms;
pub mod text;
pub mod tier;
pub mod view;
#[cfg(test)]
mod worked_example;

pub use content::{Content, Counters, Media, MediaKind};
pub use coverage::Run;
pub use edge::EdgeMode;
pub use floor::Floor;
pub use ids::{ContentId, SessionId, UserId};
pub use kinds::{ContentKind, Kinds};
pub use listing::{Listed, Listing};
pub use page::{Direction, Page, PageRequest, PageSize};
pub use position::{Entry, Position};
pub use profile::{Handle, Profile};
pub use reaction::{Reaction, ViewerReactions};
pub use reference::Reference;
pub use resume::ResumePoint;
