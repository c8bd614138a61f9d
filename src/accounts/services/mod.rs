//! Other services: their keys, as whom they act, and the log of what they do.

mod access;
mod call_log;
mod keys;

pub use self::{
    access::{ServiceAccess, ServiceRefusal},
    call_log::CallLog,
    keys::{CONFIGURED, KeyDigest, add_key, is_service_key, rotate_key},
};
