//! The few fields of a certificate that the server shows or chooses by: its names, its validity, its subject.
//!
//! Signatures and chains are the business of rustls. Bytes that are not what X.509 says give no field, never a wrong
//! one.

use std::fmt::Write;
use std::ops::RangeInclusive;

const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OID: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const BMP_STRING: u8 = 0x1e;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// Tags of optional fields of a certificate, and of a DNS name in its alternative names.
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;
const DNS_NAME: u8 = 0x82;

/// 2.5.29.17, the subject's alternative names (RFC 5280 section 4.2.1.6).
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 0x11];

/// The short names of attributes (RFC 4514 section 3, and what OpenSSL adds), by their object identifiers.
const ATTRIBUTES: [(&[u8], &str); 11] = [
    (&[0x55, 0x04, 0x03], "CN"),
    (&[0x55, 0x04, 0x04], "SN"),
    (&[0x55, 0x04, 0x05], "serialNumber"),
    (&[0x55, 0x04, 0x06], "C"),
    (&[0x55, 0x04, 0x07], "L"),
    (&[0x55, 0x04, 0x08], "ST"),
    (&[0x55, 0x04, 0x0a], "O"),
    (&[0x55, 0x04, 0x0b], "OU"),
    (&[0x55, 0x04, 0x2a], "GN"),
    (
        &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x01],
        "emailAddress",
    ),
    (
        &[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 0x01, 0x19],
        "DC",
    ),
];

/// CertificateFields of a certificate, borrowed from its DER encoding.
pub(super) struct CertificateFields<'a> {
    subject: &'a [u8],
    /// The first and the last second in which it is valid, since 1970.
    pub(super) validity: RangeInclusive<i64>,
    extensions: &'a [u8],
}

impl<'a> CertificateFields<'a> {
    /// Reads a certificate (RFC 5280 section 4.1).
    pub(super) fn read(certificate: &'a [u8]) -> Option<Self> {
        let mut signed = Der(Der(certificate).expect(SEQUENCE)?);
        let mut fields = Der(signed.expect(SEQUENCE)?);
        fields.optional(VERSION);
        fields.next()?; // the serial number
        fields.expect(SEQUENCE)?; // the algorithm of the signature
        fields.expect(SEQUENCE)?; // the issuer
        let mut validity = Der(fields.expect(SEQUENCE)?);
        let validity = time(validity.next()?)?..=time(validity.next()?)?;
        let subject = fields.expect(SEQUENCE)?;
        let mut extensions: &[u8] = &[];
        while let Some((tag, contents)) = fields.next() {
            if tag == EXTENSIONS {
                extensions = Der(contents).expect(SEQUENCE)?;
            }
        }
        Some(Self {
            subject,
            validity,
            extensions,
        })
    }

    /// The DNS names that it is for, as they are written: some may begin with `*.`.
    pub(super) fn dns_names(&self) -> Vec<&'a str> {
        let mut extensions = Der(self.extensions);
        let mut names = Vec::new();
        while let Some(extension) = extensions.optional(SEQUENCE) {
            let mut extension = Der(extension);
            if extension.optional(OID) != Some(ALTERNATIVE_NAMES) {
                continue;
            }
            // A flag may stand before the value.
            while let Some((tag, value)) = extension.next() {
                let mut listed = match tag {
                    OCTET_STRING => Der(Der(value).optional(SEQUENCE).unwrap_or_default()),
                    _ => continue,
                };
                while let Some((tag, name)) = listed.next() {
                    let name = std::str::from_utf8(name).ok();
                    names.extend(name.filter(|_| tag == DNS_NAME));
                }
            }
        }
        names
    }

    /// The subject as text, the most specific part first: `CN=alice,O=Example` (RFC 4514). `None` if it is malformed.
    pub(super) fn subject(&self) -> Option<String> {
        let mut parts = Vec::new();
        let mut names = Der(self.subject);
        while !names.0.is_empty() {
            let mut attributes = Der(names.expect(SET)?);
            let mut part = String::new();
            while !attributes.0.is_empty() {
                let mut attribute = Der(attributes.expect(SEQUENCE)?);
                let kind = attribute.expect(OID)?;
                let value = attribute.next()?;
                if !part.is_empty() {
                    part.push('+');
                }
                push_attribute(&mut part, kind, value);
            }
            parts.push(part);
        }
        parts.reverse();
        Some(parts.join(","))
    }
}

