//! Signatures by Ed25519, RFC 8032. Keys are PEM texts, or the 32 bytes of the RFC.

use crate::keys::no_random_numbers;
use crate::{bytes_of, pem};
use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, ParsedPublicKey};
use sampan_host::{Args, Cell, Error, Rows, Value};

/// How many bytes a key has in the words of the RFC.
const KEY_BYTES: usize = 32;

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

/// A key that verifies.
pub(crate) fn public_key(bytes: &[u8]) -> Result<ParsedPublicKey, Error> {
    let key = match pem::decode(bytes) {
        Some(("PUBLIC KEY", der)) => ParsedPublicKey::new(&ED25519, der).ok(),
        None if bytes.len() == KEY_BYTES => ParsedPublicKey::new(&ED25519, bytes).ok(),
        _ => None,
    };
    key.ok_or_else(|| {
        Error::script(
            "the key must be a public key of Ed25519: a PEM text \"PUBLIC KEY\", or 32 bytes",
        )
    })
}
