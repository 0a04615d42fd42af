//! The client address of a request that came through proxies.
//!
//! `X-Forwarded-*` fields are only believed where the peer is a proxy that the configuration names: anyone else can
//! write into them what they like.

use sampan_host::request::Network;
use std::borrow::Cow;
use std::net::IpAddr;
use std::str::FromStr;

/// The notation for clients that come over a Unix socket and have no address.
pub(crate) const UNIX: &str = "unix:";

/// The trusted proxies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustedProxy {
    /// The addresses of a network.
    Network(Network),
    /// The processes that may connect to the Unix sockets of the server.
    Unix,
}

impl FromStr for TrustedProxy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == UNIX {
            return Ok(Self::Unix);
        }
        let network = Network::parse(text).map(Self::Network);
        network.ok_or_else(|| {
            format!("{text:?} is no network: write an address or a prefix like 10.0.0.0/8")
        })
    }
}

/// Reports whether a proxy with this address is trusted; without one the request came over a Unix socket.
pub fn is_trusted(trusted: &[TrustedProxy], address: Option<IpAddr>) -> bool {
    trusted.iter().any(|proxy| match (proxy, address) {
        (TrustedProxy::Network(network), Some(address)) => network.contains(address),
        (TrustedProxy::Unix, None) => true,
        _ => false,
    })
}

/// An address as people and scripts read it.
pub(crate) fn shown(address: Option<IpAddr>) -> String {
    address.map_or_else(|| UNIX.to_owned(), |address| address.to_string())
}

/// The client of a request, as far as proxies tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProxiedClient {
    /// The address; `None` for a client over a Unix socket.
    pub(crate) address: Option<IpAddr>,
    /// False where a trusted proxy has not named the client by an address: then the address is that of a proxy.
    pub(crate) is_named: bool,
}

/// Returns the client behind trusted proxies: each proxy appended the address that it was talking to, so the list is
/// believed from its right end up to the first address that is not a trusted proxy. Stops at the first entry that is
/// not an IP address.
pub(crate) fn client<'a>(
    trusted: &[TrustedProxy],
    peer: Option<IpAddr>,
    forwarded_for: impl DoubleEndedIterator<Item = &'a str>,
) -> ProxiedClient {
    let mut address = peer.map(|address| address.to_canonical());
    for entry in forwarded_for.rev() {
        if !is_trusted(trusted, address) {
            break;
        }
        let Some(named) = address_of(entry.trim()) else {
            break;
        };
        address = Some(named);
    }
    ProxiedClient {
        address,
        is_named: !is_trusted(trusted, address),
    }
}

/// Returns the address of an entry: bare, in brackets, or with a port.
fn address_of(entry: &str) -> Option<IpAddr> {
    let entry = without_zone(entry);
    let parsed: Option<IpAddr> = entry.parse().ok();
    let address = parsed.or_else(|| {
        entry
            .parse()
            .ok()
            .map(|with_port: std::net::SocketAddr| with_port.ip())
    });
    let address = address.or_else(|| entry.strip_prefix('[')?.strip_suffix(']')?.parse().ok())?;
    Some(address.to_canonical())
}

