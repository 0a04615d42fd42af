//! Bytes as text: base64, base32 and hex, RFC 4648.

use crate::base32;
use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use sampan_host::{Args, Error, Value};

const PADDED: GeneralPurpose = GeneralPurpose::new(&STANDARD, config(true));
const FOR_URLS: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, config(false));

/// The engine's settings: reading accepts texts with and without padding.
const fn config(has_padding: bool) -> GeneralPurposeConfig {
    GeneralPurposeConfig::new()
        .with_encode_padding(has_padding)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
}

pub(crate) fn base64_encode(mut args: Args) -> Result<Value, Error> {
    Ok(Value::Text(PADDED.encode(args.bytes(0))))
}

pub(crate) fn base64_decode(mut args: Args) -> Result<Value, Error> {
    Ok(bytes_or_nothing(PADDED.decode(args.text(0)).ok()))
}

pub(crate) fn base64url_encode(mut args: Args) -> Result<Value, Error> {
    Ok(Value::Text(FOR_URLS.encode(args.bytes(0))))
}

pub(crate) fn base64url_decode(mut args: Args) -> Result<Value, Error> {
    Ok(bytes_or_nothing(FOR_URLS.decode(args.text(0)).ok()))
}

pub(crate) fn base32_encode(mut args: Args) -> Result<Value, Error> {
    Ok(Value::Text(base32::encoded(&args.bytes(0))))
}

pub(crate) fn base32_decode(mut args: Args) -> Result<Value, Error> {
    Ok(bytes_or_nothing(base32::decoded(&args.text(0))))
}

pub(crate) fn hex_encode(mut args: Args) -> Result<Value, Error> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let bytes = args.bytes(0);
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    Ok(Value::Text(text))
}

pub(crate) fn hex_decode(mut args: Args) -> Result<Value, Error> {
    let text = args.text(0);
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8; 2]| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
    Ok(bytes_or_nothing(bytes.filter(|_| rest.is_empty())))
}

fn bytes_or_nothing(bytes: Option<Vec<u8>>) -> Value {
    bytes.map_or(Value::Null, Value::Bytes)
}
