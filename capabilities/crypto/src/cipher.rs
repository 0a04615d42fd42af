//! AES-256-GCM: by the project's keys, or by a key of the script.

use crate::keys;
use crate::options::{self, bytes_of};
use aws_lc_rs::aead::{AES_256_GCM, LessSafeKey, UnboundKey};
use sampan_host::{Args, Context, Error, Value, clock, sealer};

/// The longest time for which something is sealed: 100 years.
const MAX_AGE_MAX: i64 = 100 * 365 * 24 * 60 * 60;

/// The bytes of a time before the data of what expires: seconds since 1970, big-endian.
const TIME_BYTES: usize = 8;

pub(crate) fn seal(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (data, purpose) = (bytes_of(args.take(0)), args.text(1));
    let sealer = sealer::of(context)?;
    let Some(seconds) = max_age(args.take(2))? else {
        return sealer.seal(&lasting(&purpose), &data).map(Value::Text);
    };
    let mut timed = (now() + seconds).to_be_bytes().to_vec();
    timed.extend_from_slice(&data);
    sealer.seal(&expiring(&purpose), &timed).map(Value::Text)
}

pub(crate) fn open(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (text, purpose) = (args.text(0), args.text(1));
    let sealer = sealer::of(context)?;
    if let Some(data) = sealer.open(&lasting(&purpose), &text) {
        return Ok(Value::Bytes(data));
    }
    let timed = sealer.open(&expiring(&purpose), &text);
    let data = timed.and_then(|timed| {
        let (until, data) = timed.split_first_chunk::<TIME_BYTES>()?;
        (now() < u64::from_be_bytes(*until)).then(|| data.to_vec())
    });
    Ok(bytes_or_nothing(data))
}

fn max_age(given: Value) -> Result<Option<u64>, Error> {
    let mut seconds = None;
    for (_, value) in options::members(given, &["max_age"])? {
        seconds = match value {
            Value::Int(value @ 1..=MAX_AGE_MAX) => Some(value as u64),
            Value::Float(value)
                if value.fract() == 0.0 && (1.0..=MAX_AGE_MAX as f64).contains(&value) =>
            {
                Some(value as u64)
            }
            _ => {
                let text =
                    "max_age must be a whole number of seconds from 1 to 3153600000 (100 years)";
                return Err(Error::script(text).naming(["max_age"]));
            }
        };
    }
    Ok(seconds)
}

fn now() -> u64 {
    clock::since_1970().as_secs()
}

pub(crate) fn encrypt(mut args: Args) -> Result<Value, Error> {
    let data = bytes_of(args.take(0));
    let key = key(&bytes_of(args.take(1)))?;
    let extra = bytes_of(args.take(2));
    keys::seal(&key, &extra, &data).map(Value::Bytes)
}

pub(crate) fn decrypt(mut args: Args) -> Result<Value, Error> {
    let data = bytes_of(args.take(0));
    let key = key(&bytes_of(args.take(1)))?;
    let extra = bytes_of(args.take(2));
    Ok(bytes_or_nothing(keys::open(&key, &extra, &data)))
}

/// A purpose of the script, which is none of the capabilities' own.
fn lasting(purpose: &str) -> String {
    format!("script {purpose}")
}

/// Returns the purpose of values that expire, so that neither is taken for the other.
fn expiring(purpose: &str) -> String {
    format!("script-until {purpose}")
}

fn key(bytes: &[u8]) -> Result<LessSafeKey, Error> {
    let key = UnboundKey::new(&AES_256_GCM, bytes).map_err(|_| {
        Error::script(format!(
            "the key must have 32 bytes, not {}: make one by crypto.random_bytes(32)",
            bytes.len()
        ))
        .naming(["random_bytes"])
    })?;
    Ok(LessSafeKey::new(key))
}

fn bytes_or_nothing(bytes: Option<Vec<u8>>) -> Value {
    bytes.map_or(Value::Null, Value::Bytes)
}
