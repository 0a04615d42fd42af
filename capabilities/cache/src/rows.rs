//! The functions of scripts.

use crate::capability;
use crate::changes::IsolateCache;
use crate::entries::{Entries, Entry};
use crate::limits::{DEPTH_MAX, ENTRY_BYTES, KEY_BYTES_MAX, NUMBER_BYTES_MAX, TTL_SECONDS_MAX};
use crate::store::{Begun, Filling, Made, now};
use sampan_host::json::kept_value;
use sampan_host::topics::Payload;
use sampan_host::{
    Args, Class, Context, Error, ErrorKind, FunctionKind, Lifetime, LocalFuture, Module, Param,
    Type, Value, param, refusals, row,
};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The table of functions.
pub(crate) static MODULE: Module = Module {
    name: "cache",
    doc: "Values in the memory of the process, which all its workers share. It is empty after a restart and after a \
     reload. Keys have at most 1024 bytes.",
    functions: &[
        row!("get"(KEY) -> Type::Any, FunctionKind::Sync(get),
            "A copy of the value of a key, or nothing."),
        row!("set"(
                KEY,
                param!("value": Type::Message, "Text, bytes, or anything else that JSON has: a copy is kept."),
                OPTIONS,
            ) -> Type::Nothing, FunctionKind::Sync(set),
            "Keeps a copy of a value. Other workers see it when the writes of the request so far are on disk, and not \
             at all if they fail. Where it needs room, those that were used the longest ago go."),
        row!("incr"(
                KEY,
                param!("by"? Type::Int, "The number to add, also below zero; 1 unless given."),
                param!("options"? Type::Map,
                    "`ttl`: how many seconds a new key is kept at most. A key that is there keeps its time."),
            ) -> Type::Int, FunctionKind::Sync(incr),
            "Adds to the whole number of a key, and returns the sum. A key that is not there counts as 0. Workers that \
             add at once lose no addition. Other workers see it when the writes of the request so far are on disk, and \
             not at all if they fail. A value that is not a whole number is an error."),
        row!("once"(KEY, OPTIONS) -> Type::Any, FunctionKind::Fill { enter, leave },
            "The value of a key. If there is none, the function makes it, for all who want it meanwhile, on all \
             workers, and a copy of what it returns is kept. If it fails, so do the others; if its request is given \
             up, the next one makes the value. What it returns is not kept if the key was changed meanwhile."),
        row!("delete"(KEY) -> Type::Nothing, FunctionKind::Sync(delete),
            "Removes a key. Other workers see that when the writes of the request so far are on disk, and not at all \
             if they fail."),
    ],
    classes: &[&FILLING],
    ..Module::EMPTY
};

const KEY: Param = param!("key": Type::Text, "The key: `user:7`.");

const OPTIONS: Param = param!("options"? Type::Map,
    "`ttl`: how many seconds the value is kept at most; until other values need its room unless given.");

/// A value that a function of the script makes now.
static FILLING: Class = Class {
    name: "CacheFilling",
    variable: "filling",
    doc: "",
    methods: &[],
    lifetime: Lifetime::Request,
    is_keyed: false,
};

/// The right of a request to make a value, until it has ended.
struct Fills {
    filling: Cell<Option<Filling>>,
    ttl: Option<Duration>,
    /// The moment of its beginning, among the changes of the isolate.
    moment: u64,
}

fn of(context: &Context) -> Result<Rc<IsolateCache>, Error> {
    capability::of(context).ok_or_else(|| Error::new(ErrorKind::Internal, "there is no cache here"))
}

