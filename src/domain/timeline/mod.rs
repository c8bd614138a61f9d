//! What a timeline is: positions and cursors, sources and what they cover, how sources merge into a page, how a page
//! is folded, and how a served page is audited.

pub mod audit;
pub mod authors;
pub mod coverage;
pub mod cursor;
pub mod exclusion;
pub mod floor;
pub mod folding;
pub mod listing;
pub mod merge;
pub mod outside;
pub mod page;
pub mod plan;
pub mod position;
pub mod stretch;
pub mod tier;
#[cfg(test)]
mod worked_example;
