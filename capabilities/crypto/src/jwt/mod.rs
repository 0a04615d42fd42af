//! JSON Web Tokens, RFC 7519, in the compact form that is signed (RFC 7515).
//!
//! A key carries its algorithm. The token's `alg` chooses nothing: it must be that of the key (RFC 8725, sections 3.1
//! and 3.2).

mod claims;
mod keys;

use crate::limits::{JWT_BYTES_MAX, JWT_DEPTH_MAX, JWT_KEYS_MAX};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use claims::Checks;
use keys::Key;
use sampan_host::json::{Tape, write_string, write_value};
use sampan_host::{Args, Error, ErrorKind, Value};

pub(crate) fn sign(mut args: Args) -> Result<Value, Error> {
    let claims = args.text(0);
    let key = Key::read(args.take(1))?;
    let claims = claims::complete(object(claims.as_bytes()), args.take(2))?;
    let mut header = b"{\"alg\":\"".to_vec();
    header.extend_from_slice(key.algorithm.name().as_bytes());
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
    let signature = key.sign(token.as_bytes())?;
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(signature, &mut token);
    Ok(Value::Text(token))
}

pub(crate) fn verify(mut args: Args) -> Result<Value, Error> {
    let token = args.text(0);
    let keys = keys_of(args.take(1))?;
    let checks = Checks::read(args.take(2))?;
    if token.len() > JWT_BYTES_MAX {
        return Err(malformed());
    }
    let (signed, signature) = token.rsplit_once('.').ok_or_else(malformed)?;
    let (header, payload) = signed.split_once('.').ok_or_else(malformed)?;
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| malformed());
    let (header, payload, signature) = (decode(header)?, decode(payload)?, decode(signature)?);
    let header = object(&header).ok_or_else(malformed)?;
    // RFC 7515 section 4.1.11: what a token calls critical must be understood, and nothing is here.
    if header.get("crit").is_some() {
        return Err(refused(
            "jwt_malformed",
            "the token has critical extensions",
        ));
    }
    let (Some(Value::Text(algorithm)), kid) = (header.get("alg"), header.get("kid")) else {
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
        .filter(|key| key.algorithm.name() == algorithm)
        .peekable();
    if fitting.peek().is_none() {
        return Err(refused(
            "jwt_algorithm",
            "the token was signed by an algorithm that is not accepted",
        ));
    }
    let mut is_valid = false;
    for key in fitting {
        is_valid = is_valid || key.verify(signed.as_bytes(), &signature)?;
    }
    if !is_valid {
        return Err(refused(
            "jwt_signature",
            "the signature of the token is wrong",
        ));
    }
    let claims = object(&payload).ok_or_else(malformed)?;
    checks.check(&claims)?;
    Ok(claims)
}

/// One key, or a list of them.
fn keys_of(given: Value) -> Result<Vec<Key>, Error> {
    let keys = match given {
        Value::List(keys) => keys,
        key => vec![key],
    };
    if keys.is_empty() || keys.len() > JWT_KEYS_MAX {
        return Err(Error::script(format!(
            "there must be 1 to {JWT_KEYS_MAX} keys, not {}",
            keys.len()
        )));
    }
    keys.into_iter().map(Key::read).collect()
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
