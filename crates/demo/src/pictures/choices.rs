//! Random choices for a picture. Each has a name of its own, so changing one keeps the others.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The choices of one picture.
pub struct Choices(u64);

impl Choices {
    /// The choices of the picture with this number.
    pub fn of_number(number: u32) -> Self {
        Self(number.into())
    }

    /// The choices of the picture with this name.
    pub fn of_name(name: &str) -> Self {
        Self(xxh3_64(name.as_bytes()))
    }

    /// A number below `limit`, the same for ever.
    pub fn below(&self, what: &str, limit: u64) -> u64 {
        xxh3_64_with_seed(what.as_bytes(), self.0) % limit
    }

    /// As [`Self::below`], for a hue or a coordinate of a small picture.
    pub fn small(&self, what: &str, limit: u16) -> u16 {
        u16::try_from(self.below(what, limit.into())).unwrap_or(0)
    }
}
