//! JSON Web Tokens, RFC 7519, in the compact form that is signed (RFC 7515).
//!
//! A key carries its algorithm, or the caller names those that it accepts. The token's `alg` chooses nothing: it must
//! be one of these, and fit the kind of the key (RFC 8725, sections 3.1 and 3.2).

mod claims;
mod keys;
#[cfg(test)]
mod tests;

use crate::limits::{JWT_BYTES_MAX, JWT_DEPTH_MAX};
use crate::signing::Algorithm;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use claims::Checks;
use keys::Key;
use sampan_host::json::{Tape, write_string, write_value};
use sampan_host::{Args, Error, ErrorKind, Value};

pub(crate) fn sign(mut args: Args) -> Result<Value, Error> {
    let claims = args.text(0);
    let (algorithm, key) = Key::that_signs(args.take(1))?;
    let claims = claims::complete(object(claims.as_bytes()), args.take(2))?;
    let mut header = b"{\"alg\":\"".to_vec();
    header.extend_from_slice(algorithm.name().as_bytes());
    header.extend_from_slice(b"\",\"typ\":\"JWT\"");
    if let Some(kid) = &key.kid {
        header.extend_from_slice(b",\"kid\":");
        write_string(&mut header, kid.as_bytes());
    }
    header.push(b'}');
    let mut payload = Vec::new();
    write_value(&mut payload, &claims, JWT_DEPTH_MAX)?;
    let mut token = URL_SAFE_NO_PAD.encode(header);
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(payload, &mut token);
    let signature = key.sign(algorithm, token.as_bytes())?;
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(signature, &mut token);
    Ok(Value::Text(token))
}

pub(crate) fn verify(mut args: Args) -> Result<Value, Error> {
    let token = args.text(0);
    let keys = args.take(1);
    let checks = Checks::read(args.take(2))?;
    let keys = Key::all_that_verify(keys, checks.algorithms())?;
    let token = Token::read(&token)?;
    // RFC 7515 section 4.1.11: what a token calls critical must be understood, and nothing is here.
    if token.header.get("crit").is_some() {
        return Err(refused(
            "jwt_malformed",
            "the token has critical extensions",
        ));
    }
    let (Some(Value::Text(algorithm)), kid) = (token.header.get("alg"), token.header.get("kid"))
    else {
        return Err(malformed());
    };
    let named = |key: &&Key| match (&key.kid, kid) {
        (Some(known), Some(Value::Text(kid))) => known == kid,
        _ => true,
    };
    let mut fitting = keys.iter().filter(named).peekable();
    if fitting.peek().is_none() {
        return Err(refused("jwt_key", "the token was signed by an unknown key"));
    }
    let mut fitting = fitting
        .filter_map(|key| Some((key, key.algorithm(algorithm)?)))
        .peekable();
    if fitting.peek().is_none() {
        return Err(refused(
            "jwt_algorithm",
            "the token was signed by an algorithm that is not accepted",
        ));
    }
    check_signature(&token, fitting)?;
    let claims = object(&token.payload).ok_or_else(malformed)?;
    checks.check(&claims)?;
    Ok(claims)
}

/// Checks that one of these keys signed the token.
///
/// # Errors
/// None did, or none can be used. A key that cannot be used does not spoil the others.
fn check_signature<'a>(
    token: &Token<'_>,
    keys: impl Iterator<Item = (&'a Key, Algorithm)>,
) -> Result<(), Error> {
    let (mut is_one_used, mut fault) = (false, None);
    for (key, algorithm) in keys {
        match key.verify(algorithm, token.signed.as_bytes(), &token.signature) {
            Ok(true) => return Ok(()),
            Ok(false) => is_one_used = true,
            Err(error) => fault = Some(error),
        }
    }
    match fault {
        Some(fault) if !is_one_used => Err(fault),
        _ => Err(refused(
            "jwt_signature",
            "the signature of the token is wrong",
        )),
    }
}

/// Returns the header and the claims of a token that may be from anybody.
pub(crate) fn decode(mut args: Args) -> Result<Value, Error> {
    let token = args.text(0);
    let token = Token::read(&token)?;
    let claims = object(&token.payload).ok_or_else(malformed)?;
    Ok(Value::Map(vec![
        ("header".to_owned(), token.header),
        ("claims".to_owned(), claims),
    ]))
}

/// The parts of a token.
struct Token<'a> {
    /// The text that the signature is of.
    signed: &'a str,
    header: Value,
    payload: Vec<u8>,
    signature: Vec<u8>,
}

impl<'a> Token<'a> {
    fn read(text: &'a str) -> Result<Self, Error> {
        if text.len() > JWT_BYTES_MAX {
            return Err(malformed());
        }
        let (signed, signature) = text.rsplit_once('.').ok_or_else(malformed)?;
        let (header, payload) = signed.split_once('.').ok_or_else(malformed)?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| malformed());
        let (header, payload, signature) = (decode(header)?, decode(payload)?, decode(signature)?);
        Ok(Self {
            signed,
            header: object(&header).ok_or_else(malformed)?,
            payload,
            signature,
        })
    }
}

/// The object of a JSON text.
fn object(text: &[u8]) -> Option<Value> {
    let mut tape = Tape::default();
    tape.read(text, JWT_DEPTH_MAX).ok()?;
    let value = tape.value(text);
    matches!(value, Value::Map(_)).then_some(value)
}

#[cold]
fn malformed() -> Error {
    refused("jwt_malformed", "this is no JSON Web Token")
}

/// The error for a client that sends a token which does not count.
#[cold]
fn refused(code: &'static str, message: &str) -> Error {
    Error::new(ErrorKind::Status(401), message).with_code(code)
}