fn key(args: &mut Args) -> Result<Arc<str>, Error> {
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
fn ttl(given: Value) -> Result<Option<Duration>, Error> {
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

/// Returns the entry of a value.
///
/// # Errors
/// The value is larger than the cache.
fn entry(
    cache: &IsolateCache,
    key: &str,
    value: Value,
    ttl: Option<Duration>,
) -> Result<Entry, Error> {
    let value = Payload::of_argument(value)
        .ok_or_else(|| Error::new(ErrorKind::Internal, "no value for the cache"))?;
    let (size, bytes_max) = (Entries::size(key, &value), cache.store.bytes_max());
    if size > bytes_max {
        return Err(no_room(size, bytes_max));
    }
    Ok(Entry {
        value: Arc::new(value),
        until: ttl.map(|ttl| now() + ttl),
    })
}

/// Returns a copy of a value for a script.
fn copy(value: &Payload) -> Result<Value, Error> {
    match value {
        Payload::Text(text) => Ok(Value::Text(text.clone())),
        Payload::Bytes(bytes) => Ok(Value::Bytes(bytes.clone())),
        Payload::Json(json) => kept_value(json, DEPTH_MAX),
    }
}

/// Returns the value as [`FunctionKind::Fill`] wants it.
fn there(value: &Payload) -> Result<Value, Error> {
    Ok(match copy(value)? {
        Value::Null => Value::Map(Vec::new()),
        value => Value::Map(vec![("value".to_owned(), value)]),
    })
}

fn get(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (cache, key) = (of(context)?, key(&mut args)?);
    let found = match cache.change_seen(&key) {
        Some(change) => change.map(|entry| entry.value),
        None => cache.store.get(&key),
    };
    found.map_or(Ok(Value::Null), |value| copy(&value))
}

fn set(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (cache, key) = (of(context)?, key(&mut args)?);
    let (value, ttl) = (args.take(1), ttl(args.take(2))?);
    let entry = entry(&cache, &key, value, ttl)?;
    cache.change(key, Some(entry)).map(|()| Value::Null)
}

fn incr(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (cache, key) = (of(context)?, key(&mut args)?);
    let by = match args.take(1) {
        Value::Int(by) => by,
        _ => 1,
    };
    let until = ttl(args.take(2))?.map(|ttl| now() + ttl);
    // The sum may have as many digits as the largest number.
    let size = key.len() + NUMBER_BYTES_MAX + ENTRY_BYTES;
    let bytes_max = cache.store.bytes_max();
    if size > bytes_max {
        return Err(no_room(size, bytes_max));
    }
    cache.add(key, by, until).map(Value::Int)
}

fn no_room(size: usize, bytes_max: usize) -> Error {
    Error::script(format!(
        "the value needs {size} bytes; bytes_max in [cache] allows {bytes_max} for all values"
    ))
}

fn delete(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (cache, key) = (of(context)?, key(&mut args)?);
    cache.change(key, None).map(|()| Value::Null)
}

/// Looks for the value, waits for those who make it, or has the function make it.
fn enter(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let begun = begin(context, &mut args);
    let objects = context.objects().clone();
    Box::pin(async move {
        let (cache, key, ttl) = begun?;
        let fill = |filling| {
            let fills = Fills {
                filling: Cell::new(Some(filling)),
                ttl,
                moment: cache.moment(),
            };
            let filling = Value::Object(objects.add(&FILLING, fills));
            Value::Map(vec![("filling".to_owned(), filling)])
        };
        match cache.change_seen(&key) {
            Some(Some(entry)) => return there(&entry.value),
            Some(None) => {
                let seen = cache.changes_seen(&key);
                return Ok(fill(cache.store.begin_alone(&key, seen)));
            }
            None => {}
        }
        loop {
            let mut receiver = match cache.store.begin(&key) {
                Begun::There(value) => return there(&value),
                Begun::Fills(filling) => return Ok(fill(filling)),
                Begun::Waits(receiver) => receiver,
            };
            let made = receiver.wait_for(Option::is_some).await;
            match made.ok().and_then(|made| made.clone()) {
                Some(Made::Value(value)) => return there(&value),
                Some(Made::Failed) => {
                    return Err(Error::script(format!(
                        "cache.once({key:?}): the function that another request called has failed"
                    )));
                }
                // That request was given up.
                None => {}
            }
        }
    })
}

type Wanted = (Rc<IsolateCache>, Arc<str>, Option<Duration>);

fn begin(context: &Context, args: &mut Args) -> Result<Wanted, Error> {
    Ok((of(context)?, key(args)?, ttl(args.take(1))?))
}

/// Keeps what the function made, when everything is committed that it may depend on.
fn leave(
    context: &Context,
    filling: Value,
    made: Option<Value>,
) -> LocalFuture<Result<Value, Error>> {
    let kept = keep(context, filling, made);
    Box::pin(std::future::ready(kept))
}

fn keep(context: &Context, filling: Value, made: Option<Value>) -> Result<Value, Error> {
    let Value::Object(object) = filling else {
        return Err(Error::new(ErrorKind::Internal, "no filling"));
    };
    let fills = context.objects().get::<Fills>(object);
    context.objects().remove(object);
    let cache = of(context)?;
    let fills = fills.and_then(|fills| Some((fills.filling.take()?, fills)));
    let Some((filling, fills)) = fills else {
        // The request was given up, and another one makes the value.
        let made = made.and_then(Payload::of_argument);
        return made.map_or(Ok(Value::Null), |made| copy(&made));
    };
    let entry = made.map(|made| entry(&cache, filling.key(), made, fills.ttl));
    let entry = match entry {
        Some(Ok(entry)) => entry,
        Some(Err(error)) => {
            filling.fail();
            return Err(error);
        }
        None => {
            filling.fail();
            return Ok(Value::Null);
        }
    };
    let value = match copy(&entry.value) {
        Ok(value) => value,
        Err(error) => {
            filling.fail();
            return Err(error);
        }
    };
    let key = filling.key();
    let is_outdated = cache.is_changed_since(key, fills.moment);
    let shown = (!is_outdated).then(|| (Arc::clone(key), Some(entry.clone())));
    // Where the writes are lost, the filling is given up with the effect.
    cache.when_committed(shown, move || match is_outdated {
        true => filling.give(entry.value),
        false => filling.finish(entry),
    })?;
    Ok(value)
}
