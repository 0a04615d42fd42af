//! The clients that take turns.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::LazyLock;

/// One client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Client {
    /// An IPv4 address, or the network of an IPv6 address, of which a client has 2^64. `None` stands for all that come
    /// over Unix sockets.
    Address(Option<IpAddr>),
    /// The hash of the key by which a rate limit counts.
    Key(u64),
}

/// The hashes of keys, alike for all threads. Clients cannot know which keys have the same.
static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);

impl Client {
    /// Returns the client with this address.
    pub(crate) fn of(address: Option<IpAddr>) -> Self {
        Self::Address(address.map(|address| match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = address.to_bits() & !u128::from(u64::MAX);
                IpAddr::V6(network.into())
            }
            address => address,
        }))
    }

    /// Returns the client with this value of a header field.
    pub(crate) fn of_field(name: &str, value: &[u8]) -> Self {
        Self::Key(KEYS.hash_one((name.to_ascii_lowercase(), value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_address(text: &str) -> Client {
        Client::of(Some(text.parse().expect("an address")))
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_one_client() {
        let of = of_address;
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.2"), of("192.0.2.1"));
    }

    #[test]
    fn a_key_is_one_client_whatever_its_address() {
        let of = Client::of_field;
        assert_eq!(of("x-key", b"a"), of("X-Key", b"a"));
        assert_ne!(of("x-key", b"a"), of("x-key", b"b"));
        assert_ne!(of("x-key", b"a"), of("x-other", b"a"));
        assert_ne!(of("x-key", b"192.0.2.1"), of_address("192.0.2.1"));
    }
}
