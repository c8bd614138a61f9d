//! Timelines: positions and cursors, coverage, merging, folding, and auditing.

pub mod audit;
pub mod authors;
pub mod candidates;
pub mod cursor;
pub mod exclusion;
pub mod extension;
pub mod floor;
pub mod folding;
pub mod listing;
pub mod merge;
pub mod outside;
pub mod page;
pub mod position;
pub mod reactions;
pub mod route;
pub mod stretch;
pub mod tier;
pub mod widening;
#[cfg(test)]
mod worked_example;
