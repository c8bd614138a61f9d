//! Finds the client's address behind trusted proxies.

use std::net::{IpAddr, SocketAddr};

use axum::{
    extract::ConnectInfo,
    http::{Extensions, HeaderMap},
};
use ipnet::IpNet;

/// The header to which each proxy appends its client's address.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// The client's address: the peer's, or, behind trusted proxies, the rightmost untrusted one in `X-Forwarded-For`.
/// `None` if the server does not know the peer.
pub(super) fn of_request(extensions: &Extensions, headers: &HeaderMap, proxies: &[IpNet]) -> Option<IpAddr> {
    let ConnectInfo(peer) = extensions.get::<ConnectInfo<SocketAddr>>()?;
    let lines: Vec<&str> = headers.get_all(FORWARDED_FOR).iter().map(|it| it.to_str().unwrap_or_default()).collect();
    Some(behind(peer.ip().to_canonical(), &lines, proxies))
}

/// Whether a trusted proxy has sent the request, so that its words about its client count.
pub(super) fn is_from_proxy(extensions: &Extensions, proxies: &[IpNet]) -> bool {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>();
    peer.is_some_and(|ConnectInfo(peer)| is_among(&peer.ip().to_canonical(), proxies))
}

fn is_among(address: &IpAddr, proxies: &[IpNet]) -> bool {
    proxies.iter().any(|net| net.contains(address))
}

/// Walks from `peer` towards the client while the addresses are trusted. Stops at an unreadable one.
fn behind(peer: IpAddr, lines: &[&str], proxies: &[IpNet]) -> IpAddr {
    let mut known = peer;
    for entry in lines.iter().flat_map(|line| line.split(',')).rev() {
        if !is_among(&known, proxies) {
            break;
        }
        match parse(entry.trim()) {
            Some(before) => known = before,
            None => break,
        }
    }
    known
}

/// An address, perhaps with a port.
fn parse(text: &str) -> Option<IpAddr> {
    let plain = text.parse::<IpAddr>().or_else(|_| text.parse::<SocketAddr>().map(|with_port| with_port.ip()));
    plain.ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;

    fn client(peer: &str, lines: &[&str], proxies: &[&str]) -> String {
        let proxies: Vec<IpNet> = proxies.iter().map(|net| net.parse().unwrap()).collect();
        behind(peer.parse().unwrap(), lines, &proxies).to_string()
    }

    #[test]
    fn a_header_is_believed_only_from_a_trusted_proxy() {
        assert_eq!(client("203.0.113.9", &["192.0.2.1"], &[]), "203.0.113.9");
        assert_eq!(client("203.0.113.9", &["192.0.2.1"], &["10.0.0.0/8"]), "203.0.113.9");
        assert_eq!(client("10.0.0.2", &["192.0.2.1"], &["10.0.0.0/8"]), "192.0.2.1");
    }

    #[test]
    fn the_rightmost_address_that_is_no_proxy_is_the_client() {
        let proxies = ["10.0.0.0/8", "fd00::/8"];
        assert_eq!(client("10.0.0.2", &["6.6.6.6, 192.0.2.1, 10.9.9.9"], &proxies), "192.0.2.1");
        assert_eq!(client("10.0.0.2", &["6.6.6.6", "192.0.2.1", "fd00::1"], &proxies), "192.0.2.1");
        assert_eq!(client("10.0.0.2", &["192.0.2.1:4711"], &proxies), "192.0.2.1");
        assert_eq!(client("10.0.0.2", &["[2001:db8::1]:4711"], &proxies), "2001:db8::1");
        assert_eq!(client("10.0.0.2", &["10.0.0.3"], &proxies), "10.0.0.3", "all are proxies: the first of them");
    }

    #[test]
    fn an_unreadable_forwarded_address_ends_the_chain() {
        let proxies = ["10.0.0.0/8"];
        for lines in [&[][..], &[""], &["unknown"], &["192.0.2.1, \"x\""]] {
            assert_eq!(client("10.0.0.2", lines, &proxies), "10.0.0.2", "{lines:?}");
        }
    }
}
