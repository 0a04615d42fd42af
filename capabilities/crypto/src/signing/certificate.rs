//! The public key of an X.509 certificate (RFC 5280 section 4.1). Nothing else of a certificate is read or checked.

const INTEGER: u8 = 0x02;
const SEQUENCE: u8 = 0x30;
/// The optional version, the first field.
const VERSION: u8 = 0xa0;

/// Returns the field `subjectPublicKeyInfo` of a certificate, both in DER.
pub(crate) fn public_key(certificate: &[u8]) -> Option<&[u8]> {
    let (certificate, after) = element(certificate, SEQUENCE)?;
    if !after.is_empty() {
        return None;
    }
    let (mut fields, _) = element(certificate, SEQUENCE)?;
    if let Some((_, after)) = element(fields, VERSION) {
        fields = after;
    }
    // The serial number, the algorithm of the signature, the issuer, the times, the subject.
    for tag in [INTEGER, SEQUENCE, SEQUENCE, SEQUENCE, SEQUENCE] {
        (_, fields) = element(fields, tag)?;
    }
    let (_, after) = element(fields, SEQUENCE)?;
    fields.get(..fields.len() - after.len())
}

/// Reads an element with this tag: its content, and the bytes after it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    /// The bit of a length that is written in further bytes; the other bits are their number.
    const IS_LONG: u8 = 0x80;
    /// The most such bytes: no certificate has 16 MiB.
    const LENGTH_BYTES_MAX: usize = 3;
    let (&[found, first], rest) = bytes.split_first_chunk()?;
    if found != tag {
        return None;
    }
    if first & IS_LONG == 0 {
        return rest.split_at_checked(first.into());
    }
    let count = usize::from(first & !IS_LONG);
    if !(1..=LENGTH_BYTES_MAX).contains(&count) {
        return None;
    }
    let (digits, rest) = rest.split_at_checked(count)?;
    let length = digits
        .iter()
        .fold(0, |length, digit| length << 8 | usize::from(*digit));
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_that_do_not_fit_are_refused() {
        assert_eq!(
            element(&[0x02, 1, 7, 8], INTEGER),
            Some((&[7][..], &[8][..]))
        );
        assert_eq!(
            element(&[0x02, 0x81, 1, 7], INTEGER),
            Some((&[7][..], &[][..]))
        );
        for wrong in [
            &[0x30, 1, 7][..],
            &[0x02, 2, 7],
            &[0x02, 0x80, 7],
            &[0x02, 0x82, 0],
            &[0x02, 0x84, 0, 0, 0, 1, 7],
            &[0x02],
            &[],
        ] {
            assert_eq!(element(wrong, INTEGER), None, "{wrong:?}");
        }
    }

    #[test]
    fn the_key_stands_behind_the_subject() {
        let key = [SEQUENCE, 1, 9];
        let fields = [
            INTEGER, 0, SEQUENCE, 0, SEQUENCE, 0, SEQUENCE, 0, SEQUENCE, 0,
        ];
        let wrap = |content: &[u8]| [&[SEQUENCE, content.len() as u8], content].concat();
        let without_version = [&fields[..], &key, &[0xa3, 0]].concat();
        let with_version = [&[VERSION, 1, 2][..], &without_version].concat();
        for all in [without_version, with_version] {
            let mut certificate = wrap(&wrap(&all));
            assert_eq!(public_key(&certificate), Some(&key[..]));
            certificate.push(0);
            assert_eq!(public_key(&certificate), None);
        }
        assert_eq!(public_key(&wrap(&wrap(&fields))), None);
        assert_eq!(public_key(b"no certificate"), None);
    }
}
