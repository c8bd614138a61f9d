//! Ids of users, contents, sessions and keys: positive 64-bit integers, one type each. The API and the database each
//! have their own form of them.
//!
//! Every layer uses these types. `api` and `store` define how clients and databases see them.

use std::{
    collections::{HashMap, HashSet},
    fmt,
};

use serde::{Deserialize, Serialize};

/// 2024-01-01T00:00:00Z in milliseconds: 41 bits from here last until 2093.
const EPOCH_MS: i64 = 1_704_067_200_000;
const RANDOM_BITS: u32 = 22;

/// Refuses numbers outside of 1 to `i64::MAX`, which every database can store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not an id: ids are whole numbers from 1 to 9223372036854775807")]
pub struct InvalidId(pub i128);

/// A map by id. Nobody chooses ids, so that they need no hash that withstands chosen ones.
pub type IdMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// A set of ids, as [`IdMap`].
pub type IdSet<K> = HashSet<K, foldhash::fast::RandomState>;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "i64", into = "i64")]
        pub struct $name(i64);

        impl $name {
            /// Checks that `raw` is 1 to `i64::MAX`.
            pub fn try_new(raw: i64) -> Result<Self, InvalidId> {
                if raw > 0 { Ok(Self(raw)) } else { Err(InvalidId(i128::from(raw))) }
            }

            /// The number as databases keep it; always positive.
            pub const fn get(self) -> i64 {
                self.0
            }

            /// A new id: 41 bits of milliseconds since 2024, then the low 22 bits of `random`. Nodes need no
            /// coordination: a collision is a primary-key conflict, after which another id is drawn.
            pub fn generate(now_ms: i64, random: u32) -> Self {
                let since = (now_ms - EPOCH_MS).clamp(1, (1 << 41) - 1);
                let low = i64::from(random & ((1 << RANDOM_BITS) - 1));
                Self((since << RANDOM_BITS) | low)
            }
        }

        impl TryFrom<i64> for $name {
            type Error = InvalidId;

            fn try_from(raw: i64) -> Result<Self, InvalidId> {
                Self::try_new(raw)
            }
        }

        impl TryFrom<u64> for $name {
            type Error = InvalidId;

            fn try_from(raw: u64) -> Result<Self, InvalidId> {
                i64::try_from(raw).map_err(|_| InvalidId(i128::from(raw))).and_then(Self::try_new)
            }
        }

        impl From<$name> for i64 {
            fn from(id: $name) -> i64 {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A user, as an author, a reader or a follower.
    UserId
);
id!(
    /// A content, whatever its kind. Ids order contents that were published in the same millisecond.
    ContentId
);
id!(
    /// A session: one sign-in and the refresh tokens that prolong it.
    SessionId
);

impl UserId {
    /// The last id there is. Nobody has it: it would have been drawn at the end of time.
    pub const NOBODY: Self = Self(i64::MAX);
}

impl ContentId {
    /// The last id there is. No content has it, for the same reason.
    pub const NOTHING: Self = Self(i64::MAX);
}

id!(
    /// A key with which another service asks.
    ServiceKeyId
);

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    #[test]
    fn only_positive_numbers_are_ids() {
        assert_eq!(UserId::try_new(0), Err(InvalidId(0)));
        assert_eq!(ContentId::try_new(-1), Err(InvalidId(-1)));
        assert_eq!(ContentId::try_from(u64::MAX), Err(InvalidId(i128::from(u64::MAX))));
        assert_eq!(UserId::try_new(i64::MAX).unwrap().get(), i64::MAX);
    }

    #[test]
    fn later_ids_are_larger_whatever_the_random_bits() {
        let early = ContentId::generate(EPOCH_MS + 5, u32::MAX);
        let late = ContentId::generate(EPOCH_MS + 6, 0);
        assert!(early < late);
    }

    #[test]
    fn a_clock_before_the_epoch_still_draws_a_positive_id() {
        assert!(ContentId::generate(0, 0).get() > 0);
        assert!(ContentId::generate(i64::from(u32::MAX) * 10_000, u32::MAX).get() > 0);
    }
}
