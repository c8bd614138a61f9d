//! What a subscriber's client holds of its timeline, and which changes it is sent.

pub mod resume;
pub mod view;
