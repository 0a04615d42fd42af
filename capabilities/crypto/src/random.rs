//! Random bytes and tokens.

use crate::keys::no_random_numbers;
use crate::limits::{RANDOM_BYTES_MAX, TOKEN_BYTES, TOKEN_BYTES_MAX, TOKEN_BYTES_MIN};
use aws_lc_rs::rand;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sampan_host::{Args, Error, Value};
use std::ops::RangeInclusive;

pub(crate) fn bytes(args: &Args) -> Result<Value, Error> {
    let count = count(args, 0, 1..=RANDOM_BYTES_MAX)?;
    random(count).map(Value::Bytes)
}

pub(crate) fn token(args: &Args) -> Result<Value, Error> {
    let count = count(args, TOKEN_BYTES, TOKEN_BYTES_MIN..=TOKEN_BYTES_MAX)?;
    Ok(Value::Text(URL_SAFE_NO_PAD.encode(random(count)?)))
}

/// Random bytes that cannot be guessed.
pub(crate) fn random(count: usize) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; count];
    rand::fill(&mut bytes).map_err(|_| no_random_numbers())?;
    Ok(bytes)
}

/// The first argument: a count within `range`.
fn count(args: &Args, default: usize, range: RangeInclusive<usize>) -> Result<usize, Error> {
    let count = args.number(0).map_or(default as f64, f64::trunc);
    let (min, max) = (*range.start() as f64, *range.end() as f64);
    if !(min..=max).contains(&count) {
        return Err(Error::script(format!(
            "the count must be {min} to {max}, not {count}"
        )));
    }
    Ok(count as usize)
}
