//! The client address of a request that came through proxies.
//!
//! `X-Forwarded-*` fields are only believed where the peer is a proxy that the configuration names: anyone else can
//! write into them what they like.

use ipnet::IpNet;
use std::net::IpAddr;
use std::str::FromStr;

/// The notation for clients that come over a Unix socket and have no address.
pub(crate) const UNIX: &str = "unix:";

/// The trusted proxies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustedProxy {
    /// The addresses of a network.
    Network(IpNet),
    /// The processes that may connect to the Unix sockets of the server.
    Unix,
}

impl FromStr for TrustedProxy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == UNIX {
            return Ok(Self::Unix);
        }
        let network: Result<IpNet, _> = text.parse();
        let network = network.or_else(|_| text.parse().map(|address: IpAddr| address.into()));
        network.map(Self::Network).map_err(|_| {
            format!("{text:?} is no network: write an address or a prefix like 10.0.0.0/8")
        })
    }
}

/// Reports whether a proxy with this address is trusted; without one the request came over a Unix socket.
pub fn is_trusted(trusted: &[TrustedProxy], address: Option<IpAddr>) -> bool {
    trusted.iter().any(|proxy| match (proxy, address) {
        // An IPv4 address that is written as IPv6 counts as IPv4.
        (TrustedProxy::Network(network), Some(address)) => {
            network.contains(&address.to_canonical())
        }
        (TrustedProxy::Unix, None) => true,
        _ => false,
    })
}

/// An address as people and scripts read it.
pub(crate) fn shown(address: Option<IpAddr>) -> String {
    address.map_or_else(|| UNIX.to_owned(), |address| address.to_string())
}

/// The client behind trusted proxies: each proxy appended whom it was talking to, so the list is believed from its
/// right end up to the first address that is no trusted proxy. An entry that is no address ends the belief.
pub(crate) fn client<'a>(
    trusted: &[TrustedProxy],
    peer: Option<IpAddr>,
    forwarded_for: impl DoubleEndedIterator<Item = &'a str>,
) -> Option<IpAddr> {
    let mut client = peer.map(|address| address.to_canonical());
    for entry in forwarded_for.rev() {
        if !is_trusted(trusted, client) {
            break;
        }
        match address_of(entry.trim()) {
            Some(address) => client = Some(address),
            None => break,
        }
    }
    client
}

/// The address of an entry: bare, in brackets, or with a port.
fn address_of(entry: &str) -> Option<IpAddr> {
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
        ] {
            let found = client(trusted, peer.parse().ok(), list.iter().copied());
            assert_eq!(shown(found), expected, "{peer} {list:?}");
        }
    }
}