/// Walks over values of DER, one behind the other.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// Takes the next value: its tag and its contents.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (len, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            // Of unknown length, which DER has not.
            0x80 => return None,
            0x81..=0x83 => {
                let (digits, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
                let number = |number, digit: &u8| (number << 8) | usize::from(*digit);
                (digits.iter().fold(0, number), rest)
            }
            // Longer than any certificate.
            _ => return None,
        };
        let (contents, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some((tag, contents))
    }

    /// Takes the next value, which must have this tag.
    fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next()
            .filter(|value| value.0 == tag)
            .map(|value| value.1)
    }

    /// Takes the next value if it has this tag.
    fn optional(&mut self, tag: u8) -> Option<&'a [u8]> {
        let is_next = self.0.first() == Some(&tag);
        is_next.then(|| self.expect(tag)).flatten()
    }
}

/// Returns the seconds since 1970 of a time (RFC 5280 section 4.1.2.5): `YYMMDDhhmmssZ` or `YYYYMMDDhhmmssZ`.
fn time((tag, text): (u8, &[u8])) -> Option<i64> {
    let digits = text.strip_suffix(b"Z")?;
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = |digits: &[u8]| {
        digits
            .iter()
            .fold(0, |number, digit| number * 10 + i64::from(digit - b'0'))
    };
    let (year, rest) = match (tag, digits.len()) {
        // Two digits stand for 1950 to 2049.
        (UTC_TIME, 12) => {
            let year = number(&digits[..2]);
            (
                if year < 50 { 2000 + year } else { 1900 + year },
                &digits[2..],
            )
        }
        (GENERALIZED_TIME, 14) => (number(&digits[..4]), &digits[4..]),
        _ => return None,
    };
    let part = |at: usize| number(&rest[at..at + 2]);
    let (month, day) = (part(0), part(2));
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let seconds = part(4) * 3600 + part(6) * 60 + part(8);
    Some(days_since_1970(year, month, day) * 86_400 + seconds)
}

/// Counts days of the Gregorian calendar. A year begins in March here, so that a leap day is its last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let of_year = (153 * month + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year
        - 719_468
}

/// Appends `CN=value`, or the object identifier and the bytes of an attribute that has no text (RFC 4514 section 2.3).
fn push_attribute(out: &mut String, kind: &[u8], (tag, value): (u8, &[u8])) {
    let known = ATTRIBUTES.iter().find(|(oid, _)| *oid == kind);
    let text = match tag {
        BMP_STRING => {
            let units = value
                .chunks_exact(2)
                .map(|unit| u16::from_be_bytes([unit[0], unit[1]]));
            char::decode_utf16(units)
                .collect::<Result<String, _>>()
                .ok()
        }
        OCTET_STRING | BIT_STRING | SEQUENCE => None,
        _ => std::str::from_utf8(value).ok().map(str::to_owned),
    };
    match known {
        Some((_, name)) => out.push_str(name),
        None => push_oid(out, kind),
    }
    out.push('=');
    match text {
        Some(text) => push_escaped(out, &text),
        None => {
            out.push('#');
            push_hex(out, value);
        }
    }
}

/// Appends an object identifier in digits.
fn push_oid(out: &mut String, oid: &[u8]) {
    let mut number = 0_u64;
    let mut is_first = true;
    for byte in oid {
        number = (number << 7) | u64::from(byte & 0x7f);
        if byte & 0x80 != 0 {
            continue;
        }
        // Writing to a string cannot fail.
        let _ = if std::mem::take(&mut is_first) {
            let root = (number / 40).min(2);
            write!(out, "{root}.{}", number - root * 40)
        } else {
            write!(out, ".{number}")
        };
        number = 0;
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
            fields.subject().unwrap(),
            "CN=\\#al\u{fc}ce,O=\\ A\\, B \\+ C #,C=DE"
        );
        // `date -u -d 1999-12-31 +%s`, and 2051-03-01, which needs four digits of the year.
        assert_eq!(fields.validity, 946_598_400..=2_561_241_600);
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (date, days) in [
            ((1970, 1, 1), 0),
            ((1969, 12, 31), -1),
            ((2000, 2, 29), 11_016),
            ((2000, 3, 1), 11_017),
            ((2100, 3, 1), 47_541),
        ] {
            assert_eq!(days_since_1970(date.0, date.1, date.2), days, "{date:?}");
        }
    }

    #[test]
    fn unknown_attributes_are_numbers() {
        let mut text = String::new();
        push_attribute(
            &mut text,
            &[0x2a, 0x86, 0x48, 0x01],
            (OCTET_STRING, &[0xab, 1]),
        );
        assert_eq!(text, "1.2.840.1=#ab01");
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
