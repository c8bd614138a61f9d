//! What a subscriber's client holds of its timeline, which changes it is sent, and what else clients show.

pub mod resume;
pub mod shown;
pub mod view;
