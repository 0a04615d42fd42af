//! Addresses in networks.

use sampan_host::request::Network;
use sampan_host::{Args, Error, Value};
use std::net::IpAddr;

/// The address of a client of a Unix socket, and the network that has it alone.
const UNIX: &str = "unix:";

pub(crate) fn ip_in(mut args: Args) -> Result<Value, Error> {
    let text = args.text(0);
    let is_unix = text == UNIX;
    let address = text.parse::<IpAddr>().ok();
    let Value::List(networks) = args.take(1) else {
        // An empty table of Lua is a map.
        return Ok(Value::Bool(false));
    };
    let mut is_in = false;
    // All of them are read: a wrong one is told, whatever address is asked about.
    for network in networks {
        let Value::Text(text) = network else {
            return Err(Error::script(
                "networks must be a list of strings, such as \"10.0.0.0/8\"",
            ));
        };
        if text == UNIX {
            is_in |= is_unix;
            continue;
        }
        let network = Network::parse(&text).ok_or_else(|| {
            let shown: String = text.chars().take(60).collect();
            Error::script(format!(
                "{shown:?} is not a network: write \"10.0.0.0/8\", \"2001:db8::/32\" or a single address"
            ))
        })?;
        is_in |= address.is_some_and(|address| network.contains(address));
    }
    Ok(Value::Bool(is_in))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MODULE;

    fn is_in(address: &str, networks: &[&str]) -> Result<Value, String> {
        let row = MODULE.functions.iter().find(|row| row.name == "ip_in");
        let networks = networks.iter().map(|text| Value::from(*text)).collect();
        let values = vec![address.into(), Value::List(networks)];
        let args = Args::check("codec", row.expect("a row"), values).expect("a list");
        ip_in(args).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn addresses_are_found_in_networks_of_their_kind() {
        for (address, network, expected) in [
            ("10.1.2.3", "10.0.0.0/8", true),
            ("11.1.2.3", "10.0.0.0/8", false),
            ("10.1.2.3", "10.9.9.9/8", true),
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.2", "192.0.2.1", false),
            ("192.0.2.1", "0.0.0.0/0", true),
            ("2001:db8::1", "2001:DB8::/32", true),
            ("2001:db9::1", "2001:db8::/32", false),
            ("::1", "::1", true),
            ("::ffff:10.1.2.3", "10.0.0.0/8", true),
            ("10.1.2.3", "::ffff:10.0.0.0/104", true),
            ("11.1.2.3", "::ffff:10.0.0.0/104", false),
            ("10.1.2.3", "::ffff:10.1.2.3", true),
            ("10.1.2.3", "::/0", false),
            ("unix:", "0.0.0.0/0", false),
            ("unix:", "unix:", true),
            ("10.1.2.3", "unix:", false),
            ("010.1.2.3", "0.0.0.0/0", false),
            ("", "::/0", false),
        ] {
            let found = is_in(address, &["203.0.113.0/24", network]);
            assert_eq!(found, Ok(Value::Bool(expected)), "{address} in {network}");
        }
        assert_eq!(is_in("10.1.2.3", &[]), Ok(Value::Bool(false)));
    }

    #[test]
    fn a_text_that_is_not_a_network_is_an_error_for_each_address() {
        for wrong in ["10.0.0.0/33", "10.0.0/8", "localhost", "", "::/129"] {
            let error = is_in("192.0.2.1", &["192.0.2.0/24", wrong]).expect_err(wrong);
            assert!(error.contains("is not a network: write"), "{error}");
        }
    }
}
