//! Signatures of bytes by RSA, ECDSA and Ed25519, and the keys that tokens have too.

mod algorithms;
mod certificate;
mod jwk;
mod material;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use algorithms::{Algorithm, Family};
pub(crate) use jwk::{Jwk, Operation, is_jwk};
pub(crate) use material::Material;

use crate::options::{self, bytes_of};
use sampan_host::{Args, Error, Value};

/// `crypto.sign`.
pub(crate) fn sign(mut args: Args) -> Result<Value, Error> {
    let algorithm = asymmetric(&args.text(0))?;
    let key = key_for(algorithm, args.take(1), Operation::Sign)?;
    let data = bytes_of(args.take(2));
    let der = is_der(algorithm, args.take(3))?;
    key.sign(algorithm, &data, der).map(Value::Bytes)
}

/// `crypto.verify`.
pub(crate) fn verify(mut args: Args) -> Result<Value, Error> {
    let algorithm = asymmetric(&args.text(0))?;
    let key = key_for(algorithm, args.take(1), Operation::Verify)?;
    let (data, signature) = (bytes_of(args.take(2)), bytes_of(args.take(3)));
    let der = is_der(algorithm, args.take(4))?;
    key.verify(algorithm, &data, &signature, der)
        .map(Value::Bool)
}

fn asymmetric(name: &str) -> Result<Algorithm, Error> {
    let algorithm = Algorithm::named(name, "argument 1 (algorithm)")?;
    match algorithm.family() {
        Family::Hmac(_) => Err(Error::script(format!(
            "{name} has no pair of keys: use crypto.hmac, and compare by crypto.equal"
        ))),
        _ => Ok(algorithm),
    }
}

/// Reads a key for one algorithm: a PEM text, bytes, or a JWK.
///
/// # Errors
/// No key, or a JWK that is not for this algorithm or use.
pub(crate) fn key_for(
    algorithm: Algorithm,
    given: Value,
    operation: Operation,
) -> Result<Material, Error> {
    match given {
        Value::Text(_) | Value::Bytes(_) => Material::of_bytes(algorithm, bytes_of(given)),
        given if is_jwk(&given) => {
            let jwk = Jwk::read(&given, operation)?;
            check_algorithm(&jwk, algorithm)?;
            Ok(jwk.material)
        }
        _ => Err(Error::script(
            "the key must be a PEM text, bytes, or a JWK with its kty; is it missing?",
        )),
    }
}

/// Checks that a JWK may be used with an algorithm that the script has chosen.
pub(crate) fn check_algorithm(jwk: &Jwk, algorithm: Algorithm) -> Result<(), Error> {
    let named = jwk.algorithm.map_or(algorithm.name(), Algorithm::name);
    if named != algorithm.name() {
        return Err(Error::script(format!(
            "the JWK is for {named}, not for {}",
            algorithm.name()
        )));
    }
    match jwk.material.fits(algorithm) {
        true => Ok(()),
        false => Err(Error::script(format!(
            "the JWK is of a type or curve that is not for {}",
            algorithm.name()
        ))),
    }
}

/// Reads the option `der`.
fn is_der(algorithm: Algorithm, given: Value) -> Result<bool, Error> {
    let mut der = false;
    for (_, value) in options::members(given, &["der"])? {
        der = match value {
            Value::Null => false,
            Value::Bool(der) => der,
            _ => return Err(Error::script("der must be true or false")),
        };
    }
    if der && !matches!(algorithm.family(), Family::Ecdsa(_)) {
        return Err(Error::script(format!(
            "der is for ES256, ES384 and ES512; signatures of {} have one form only",
            algorithm.name()
        )));
    }
    Ok(der)
}
