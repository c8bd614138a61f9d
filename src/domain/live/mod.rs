//! What a subscriber shows of its timeline, and what it is told.

pub mod resume;
pub mod view;
