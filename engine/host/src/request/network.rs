//! Networks of IP addresses, as settings and scripts write them.

use ipnet::{IpNet, Ipv4Net};
use std::net::IpAddr;

/// The prefix length of the IPv6 network that holds the IPv4 addresses: `::ffff:0:0/96` (RFC 4291 section 2.5.5.2).
const MAPPED_BITS: u8 = 96;

/// A network of IP addresses. IPv4 addresses that are mapped into IPv6 count as IPv4, in the network and in what it is
/// asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(IpNet);

impl Network {
    /// Reads an address or a prefix such as `10.0.0.0/8`; `None` for other texts.
    pub fn parse(text: &str) -> Option<Self> {
        let network = match text.parse::<IpAddr>() {
            Ok(address) => IpNet::from(address),
            Err(_) => text.parse().ok()?,
        };
        let IpNet::V6(own) = &network else {
            return Some(Self(network));
        };
        let mapped = own.addr().to_ipv4_mapped();
        let bits = own.prefix_len().checked_sub(MAPPED_BITS);
        match (mapped, bits) {
            (Some(address), Some(bits)) => Ipv4Net::new(address, bits).ok().map(IpNet::V4),
            _ => Some(network),
        }
        .map(Self)
    }

    /// Reports whether an address is in the network.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_hold_their_addresses_only() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.1"),
            ("10.1.2.3/8", "10.255.0.1", "11.0.0.1"),
            ("127.0.0.1", "::ffff:127.0.0.1", "127.0.0.2"),
            ("::ffff:192.0.2.1", "192.0.2.1", "192.0.2.2"),
            ("::ffff:192.168.0.0/112", "192.168.1.1", "192.169.0.1"),
            ("::ffff:192.168.0.0/112", "::ffff:192.168.1.1", "::1"),
            ("::ffff:0:0/96", "203.0.113.9", "2001:db8::1"),
            ("0.0.0.0/0", "203.0.113.9", "2001:db8::1"),
            ("fd00::/8", "fd12::1", "fe80::1"),
            ("::/0", "2001:db8::1", "192.0.2.1"),
        ] {
            let parsed = Network::parse(network).expect(network);
            let has = |address: &str| parsed.contains(address.parse().expect(address));
            assert!(has(inside), "{network} has {inside}");
            assert!(!has(outside), "{network} does not have {outside}");
        }
    }

    #[test]
    fn other_texts_are_no_networks() {
        for wrong in [
            "",
            "10.0.0.0/33",
            "10.0.0/8",
            "010.0.0.1",
            "::/129",
            "host",
            "10.0.0.0/-1",
            "10.0.0.0/",
            "fe80::1%eth0",
        ] {
            assert_eq!(Network::parse(wrong), None, "{wrong:?}");
        }
    }
}
