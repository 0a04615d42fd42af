//! AES-256-GCM: by the project's keys, or by a key of the script.

use crate::bytes_of;
use crate::keys;
use aws_lc_rs::aead::{AES_256_GCM, LessSafeKey, UnboundKey};
use sampan_host::{Args, Context, Error, Value, sealer};

pub(crate) fn seal(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (data, purpose) = (bytes_of(args.take(0)), purpose(&mut args));
    let sealer = sealer::of(context)?;
    sealer.seal(&purpose, &data).map(Value::Text)
}

pub(crate) fn open(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (text, purpose) = (args.text(0), purpose(&mut args));
    let sealer = sealer::of(context)?;
    Ok(bytes_or_nothing(sealer.open(&purpose, &text)))
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
fn purpose(args: &mut Args) -> String {
    format!("script {}", args.text(1))
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