/// Takes the zone out of an IPv6 address, such as `%eth0` (RFC 4007 section 11): it has a meaning on the proxy alone.
fn without_zone(entry: &str) -> Cow<'_, str> {
    match entry.split_once('%') {
        Some((address, zone)) if address.contains(':') => {
            let rest = zone.find(']').map_or("", |at| &zone[at..]);
            Cow::Owned(format!("{address}{rest}"))
        }
        _ => Cow::Borrowed(entry),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(list: &[&str]) -> Vec<TrustedProxy> {
        list.iter()
            .map(|text| text.parse().expect("a network"))
            .collect()
    }

    #[test]
    fn networks_hold_their_addresses_only() {
        for (net, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.1"),
            ("127.0.0.1", "127.0.0.1", "127.0.0.2"),
            ("127.0.0.1", "::ffff:127.0.0.1", "::1"),
            ("fd00::/8", "fd12::1", "fe80::1"),
            ("0.0.0.0/0", "203.0.113.9", "2001:db8::1"),
            ("::/0", "2001:db8::1", "192.0.2.1"),
        ] {
            let trusted = proxies(&[net]);
            let holds = |address: &str| is_trusted(&trusted, address.parse().ok());
            assert!(holds(inside), "{net} holds {inside}");
            assert!(!holds(outside), "{net} does not hold {outside}");
        }
        for bad in [
            "",
            "10.0.0.0/33",
            "10.0.0/8",
            "::/129",
            "host",
            "10.0.0.0/-1",
            "10.0.0.0/",
        ] {
            assert!(bad.parse::<TrustedProxy>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_right_most_untrusted_address_is_the_client() {
        let networks = proxies(&["10.0.0.0/8", "127.0.0.1"]);
        let all = proxies(&["10.0.0.0/8", "unix:"]);
        for (trusted, peer, list, expected) in [
            (&networks, "127.0.0.1", &["1.2.3.4"][..], "1.2.3.4"),
            (
                &networks,
                "127.0.0.1",
                &["6.6.6.6", " 1.2.3.4 ", "10.0.0.7"],
                "1.2.3.4",
            ),
            (&networks, "9.9.9.9", &["1.2.3.4"], "9.9.9.9"),
            (
                &networks,
                "127.0.0.1",
                &["10.1.1.1", "10.2.2.2"],
                "10.1.1.1",
            ),
            (
                &networks,
                "127.0.0.1",
                &["1.2.3.4", "nonsense", "10.0.0.7"],
                "10.0.0.7",
            ),
            (&networks, "127.0.0.1", &[], "127.0.0.1"),
            (
                &networks,
                "127.0.0.1",
                &["[2001:db8::1]:443"],
                "2001:db8::1",
            ),
            (&networks, "127.0.0.1", &["1.2.3.4:5678"], "1.2.3.4"),
            (&networks, UNIX, &["1.2.3.4"], UNIX),
            (&all, UNIX, &["1.2.3.4"], "1.2.3.4"),
            (&all, UNIX, &["1.2.3.4", "10.0.0.7"], "1.2.3.4"),
            (&all, UNIX, &["nonsense"], UNIX),
            (&all, "127.0.0.1", &["1.2.3.4"], "127.0.0.1"),
            (&networks, "127.0.0.1", &["fe80::1%eth0"], "fe80::1"),
            (&networks, "127.0.0.1", &["[fe80::1%eth0]:443"], "fe80::1"),
            (&networks, "127.0.0.1", &["[fe80::1%25eth0]"], "fe80::1"),
            (&networks, "127.0.0.1", &["1.2.3.4%eth0"], "127.0.0.1"),
        ] {
            let found = client(trusted, peer.parse().ok(), list.iter().copied());
            assert_eq!(shown(found.address), expected, "{peer} {list:?}");
        }
    }

    #[test]
    fn a_client_is_named_by_the_last_trusted_proxy() {
        let trusted = proxies(&["10.0.0.0/8", "unix:"]);
        for (peer, list, expected) in [
            ("10.0.0.1", &["1.2.3.4"][..], true),
            ("10.0.0.1", &["10.1.2.3"], false),
            ("10.0.0.1", &["unknown", "1.2.3.4"], true),
            ("10.0.0.1", &["fe80::1%eth0"], true),
            ("10.0.0.1", &[], false),
            ("10.0.0.1", &[""], false),
            ("10.0.0.1", &["unknown"], false),
            ("10.0.0.1", &["1.2.3.4", "unknown"], false),
            ("10.0.0.1", &["unknown", "10.0.0.7"], false),
            ("9.9.9.9", &[], true),
            (UNIX, &["1.2.3.4"], true),
            (UNIX, &[], false),
        ] {
            let found = client(&trusted, peer.parse().ok(), list.iter().copied());
            assert_eq!(found.is_named, expected, "{peer} {list:?}");
        }
    }
}
