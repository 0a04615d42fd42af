//! The header of the PROXY protocol, versions 1 and 2, by which a proxy tells the address of its client before
//! anything else (HAProxy, `proxy-protocol.txt`).

use std::net::{IpAddr, SocketAddr};

use ppp::{HeaderResult, v1, v2};

/// The most bytes of a header of version 1, its line end included (section 2.1).
const TEXT_BYTES_MAX: usize = 107;
/// The first bytes of a header of version 1.
const TEXT_START: &[u8] = b"PROXY ";
/// The first bytes of a header of version 2 (section 2.2).
const BINARY_START: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// The version and the command of a proxy that speaks for itself, behind these bytes.
const BINARY_LOCAL: u8 = 0x20;
/// The beginning of a line for a client whose address is not known.
const TEXT_UNKNOWN: &[u8] = b"PROXY UNKNOWN";
/// The bytes of a header of version 2 up to its addresses.
const BINARY_FIXED_BYTES: usize = 16;
/// The most bytes of a header of version 2 that are read. Its fields may hold certificates.
pub const PROXY_HEADER_BYTES_MAX: usize = 4096;

/// The beginning of what a proxy has sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProxyHeader {
    /// More bytes are needed.
    Incomplete,
    /// A header of so many bytes.
    Complete {
        /// The bytes of the header.
        len: usize,
        /// The client; `None` if the proxy speaks for itself, as for its health checks, or names no address.
        client: Option<SocketAddr>,
    },
    /// No header, or a wrong one: the reason.
    Invalid(&'static str),
}

/// Reads the header at the beginning of `bytes`.
pub fn parse_proxy_header(bytes: &[u8]) -> ProxyHeader {
    let is_start_of = |start: &[u8]| start.starts_with(&bytes[..bytes.len().min(start.len())]);
    let len = if is_start_of(BINARY_START) {
        binary_len(bytes)
    } else if is_start_of(TEXT_START) {
        text_len(bytes)
    } else {
        return ProxyHeader::Invalid("no header of the PROXY protocol");
    };
    match len {
        Ok(Some(len)) => whole(&bytes[..len]),
        Ok(None) => ProxyHeader::Incomplete,
        Err(fault) => ProxyHeader::Invalid(fault),
    }
}

/// The length of a header of version 2, once all of it is there.
fn binary_len(bytes: &[u8]) -> Result<Option<usize>, &'static str> {
    let Some(&[high, low]) = bytes.get(BINARY_FIXED_BYTES - 2..BINARY_FIXED_BYTES) else {
        return Ok(None);
    };
    let len = BINARY_FIXED_BYTES + usize::from(u16::from_be_bytes([high, low]));
    if len > PROXY_HEADER_BYTES_MAX {
        return Err("the header of the PROXY protocol is too long");
    }
    Ok((bytes.len() >= len).then_some(len))
}

/// The length of a header of version 1, once all of it is there.
fn text_len(bytes: &[u8]) -> Result<Option<usize>, &'static str> {
    let line = &bytes[..bytes.len().min(TEXT_BYTES_MAX)];
    match memchr::memchr(b'\n', line) {
        Some(end) => Ok(Some(end + 1)),
        None if line.len() < TEXT_BYTES_MAX => Ok(None),
        None => Err("the header of the PROXY protocol is too long"),
    }
}

/// Reports whether a header tells no address, whatever else is in it (sections 2.1 and 2.2).
fn is_without_address(bytes: &[u8]) -> bool {
    if let Some(rest) = bytes.strip_prefix(TEXT_UNKNOWN) {
        return rest == b"\r\n" || rest.starts_with(b" ") && rest.ends_with(b"\r\n");
    }
    let rest = bytes.strip_prefix(BINARY_START);
    rest.is_some_and(|rest| rest.first() == Some(&BINARY_LOCAL))
}

