//! A cached document and the hash of its text.

use std::{fmt, sync::Arc};

use sha2::{Digest as _, Sha256};

use crate::guard::SafeDocument;

/// The SHA-256 of a document's text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct DocumentHash([u8; 32]);

impl DocumentHash {
    pub(super) fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    /// 64 hexadecimal digits, in either case.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for DocumentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for DocumentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DocumentHash({self})")
    }
}

/// A cached document and its text.
#[derive(Debug, Clone)]
pub(super) struct ParsedDocument {
    pub(super) document: Arc<SafeDocument>,
    pub(super) text: Arc<str>,
}
