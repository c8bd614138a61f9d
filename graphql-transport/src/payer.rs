//! The client that is charged for operations and memory: a viewer, a service or an address.

use std::net::{IpAddr, Ipv6Addr};

/// Number of payers that all clients share once too many are known.
pub const SHARED: u64 = 1024;

/// The client that is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Payer {
    /// A signed-in viewer, by number.
    Viewer(u64),
    /// Another service, by number, whomever it acts as.
    Service(u64),
    /// An address; a /64 in IPv6.
    Address(IpAddr),
    /// A client whose address is unknown.
    Unknown,
    /// One of [`SHARED`].
    Shared(u64),
}

impl Payer {
    /// The payer of an anonymous client: its [`network`].
    pub fn of_address(address: Option<IpAddr>) -> Self {
        address.map_or(Self::Unknown, |address| Self::Address(network(address)))
    }
}

/// The network of one customer: an IPv4 address, or the first address of an IPv6 address's /64, because a customer can
/// choose the other 64 bits.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(four) => four.into(),
        IpAddr::V6(six) => Ipv6Addr::from(u128::from(six) >> 64 << 64).into(),
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
