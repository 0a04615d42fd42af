//! The few fields of a certificate that the server shows or chooses by: its names, its validity, its subject.
//!
//! Signatures and chains are the business of rustls. Bytes that are not what X.509 says give no field, never a wrong
//! one.

use std::fmt::Write;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use x509_parser::asn1_rs::Tag;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::parse_x509_certificate;
use x509_parser::x509::AttributeTypeAndValue;

/// The short names of attributes (RFC 4514 section 3, and what OpenSSL adds), by their object identifiers.
const ATTRIBUTES: [(&str, &str); 11] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.4", "SN"),
    ("2.5.4.5", "serialNumber"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.42", "GN"),
    ("1.2.840.113549.1.9.1", "emailAddress"),
    ("0.9.2342.19200300.100.1.25", "DC"),
];

/// Fields of a certificate, borrowed from its DER encoding.
pub(super) struct CertificateFields<'a>(X509Certificate<'a>);

impl<'a> CertificateFields<'a> {
    /// Reads a certificate (RFC 5280 section 4.1).
    pub(super) fn read(certificate: &'a [u8]) -> Option<Self> {
        let (_, parsed) = parse_x509_certificate(certificate).ok()?;
        Some(Self(parsed))
    }

    /// Returns the first and the last second in which it is valid, since 1970.
    pub(super) fn validity(&self) -> RangeInclusive<i64> {
        let validity = self.0.validity();
        validity.not_before.timestamp()..=validity.not_after.timestamp()
    }

    fn names(&self) -> impl Iterator<Item = &GeneralName<'a>> {
        let extensions = self.0.extensions().iter();
        let names = extensions.filter_map(|one| match one.parsed_extension() {
            ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
            _ => None,
        });
        names.flatten()
    }

    /// Returns the DNS names that it is for, as they are written: some may begin with `*.`.
    pub(super) fn dns_names(&self) -> Vec<&'a str> {
        let names = self.names().filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(*name),
            _ => None,
        });
        names.collect()
    }

    /// Returns the IP addresses that it is for (RFC 5280 section 4.2.1.6).
    pub(super) fn addresses(&self) -> Vec<IpAddr> {
        let addresses = self.names().filter_map(|name| match name {
            GeneralName::IPAddress(bytes) => address_of(bytes),
            _ => None,
        });
        addresses.collect()
    }

    /// Returns the subject as text, the most specific part first: `CN=alice,O=Example` (RFC 4514).
    pub(super) fn subject(&self) -> String {
        let parts = self.0.subject().iter_rdn().map(|attributes| {
            let mut part = String::new();
            for attribute in attributes.iter() {
                if !part.is_empty() {
                    part.push('+');
                }
                push_attribute(&mut part, attribute);
            }
            part
        });
        let mut parts: Vec<_> = parts.collect();
        parts.reverse();
        parts.join(",")
    }
}

/// Reads an IP address; `None` for bytes of another length.
fn address_of(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Some(four.into());
    }
    let sixteen = <[u8; 16]>::try_from(bytes).ok()?;
    Some(IpAddr::from(sixteen).to_canonical())
}

/// Appends `CN=value`, or the object identifier and the bytes of an attribute that has no text (RFC 4514 section 2.3).
fn push_attribute(out: &mut String, attribute: &AttributeTypeAndValue<'_>) {
    let kind = attribute.attr_type().to_id_string();
    let known = ATTRIBUTES.iter().find(|(oid, _)| *oid == kind);
    out.push_str(known.map_or(&*kind, |(_, name)| name));
    out.push('=');
    let value = attribute.as_slice();
    let text = match attribute.attr_value().tag() {
        Tag::BmpString => {
            let units = value
                .chunks_exact(2)
                .map(|unit| u16::from_be_bytes([unit[0], unit[1]]));
            char::decode_utf16(units)
                .collect::<Result<String, _>>()
                .ok()
        }
        Tag::OctetString | Tag::BitString | Tag::Sequence => None,
        _ => std::str::from_utf8(value).ok().map(str::to_owned),
    };
    match text {
        Some(text) => push_escaped(out, &text),
        None => {
            out.push('#');
            push_hex(out, value);
        }
    }
}

/// Appends a value with its special characters escaped (RFC 4514 section 2.4).
fn push_escaped(out: &mut String, text: &str) {
    let last = text.chars().count().saturating_sub(1);
    for (at, char) in text.chars().enumerate() {
        let is_edge_space = char == ' ' && (at == 0 || at == last);
        match char {
            '"' | '+' | ',' | ';' | '<' | '>' | '\\' => out.extend(['\\', char]),
            '#' if at == 0 => out.push_str("\\#"),
            ' ' if is_edge_space => out.push_str("\\ "),
            char if char.is_control() => {
                let mut bytes = [0; 4];
                for byte in char.encode_utf8(&mut bytes).bytes() {
                    out.push('\\');
                    push_hex(out, &[byte]);
                }
            }
            char => out.push(char),
        }
    }
}

/// Appends bytes as small hexadecimal digits.
pub(super) fn push_hex(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, KeyPair};

    fn certificate(change: impl FnOnce(&mut CertificateParams)) -> Vec<u8> {
        let names = [
            "Example.org".to_owned(),
            "*.example.org".to_owned(),
            "127.0.0.1".to_owned(),
        ];
        let mut params = CertificateParams::new(names).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn names_validity_and_subject_are_read() {
        let der = certificate(|params| {
            params.not_before = rcgen::date_time_ymd(1999, 12, 31);
            params.not_after = rcgen::date_time_ymd(2051, 3, 1);
            let name = &mut params.distinguished_name;
            *name = rcgen::DistinguishedName::new();
            name.push(DnType::CountryName, "DE");
            name.push(DnType::OrganizationName, " A, B + C #");
            name.push(DnType::CommonName, "#al\u{fc}ce");
        });
        let fields = CertificateFields::read(&der).unwrap();
        assert_eq!(fields.dns_names(), ["Example.org", "*.example.org"]);
        assert_eq!(
            fields.subject(),
            "CN=\\#al\u{fc}ce,O=\\ A\\, B \\+ C #,C=DE"
        );
        assert_eq!(fields.addresses(), [IpAddr::from([127, 0, 0, 1])]);
        // `date -u -d 1999-12-31 +%s`, and 2051-03-01, which needs four digits of the year.
        assert_eq!(fields.validity(), 946_598_400..=2_561_241_600);
    }

    #[test]
    fn unknown_attributes_are_numbers() {
        let der = certificate(|params| {
            let name = &mut params.distinguished_name;
            *name = rcgen::DistinguishedName::new();
            name.push(DnType::CustomDnType(vec![1, 2, 840, 1]), "a");
        });
        let fields = CertificateFields::read(&der).unwrap();
        assert_eq!(fields.subject(), "1.2.840.1=a");
    }

    #[test]
    fn bytes_that_are_cut_or_changed_are_never_a_panic() {
        let der = certificate(|_| {});
        for end in 0..der.len() {
            if let Some(fields) = CertificateFields::read(&der[..end]) {
                let _ = (fields.subject(), fields.dns_names());
            }
        }
        for at in 0..der.len() {
            let mut changed = der.clone();
            for byte in [0, 0x7f, 0x80, 0x84, 0xff] {
                changed[at] = byte;
                if let Some(fields) = CertificateFields::read(&changed) {
                    let _ = (fields.subject(), fields.dns_names());
                }
            }
        }
    }
}
