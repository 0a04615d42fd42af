//! The addresses that requests may go to.
//!
//! A request that a client of ours can steer must not reach what only this machine or its network can reach
//! (server-side request forgery). So addresses that are not public are refused, however they are written, unless the
//! settings name them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use crate::client::fault::{ClientFault, ClientFaultKind};

/// The networks of IPv4 that are not public, and their names (RFC 6890 and IANA's registry of special addresses).
const SPECIAL_V4: &[(Ipv4Addr, u8, &str)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, "an unspecified address"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "a private address"),
    (
        Ipv4Addr::new(100, 64, 0, 0),
        10,
        "an address behind a carrier's NAT",
    ),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "a loopback address"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "a link-local address"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "a private address"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "a reserved address"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "a reserved address"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a reserved address"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "a private address"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "a reserved address"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "a reserved address"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "a reserved address"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "a multicast address"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "a reserved address"),
];

/// The networks of IPv6 that are public: all others are refused, but for those that hold an address of IPv4.
const GLOBAL_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// The networks within it that are not.
const SPECIAL_V6: &[(Ipv6Addr, u8)] = &[
    // Protocol assignments (Teredo and ORCHID among them), documentation, segment routing.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// The addresses that are allowed beside the public ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    /// The entries as they were written.
    written: Vec<String>,
    networks: Vec<IpNet>,
    /// Names in lower case. Their addresses are not checked.
    names: Vec<String>,
    /// True to allow loopback addresses.
    allows_loopback: bool,
    /// Set where no other hosts than this machine may be reached: the reason, for people.
    only_own: Option<&'static str>,
}

impl AddressPolicy {
    /// Reads entries: networks as `10.0.0.0/8`, addresses, names of hosts.
    ///
    /// # Errors
    /// An entry that is none of these.
    pub fn of(entries: &[String]) -> Result<Self, String> {
        let mut policy = Self::default();
        for entry in entries {
            let bare = entry.trim_matches(['[', ']']);
            if let Ok(network) = bare.parse::<IpNet>() {
                policy.networks.push(network.trunc());
            } else if let Ok(address) = bare.parse::<IpAddr>() {
                policy.networks.push(IpNet::from(address));
            } else if is_name(entry) {
                policy.names.push(entry.to_ascii_lowercase());
            } else {
                return Err(format!(
                    "allow: {entry:?} is no network such as \"10.0.0.0/8\", no address and no name of a host"
                ));
            }
        }
        policy.written = entries.to_vec();
        Ok(policy)
    }

    /// Allows loopback addresses, for those who develop.
    #[must_use]
    pub fn with_loopback(mut self) -> Self {
        self.allows_loopback = true;
        self
    }

    /// Allows loopback addresses alone. `reason` is for people.
    #[must_use]
    pub fn only_own(reason: &'static str) -> Self {
        Self {
            only_own: Some(reason),
            ..Self::default().with_loopback()
        }
    }

