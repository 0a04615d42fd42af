//! The arguments and the results of the functions, whatever keeps the values.

use crate::changes::IsolateCache;
use crate::entries::{Entries, Entry};
use crate::limits::{
    DEPTH_MAX, ENTRY_BYTES, KEY_BYTES_MAX, NUMBER_BYTES_MAX, SHARED_VALUE_BYTES_MAX,
    TTL_SECONDS_MAX,
};
use crate::store::now;
use sampan_host::json::kept_value;
use sampan_host::topics::Payload;
use sampan_host::{Args, Context, Error, ErrorKind, Value, refusals};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Returns the cache of an isolate.
pub(crate) fn of(context: &Context) -> Result<Rc<IsolateCache>, Error> {
    let cache = context.get::<IsolateCache>();
    cache.ok_or_else(|| Error::new(ErrorKind::Internal, "there is no cache here"))
}

/// Reads the key.
pub(crate) fn key(args: &mut Args) -> Result<Arc<str>, Error> {
    let key = args.text(0);
    if key.is_empty() || key.len() > KEY_BYTES_MAX {
        return Err(Error::script(format!(
            "a key has 1 to {KEY_BYTES_MAX} bytes, not {}",
            key.len()
        )));
    }
    Ok(key.into())
}

/// Reads the time for which a value is kept.
pub(crate) fn ttl(given: Value) -> Result<Option<Duration>, Error> {
    let mut ttl = None;
    let Value::Map(options) = given else {
        return Ok(None);
    };
    for (name, value) in options {
        let seconds = match (name.as_str(), value) {
            ("ttl", Value::Int(seconds)) => seconds as f64,
            ("ttl", Value::Float(seconds)) => seconds,
            ("ttl", _) => 0.0,
            (name, _) => return Err(refusals::unknown_option(name, &["ttl"])),
        };
        if seconds.is_nan() || seconds <= 0.0 || seconds > TTL_SECONDS_MAX {
            return Err(Error::script(format!(
                "ttl must be a number of seconds above 0, at most {TTL_SECONDS_MAX}"
            )));
        }
        ttl = Some(Duration::from_secs_f64(seconds));
    }
    Ok(ttl)
}

/// Reads the number that is added.
pub(crate) fn by(args: &mut Args) -> i64 {
    match args.take(1) {
        Value::Int(by) => by,
        _ => 1,
    }
}

/// Returns the entry of a value.
///
/// # Errors
/// The value is larger than the cache.
pub(crate) fn entry(
    cache: &IsolateCache,
    key: &str,
    value: Value,
    ttl: Option<Duration>,
) -> Result<Entry, Error> {
    let value = Payload::of_argument(value)
        .ok_or_else(|| Error::new(ErrorKind::Internal, "no value for the cache"))?;
    let bytes = value.bytes().len();
    if cache.server.is_some() && bytes > SHARED_VALUE_BYTES_MAX {
        return Err(Error::script(format!(
            "the value has {bytes} bytes; a cache that processes share keeps values of at most \
             {SHARED_VALUE_BYTES_MAX}: keep parts of it under keys of their own, or a file in the storage folder"
        )));
    }
    check_room(cache, Entries::size(key, &value))?;
    Ok(Entry {
        value: Arc::new(value),
        until: ttl.map(|ttl| now() + ttl),
    })
}

/// Returns the size that the number of a key counts: the sum may have as many digits as the largest number.
///
/// # Errors
/// It is larger than the cache.
pub(crate) fn number_size(cache: &IsolateCache, key: &str) -> Result<usize, Error> {
    let size = key.len() + NUMBER_BYTES_MAX + ENTRY_BYTES;
    check_room(cache, size).map(|()| size)
}

fn check_room(cache: &IsolateCache, size: usize) -> Result<(), Error> {
    let bytes_max = cache.store.bytes_max();
    if size <= bytes_max {
        return Ok(());
    }
    Err(Error::script(format!(
        "the value needs {size} bytes; bytes_max in [cache] allows {bytes_max} for all values"
    )))
}

/// Returns a copy of a value for a script.
pub(crate) fn copy(value: &Payload) -> Result<Value, Error> {
    match value {
        Payload::Text(text) => Ok(Value::Text(text.clone())),
        Payload::Bytes(bytes) => Ok(Value::Bytes(bytes.clone())),
        Payload::Json(json) => kept_value(json, DEPTH_MAX),
    }
}

/// Returns the value as [`FunctionKind::Fill`](sampan_host::FunctionKind::Fill) wants it.
pub(crate) fn there(value: &Payload) -> Result<Value, Error> {
    Ok(match copy(value)? {
        Value::Null => Value::Map(Vec::new()),
        value => Value::Map(vec![("value".to_owned(), value)]),
    })
}
