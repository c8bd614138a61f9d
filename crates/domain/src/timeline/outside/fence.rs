//! Fences: identities and random numbers that tell a current claim from a lost, restored or outdated one.

use std::{fmt, str::FromStr};

use crate::{
    ids::UserId,
    limits::{INBOX_BUCKETS, NODE_ID_BYTES},
};

/// The identity of a node of the outside store. It changes whenever the node may have lost writes. In Redis this is
/// a SHA-1: 40 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId([u8; NODE_ID_BYTES]);

/// Why a text is not a [`NodeId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a node's identity has 40 hexadecimal digits")]
pub struct InvalidNodeId;

impl NodeId {
    /// The identity with these bytes.
    pub const fn of(bytes: [u8; NODE_ID_BYTES]) -> Self {
        Self(bytes)
    }

    /// As it was made.
    pub const fn bytes(&self) -> &[u8; NODE_ID_BYTES] {
        &self.0
    }
}

impl FromStr for NodeId {
    type Err = InvalidNodeId;

    fn from_str(text: &str) -> Result<Self, InvalidNodeId> {
        let digits = text.as_bytes();
        if digits.len() != 2 * NODE_ID_BYTES {
            return Err(InvalidNodeId);
        }
        let mut bytes = [0; NODE_ID_BYTES];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| InvalidNodeId)?;
            if !pair.chars().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(InvalidNodeId);
            }
            *byte = u8::from_str_radix(pair, 16).map_err(|_| InvalidNodeId)?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

macro_rules! random_number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

random_number! {
    /// A random number, drawn whenever a reader enters the outside tier. It distinguishes the inboxes of different
    /// stays.
    Generation
}
random_number! {
    /// Changes whenever rows go or claims change, and never comes back: see [`Revision::after`]. Appended rows do not
    /// change it.
    Revision
}
random_number! {
    /// A random number, drawn by the node that sends an operation. With what the operation finds it gives the next
    /// revision.
    Nonce
}
random_number! {
    /// A random number that SQL keeps as well, drawn in the transaction that reads what a claim is made of. If SQL
    /// loses that transaction, it loses the number, and the claim counts no longer.
    Basis
}

impl Revision {
    /// The one that an operation with this nonce makes of `before`; `None`: there is no inbox. It depends on both, so
    /// that an operation that runs twice, or late, gives another one each time.
    pub const fn after(before: Option<Self>, nonce: Nonce) -> Self {
        let before = match before {
            Some(Self(before)) => before,
            None => 0,
        };
        Self(mixed(before, nonce.0))
    }
}

impl Nonce {
    /// As it counts at one instant of the store. Where there is no inbox, no revision tells one run of an opening from
    /// another; the instant does.
    #[must_use]
    pub const fn at(self, instant: i64) -> Self {
        Self(mixed(instant, self.0))
    }
}

/// Spreads both over all 64 bits: two rounds of splitmix64.
const fn mixed(a: i64, b: i64) -> i64 {
    const fn round(number: u64) -> u64 {
        let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }
    round(round(a.cast_unsigned()) ^ b.cast_unsigned()).cast_signed()
}

/// Which node answers for the inboxes of a bucket, and since which admission. Without it none of them is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BucketToken {
    /// The node that must answer.
    pub node: NodeId,
    /// A random number, drawn each time the bucket is admitted.
    pub epoch: i64,
}

/// Identifies an inbox of a reader: a delivery and the header must agree on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fence {
    /// The bucket token of the reader's bucket.
    pub token: BucketToken,
    /// The reader's generation.
    pub generation: Generation,
}

/// Readers whose inboxes lie on one node and are given up and admitted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bucket(u16);

impl Bucket {
    /// The reader's bucket: the id modulo [`INBOX_BUCKETS`].
    pub fn of(reader: UserId) -> Self {
        Self(u16::try_from(reader.get() % i64::from(INBOX_BUCKETS)).unwrap_or_default())
    }

    /// By its number; `None` if there is no such bucket.
    pub fn try_new(number: u16) -> Option<Self> {
        (number < INBOX_BUCKETS).then_some(Self(number))
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..INBOX_BUCKETS).map(Self)
    }

    /// From 0 up to and without [`INBOX_BUCKETS`].
    pub const fn number(self) -> u16 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    #[test]
    fn an_identity_is_read_as_it_is_printed() {
        let text = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(text.parse::<NodeId>().unwrap().to_string(), text);
        for wrong in ["", "0123", "+123456789abcdef0123456789abcdef01234567", "é123456789abcdef0123456789abcdef0123456"]
        {
            assert_eq!(wrong.parse::<NodeId>(), Err(InvalidNodeId), "{wrong}");
        }
    }

    #[test]
    fn a_repeated_operation_gives_another_revision() {
        let (first, nonce) = (Revision::after(None, Nonce(7)), Nonce(8));
        let second = Revision::after(Some(first), nonce);
        let third = Revision::after(Some(second), nonce);
        assert_eq!(Revision::after(Some(first), nonce), second);
        assert!(first != second && second != third && first != third);
        assert_ne!(Revision::after(Some(first), Nonce(9)), second);
        assert_ne!(Revision::after(None, nonce.at(1)), Revision::after(None, nonce.at(2)), "there is no inbox twice");
    }

    #[test]
    fn readers_spread_over_all_buckets() {
        let bucket = |id| Bucket::of(UserId::try_new(id).unwrap()).number();
        assert_eq!((bucket(1), bucket(i64::from(INBOX_BUCKETS)), bucket(i64::from(INBOX_BUCKETS) + 3)), (1, 0, 3));
        assert!(bucket(i64::MAX) < INBOX_BUCKETS);
    }
}
