//! Signatures by Ed25519, RFC 8032. Keys are PEM texts, or the 32 bytes of the RFC.

use crate::keys::no_random_numbers;
use crate::options::bytes_of;
use crate::pem;
use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, ParsedPublicKey};
use sampan_host::{Args, Cell, Error, Rows, Value};

/// The number of bytes that a key has in the words of the RFC.
pub(crate) const KEY_BYTES: usize = 32;

pub(crate) fn keypair() -> Result<Value, Error> {
    let pair = Ed25519KeyPair::generate().map_err(|_| no_random_numbers())?;
    let private = pair.to_pkcs8v1().map_err(|_| no_random_numbers())?;
    let public: PublicKeyX509Der<'_> = pair
        .public_key()
        .as_der()
        .map_err(|_| no_random_numbers())?;
    let private = pem::encode("PRIVATE KEY", private.as_ref());
    let public = pem::encode("PUBLIC KEY", public.as_ref());
    let keys = [Cell::Text(&private), Cell::Text(&public)];
    Ok(Value::Row(Rows::of(&["private_key", "public_key"], &keys)))
}

pub(crate) fn sign(mut args: Args) -> Result<Value, Error> {
    let data = bytes_of(args.take(0));
    let key = private_key(&bytes_of(args.take(1)))?;
    Ok(Value::Bytes(key.sign(&data).as_ref().to_vec()))
}

pub(crate) fn verify(mut args: Args) -> Result<Value, Error> {
    let (data, signature) = (bytes_of(args.take(0)), bytes_of(args.take(1)));
    let key = public_key(&bytes_of(args.take(2)))?;
    Ok(Value::Bool(key.verify_sig(&data, &signature).is_ok()))
}

/// A key that signs.
pub(crate) fn private_key(bytes: &[u8]) -> Result<Ed25519KeyPair, Error> {
    let key = match pem::decode(bytes) {
        Some(("PRIVATE KEY", der)) => Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).ok(),
        None if bytes.len() == KEY_BYTES => Ed25519KeyPair::from_seed_unchecked(bytes).ok(),
        _ => None,
    };
    key.ok_or_else(|| {
        Error::script(
            "the key must be a private key of Ed25519: a PEM text \"PRIVATE KEY\", or 32 bytes",
        )
    })
}

/// The keys of small order by their last bit of sign, in all their encodings: signatures that fit one can be made
/// without a secret of them and any text. The table is that of libsodium.
#[rustfmt::skip]
const SMALL_ORDER: [[u8; KEY_BYTES]; 7] = [
    of_ends(0x00, 0x00, 0x00),
    of_ends(0x01, 0x00, 0x00),
    [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
        0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
    ],
    [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
        0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
    ],
    of_ends(0xec, 0xff, 0x7f),
    of_ends(0xed, 0xff, 0x7f),
    of_ends(0xee, 0xff, 0x7f),
];

/// 32 bytes: the first, those between, the last.
const fn of_ends(first: u8, between: u8, last: u8) -> [u8; KEY_BYTES] {
    let mut bytes = [between; KEY_BYTES];
    bytes[0] = first;
    bytes[KEY_BYTES - 1] = last;
    bytes
}

/// Reports whether a public key has a small order; the sign of its other coordinate does not matter.
fn has_small_order(key: &[u8]) -> bool {
    let Ok(mut key) = <[u8; KEY_BYTES]>::try_from(key) else {
        return false;
    };
    key[KEY_BYTES - 1] &= 0x7f;
    SMALL_ORDER.contains(&key)
}

/// The bytes before the key in its DER form (RFC 8410 section 4).
const DER_HEAD: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];

/// Returns a key that verifies, from its DER form or its 32 bytes; `None` if it is none, or one of small order.
pub(crate) fn public_key_of_der(bytes: &[u8]) -> Option<ParsedPublicKey> {
    // AWS-LC ignores bytes behind the DER form, so the key that is looked at here is the one that it gets.
    let point = match bytes.len() {
        KEY_BYTES => bytes,
        _ => bytes.strip_prefix(&DER_HEAD)?,
    };
    if point.len() != KEY_BYTES || has_small_order(point) {
        return None;
    }
    ParsedPublicKey::new(&ED25519, point).ok()
}

/// A key that verifies.
///
/// # Errors
/// It is none, or one that fits signatures without the secret.
pub(crate) fn public_key(bytes: &[u8]) -> Result<ParsedPublicKey, Error> {
    let key = match pem::decode(bytes) {
        Some(("PUBLIC KEY", der)) => public_key_of_der(&der),
        None if bytes.len() == KEY_BYTES => public_key_of_der(bytes),
        _ => None,
    };
    key.ok_or_else(|| {
        Error::script(
            "the key must be a public key of Ed25519: a PEM text \"PUBLIC KEY\", or 32 bytes, and not of small order",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_small_order_are_refused() {
        for key in SMALL_ORDER {
            for sign in [0, 0x80] {
                let mut key = key;
                key[KEY_BYTES - 1] |= sign;
                assert!(public_key(&key).is_err(), "{key:02x?}");
            }
        }
        // RFC 8032 section 7.1, test 1.
        let key = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        let digits = |at: usize| u8::from_str_radix(&key[2 * at..2 * at + 2], 16).unwrap();
        let key: Vec<u8> = (0..KEY_BYTES).map(digits).collect();
        assert!(public_key(&key).is_ok());
    }

    #[test]
    fn bytes_behind_a_key_do_not_hide_its_small_order() {
        let pem_of = |key: &[u8], behind: &[u8]| {
            let der = [&DER_HEAD[..], key, behind].concat();
            pem::encode("PUBLIC KEY", &der).into_bytes()
        };
        let good = Ed25519KeyPair::generate().expect("a pair");
        let good = good.public_key().as_ref();
        let small = of_ends(1, 0, 0);
        assert!(public_key(&pem_of(good, &[])).is_ok());
        assert!(public_key(&pem_of(small.as_slice(), &[])).is_err());
        for behind in [&[0x55; KEY_BYTES][..], good, &[0]] {
            assert!(public_key(&pem_of(small.as_slice(), behind)).is_err());
            assert!(public_key(&pem_of(good, behind)).is_err());
            assert!(public_key_of_der(&[&small[..], behind].concat()).is_none());
        }
    }
}
