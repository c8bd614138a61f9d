//! Profiles and their attributes, sessions, failed sign-ins, and what services may do.

pub mod attempts;
pub mod attributes;
pub mod external;
pub mod profile;
pub mod service;
pub mod session;
