//! The client that pays for an operation and for memory: a viewer, or an address.

use std::net::{IpAddr, Ipv6Addr};

/// Payers that those share who come when too many are known.
pub const SHARED: u64 = 1024;

/// Who pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Payer {
    /// A signed-in viewer, by number.
    Viewer(u64),
    /// An address; of IPv6 a /64.
    Address(IpAddr),
    /// The address of the client is unknown.
    Unknown,
    /// One of [`SHARED`].
    Shared(u64),
}

impl Payer {
    /// All addresses of one customer of a provider are one: the last 64 bits of an IPv6 address are theirs to choose.
    pub fn of_address(address: Option<IpAddr>) -> Self {
        match address.map(|address| address.to_canonical()) {
            None => Self::Unknown,
            Some(IpAddr::V4(four)) => Self::Address(four.into()),
            Some(IpAddr::V6(six)) => Self::Address(Ipv6Addr::from(u128::from(six) >> 64 << 64).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;

    fn address(text: &str) -> Payer {
        Payer::of_address(Some(text.parse().unwrap()))
    }

    #[test]
    fn the_second_half_of_an_ipv6_address_is_nobody_else() {
        assert_eq!(address("2001:db8::1"), address("2001:db8::ffff:2"));
        assert_ne!(address("2001:db8::1"), address("2001:db8:0:1::1"));
        assert_eq!(address("::ffff:192.0.2.1"), address("192.0.2.1"));
        assert_ne!(address("192.0.2.1"), address("192.0.2.2"));
    }
}