    /// Checks a host before its addresses are looked up.
    ///
    /// # Errors
    /// It is not this machine, and only that may be reached.
    pub(in crate::client) fn check_host(&self, host: &str) -> Result<(), ClientFault> {
        let bare = host.strip_suffix('.').unwrap_or(host);
        let is_own = || match bare.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) => address.is_loopback(),
            Err(_) => bare == "localhost" || bare.ends_with(".localhost"),
        };
        match self.only_own {
            Some(reason) if !is_own() => {
                let text = format!("{host} is not this machine: {reason}");
                Err(ClientFault::new(ClientFaultKind::Refused, text))
            }
            _ => Ok(()),
        }
    }

    /// Checks all addresses of a host: none is connected if one is not allowed.
    ///
    /// # Errors
    /// The first that is not allowed, and the line that would allow it.
    pub(in crate::client) fn check(
        &self,
        host: &str,
        addresses: &[IpAddr],
    ) -> Result<(), ClientFault> {
        if self.allows_name(host) {
            return Ok(());
        }
        for address in addresses {
            if let Some(kind) = self.refused(*address) {
                let by_name = host.trim_matches(['[', ']']).parse::<IpAddr>().is_err();
                return Err(self.fault(host, by_name, *address, kind));
            }
        }
        Ok(())
    }

    pub(in crate::client) fn allows_name(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        self.names.iter().any(|name| name == host)
    }

    /// Returns what is wrong with an address, unless it is allowed.
    fn refused(&self, address: IpAddr) -> Option<&'static str> {
        let is_allowed = |address: IpAddr| {
            self.networks
                .iter()
                .any(|network| network.contains(&address))
                || (self.allows_loopback && address.is_loopback())
        };
        if is_allowed(address) {
            return None;
        }
        let IpAddr::V6(six) = address else {
            return special(address);
        };
        match embedded(six) {
            Some(four) if is_allowed(four.into()) => None,
            Some(four) => special(four.into()),
            None => special(address),
        }
    }

    fn fault(&self, host: &str, by_name: bool, address: IpAddr, kind: &str) -> ClientFault {
        let entry = match by_name {
            true => host.strip_suffix('.').unwrap_or(host).to_owned(),
            false => address.to_string(),
        };
        let mut all = self.written.clone();
        all.push(entry);
        let has = if by_name {
            format!("has {kind} ({address})")
        } else {
            format!("is {kind}")
        };
        let text = format!(
            "{host} {has}, which requests must not reach: if this one may, write in [fetch]: allow = {all:?}"
        );
        ClientFault::new(ClientFaultKind::Refused, text)
    }
}

/// Reports whether the text may be the name of a host.
fn is_name(text: &str) -> bool {
    let is_part = |part: &str| {
        let is_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        !part.is_empty() && part.len() <= 63 && part.bytes().all(is_byte)
    };
    let has_letter = text.bytes().any(|byte| byte.is_ascii_alphabetic());
    text.len() <= 253 && has_letter && text.split('.').all(is_part)
}

/// The address of IPv4 that an address of IPv6 stands for: mapped and compatible ones, 6to4 (RFC 3056), and those of
/// NAT64's well-known prefix (RFC 6052). Of `64:ff9b:1::/48` (RFC 8215) only the network knows which bits of it are the
/// address (RFC 6052 section 2.2), so it stands for none, and is a reserved address.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let octets = address.octets();
    let last = || Ipv4Addr::new(octets[12], octets[13], octets[14], octets[15]);
    match address.segments() {
        // Not `::` and `::1`.
        [0, 0, 0, 0, 0, 0, a, b] if (a, b) != (0, 0) && (a, b) != (0, 1) => Some(last()),
        [0, 0, 0, 0, 0, 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => Some(last()),
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some(last()),
        [0x2002, ..] => Some(Ipv4Addr::new(octets[2], octets[3], octets[4], octets[5])),
        _ => None,
    }
}

/// Returns the kind of an address that is not public.
fn special(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => {
            let number = u32::from(address);
            let is_in = |(network, bits, _): &&(Ipv4Addr, u8, &str)| {
                (number ^ u32::from(*network)) >> (32 - u32::from(*bits)) == 0
            };
            let found = SPECIAL_V4.iter().find(is_in);
            found.map(|(_, _, kind)| *kind)
        }
        IpAddr::V6(address) if address.is_unspecified() => Some("an unspecified address"),
        IpAddr::V6(address) if address.is_loopback() => Some("a loopback address"),
        IpAddr::V6(address) => {
            let number = u128::from(address);
            let is_in = |(network, bits): &(Ipv6Addr, u8)| {
                (number ^ u128::from(*network)) >> (128 - u32::from(*bits)) == 0
            };
            if is_in(&GLOBAL_V6) && !SPECIAL_V6.iter().any(is_in) {
                return None;
            }
            Some(match address.segments()[0] {
                0xfc00..=0xfdff => "a private address",
                0xfe80..=0xfebf => "a link-local address",
                0xff00..=0xffff => "a multicast address",
                _ => "a reserved address",
            })
        }
    }
}

#[cfg(test)]
mod tests;
