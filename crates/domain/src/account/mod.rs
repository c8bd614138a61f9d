//! Profiles and their attributes, sessions, and failed sign-ins.

pub mod attempts;
pub mod attributes;
pub mod profile;
pub mod session;
