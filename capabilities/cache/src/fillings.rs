//! Values that a function of the script makes, on the way from the begin of `cache.once` to its end.

use crate::arguments::{copy, entry, of};
use crate::entries::Entry;
use crate::store::{Filling, Made, Making};
use sampan_host::topics::Payload;
use sampan_host::{Class, Context, Error, ErrorKind, Lifetime, Objects, Value};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

/// A value that a function of the script makes now.
pub(crate) static FILLING: Class = Class {
    name: "CacheFilling",
    variable: "filling",
    doc: "",
    methods: &[],
    lifetime: Lifetime::Request,
    is_keyed: false,
};

/// The right of a request to make a value, until it has ended.
struct Fills<M> {
    filling: Cell<Option<Filling>>,
    ttl: Option<Duration>,
    /// The mark of its beginning.
    mark: M,
}

/// The end of the making of a value.
pub(crate) enum Ended<M> {
    /// The function has made a value that is to be kept.
    Made(MadeValue<M>),
    /// No value to keep: the result of the call.
    Over(Value),
}

/// A value that a function has made.
pub(crate) struct MadeValue<M> {
    pub(crate) filling: Filling,
    pub(crate) entry: Entry,
    pub(crate) ttl: Option<Duration>,
    /// The mark of the beginning.
    pub(crate) mark: M,
    /// The copy for the script.
    pub(crate) value: Value,
}

/// Has the function of the script make a value, as [`FunctionKind::Fill`](sampan_host::FunctionKind::Fill) wants it.
pub(crate) fn fill<M: 'static>(
    objects: &Objects,
    filling: Filling,
    ttl: Option<Duration>,
    mark: M,
) -> Value {
    let fills = Fills {
        filling: Cell::new(Some(filling)),
        ttl,
        mark,
    };
    let filling = Value::Object(objects.add(&FILLING, fills));
    Value::Map(vec![("filling".to_owned(), filling)])
}

/// Ends the making of a value. `made` is what the function has returned; nothing if it has failed.
///
/// # Errors
/// The value cannot be kept. Those who wait for it are told that.
pub(crate) fn ended<M: Copy + 'static>(
    context: &Context,
    filling: Value,
    made: Option<Value>,
) -> Result<Ended<M>, Error> {
    let Value::Object(object) = filling else {
        return Err(Error::new(ErrorKind::Internal, "no filling"));
    };
    let fills = context.objects().get::<Fills<M>>(object);
    context.objects().remove(object);
    let cache = of(context)?;
    let fills = fills.and_then(|fills| Some((fills.filling.take()?, fills)));
    let Some((filling, fills)) = fills else {
        // The request was given up, and another one makes the value.
        let made = made.and_then(Payload::of_argument);
        let value = made.map_or(Ok(Value::Null), |made| copy(&made))?;
        return Ok(Ended::Over(value));
    };
    let Some(made) = made else {
        filling.fail();
        return Ok(Ended::Over(Value::Null));
    };
    let entry = entry(&cache, filling.key(), made, fills.ttl);
    match entry.and_then(|entry| Ok((copy(&entry.value)?, entry))) {
        Ok((value, entry)) => Ok(Ended::Made(MadeValue {
            filling,
            entry,
            ttl: fills.ttl,
            mark: fills.mark,
            value,
        })),
        Err(error) => {
            filling.fail();
            Err(error)
        }
    }
}

/// Waits for a value that another handler makes. `None` if that was given up.
///
/// # Errors
/// The function of that handler has failed.
pub(crate) async fn wait_for(mut making: Making, key: &str) -> Result<Option<Arc<Payload>>, Error> {
    let made = making.wait_for(Option::is_some).await;
    match made.ok().and_then(|made| made.clone()) {
        Some(Made::Value(value)) => Ok(Some(value)),
        Some(Made::Failed) => Err(Error::script(format!(
            "cache.once({key:?}): the function that another request called has failed"
        ))),
        None => Ok(None),
    }
}