fn whole(bytes: &[u8]) -> ProxyHeader {
    if is_without_address(bytes) {
        return ProxyHeader::Complete {
            len: bytes.len(),
            client: None,
        };
    }
    let client = match HeaderResult::parse(bytes) {
        HeaderResult::V1(Ok(header)) => match header.addresses {
            v1::Addresses::Tcp4(ip) => Some((IpAddr::from(ip.source_address), ip.source_port)),
            v1::Addresses::Tcp6(ip) => Some((IpAddr::from(ip.source_address), ip.source_port)),
            v1::Addresses::Unknown => None,
        },
        HeaderResult::V2(Ok(header)) => match (header.command, header.addresses) {
            (v2::Command::Proxy, v2::Addresses::IPv4(ip)) => {
                Some((IpAddr::from(ip.source_address), ip.source_port))
            }
            (v2::Command::Proxy, v2::Addresses::IPv6(ip)) => {
                Some((IpAddr::from(ip.source_address), ip.source_port))
            }
            _ => None,
        },
        _ => return ProxyHeader::Invalid("a wrong header of the PROXY protocol"),
    };
    ProxyHeader::Complete {
        len: bytes.len(),
        client: client.map(|(ip, port)| SocketAddr::new(ip, port)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(len: usize, client: Option<&str>) -> ProxyHeader {
        ProxyHeader::Complete {
            len,
            client: client.map(|client| client.parse().unwrap()),
        }
    }

    /// A header of version 2 with this command and family, and these bytes behind.
    fn binary(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let mut bytes = BINARY_START.to_vec();
        bytes.extend([0x20 | command, family]);
        bytes.extend((rest.len() as u16).to_be_bytes());
        bytes.extend(rest);
        bytes
    }

    #[test]
    fn both_versions_tell_the_client() {
        let text = b"PROXY TCP4 203.0.113.7 10.0.0.1 4711 443\r\n";
        let client = Some("203.0.113.7:4711");
        assert_eq!(parse_proxy_header(text), complete(text.len(), client));
        let more = [text.as_slice(), b"GET / HTTP/1.1\r\n"].concat();
        assert_eq!(parse_proxy_header(&more), complete(text.len(), client));
        let text = b"PROXY TCP6 2001:db8::7 2001:db8::1 4711 443\r\n";
        let client = Some("[2001:db8::7]:4711");
        assert_eq!(parse_proxy_header(text), complete(text.len(), client));
        let text = b"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n";
        assert_eq!(parse_proxy_header(text), complete(text.len(), None));
        let ip4 = [203, 0, 113, 7, 10, 0, 0, 1, 0x12, 0x67, 1, 0xbb];
        let client = Some("203.0.113.7:4711");
        let bytes = binary(1, 0x11, &ip4);
        assert_eq!(parse_proxy_header(&bytes), complete(28, client));
        let with_field = binary(1, 0x11, &[&ip4[..], &[4, 0, 1, 0]].concat());
        assert_eq!(parse_proxy_header(&with_field), complete(32, client));
        // The proxy speaks for itself.
        assert_eq!(
            parse_proxy_header(&binary(0, 0x11, &ip4)),
            complete(28, None)
        );
        assert_eq!(parse_proxy_header(&binary(0, 0, &[])), complete(16, None));
    }

    #[test]
    fn what_comes_with_no_address_is_skipped() {
        for (family, rest) in [(0x11, &[][..]), (0x99, &[]), (0xff, &[1, 2, 3])] {
            let bytes = binary(0, family, rest);
            assert_eq!(parse_proxy_header(&bytes), complete(bytes.len(), None));
        }
        let text = b"PROXY UNKNOWN a b c d e f g\r\n";
        assert_eq!(parse_proxy_header(text), complete(text.len(), None));
        let text = b"PROXY UNKNOWN\r\n";
        assert_eq!(parse_proxy_header(text), complete(text.len(), None));
        let unix = binary(1, 0x31, &[b'x'; 216]);
        assert_eq!(parse_proxy_header(&unix), complete(unix.len(), None));
    }

    #[test]
    fn each_beginning_is_incomplete() {
        let text = b"PROXY TCP4 203.0.113.7 10.0.0.1 4711 443\r\n".to_vec();
        let bytes = binary(1, 0x11, &[203, 0, 113, 7, 10, 0, 0, 1, 0x12, 0x67, 1, 0xbb]);
        for header in [text, bytes] {
            for len in 0..header.len() {
                let parsed = parse_proxy_header(&header[..len]);
                assert_eq!(parsed, ProxyHeader::Incomplete, "{len} of {header:?}");
            }
        }
    }

    #[test]
    fn anything_else_is_invalid() {
        let long = [b"PROXY TCP4 ".as_slice(), &[b'1'; 200]].concat();
        let wrong: [&[u8]; 12] = [
            b"GET / HTTP/1.1\r\n",
            b"\x16\x03\x01",
            b"PROXY\r\n",
            b"PROXY TCP4 1.2.3 1.2.3.4 1 2\r\n",
            b"PROXY TCP4 1.2.3.4 1.2.3.4 1 70000\r\n",
            b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2\n",
            b"PROXY UDP4 1.2.3.4 1.2.3.4 1 2\r\n",
            b"PROXY UNKNOWN\n",
            b"PROXY UNKNOWNS\r\n",
            &binary(1, 0x91, &[0; 12]),
            &long,
            &binary(1, 0x11, &[1, 2, 3]),
        ];
        for bytes in wrong {
            let parsed = parse_proxy_header(bytes);
            assert!(
                matches!(parsed, ProxyHeader::Invalid(_)),
                "{bytes:?} {parsed:?}"
            );
        }
        let parsed = parse_proxy_header(&binary(1, 0x11, &[0; 5000]));
        assert!(matches!(parsed, ProxyHeader::Invalid(_)));
    }
}
