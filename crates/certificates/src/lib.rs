//! Certificates of connections to stores: the files, why a connection was refused, and when a certificate ends.
//!
//! Each adapter reads the files anew for a new connection, so that a renewed certificate needs no restart.

mod client;
mod expiry;
mod files;
mod presented;
mod refusal;

pub use client::client;
pub use expiry::{DAYS_OF_WARNING, end_within};
pub use files::{CertificateFiles, Certificates, FileTimes, UnusableFile};
pub use presented::{Greeting, presented};
pub use refusal::{CertificateRefusal, refusal};
