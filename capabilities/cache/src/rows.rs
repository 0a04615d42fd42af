//! The functions of scripts.

use crate::arguments::{by, copy, entry, key, number_size, of, there, ttl};
use crate::changes::IsolateCache;
use crate::fillings::{Ended, FILLING, ended, fill, wait_for};
use crate::server_rows as server;
use crate::settings::SECTION;
use crate::store::{Begun, now};
use sampan_host::{
    Args, Class, Context, Error, Function, FunctionKind, LocalFuture, Module, Param, Type, Value,
    param, row,
};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The table of functions.
pub(crate) static MODULE: Module = Module {
    name: "cache",
    elsewhere: Some(&SERVER_MODULE),
    elsewhere_if: Some(|settings| settings.of(&SECTION).flag("shared")),
    ..module(&ROWS, &[&FILLING])
};

/// The functions where the values are on a server: all wait.
static SERVER_MODULE: Module = module(&SERVER_ROWS, &[&FILLING]);

static ROWS: [Function; 5] = rows_of(RowKinds {
    get: FunctionKind::Sync(get),
    set: FunctionKind::Sync(set),
    incr: FunctionKind::Sync(incr),
    once: FunctionKind::Fill { enter, leave },
    delete: FunctionKind::Sync(delete),
});

static SERVER_ROWS: [Function; 5] = rows_of(RowKinds {
    get: FunctionKind::Waiting(server::get),
    set: FunctionKind::Waiting(server::set),
    incr: FunctionKind::Waiting(server::incr),
    once: FunctionKind::Fill {
        enter: server::enter,
        leave: server::leave,
    },
    delete: FunctionKind::Waiting(server::delete),
});

/// The kinds of the rows: what runs them where the values are kept.
struct RowKinds {
    get: FunctionKind,
    set: FunctionKind,
    incr: FunctionKind,
    once: FunctionKind,
    delete: FunctionKind,
}

const fn module(functions: &'static [Function], classes: &'static [&'static Class]) -> Module {
    Module {
        name: "cache",
        doc: "Values in the memory of the process, which all its workers share. It is empty after a restart and after \
         a reload. With `[cache] shared = true` on PostgreSQL they are in the database, for all processes, and stay \
         there; each function waits then. Keys have at most 1024 bytes.",
        functions,
        classes,
        ..Module::EMPTY
    }
}

const fn rows_of(kinds: RowKinds) -> [Function; 5] {
    [
        row!("get"(KEY) -> Type::Any, kinds.get,
            "A copy of the value of a key, or nothing."),
        row!("set"(
                KEY,
                param!("value": Type::Message, "Text, bytes, or anything else that JSON has: a copy is kept."),
                OPTIONS,
            ) -> Type::Nothing, kinds.set,
            "Keeps a copy of a value. Other workers see it when the writes of the request so far are on disk, and not \
             at all if they fail. Where it needs room, those that were used the longest ago go."),
        row!("incr"(
                KEY,
                param!("by"? Type::Int, "The number to add, also below zero; 1 unless given."),
                param!("options"? Type::Map,
                    "`ttl`: how many seconds a new key is kept at most. A key that is there keeps its time."),
            ) -> Type::Int, kinds.incr,
            "Adds to the whole number of a key, and returns the sum. A key that is not there counts as 0. Workers that \
             add at once lose no addition. Other workers see it when the writes of the request so far are on disk, and \
             not at all if they fail. A value that is not a whole number is an error."),
        row!("once"(KEY, OPTIONS) -> Type::Any, kinds.once,
            "The value of a key. If there is none, the function makes it, for all who want it meanwhile, on all \
             workers, and a copy of what it returns is kept. If it fails, so do the others; if its request is given \
             up, the next one makes the value. What it returns is not kept if the key was changed meanwhile."),
        row!("delete"(KEY) -> Type::Nothing, kinds.delete,
            "Removes a key. Other workers see that when the writes of the request so far are on disk, and not at all \
             if they fail."),
    ]
}

const KEY: Param = param!("key": Type::Text, "The key: `user:7`.");

const OPTIONS: Param = param!("options"? Type::Map,
    "`ttl`: how many seconds the value is kept at most; until other values need its room unless given.");

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
    let by = by(&mut args);
    let until = ttl(args.take(2))?.map(|ttl| now() + ttl);
    number_size(&cache, &key)?;
    cache.add(key, by, until).map(Value::Int)
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
        let fill = |filling| fill(&objects, filling, ttl, cache.moment());
        match cache.change_seen(&key) {
            Some(Some(entry)) => return there(&entry.value),
            Some(None) => {
                let seen = cache.changes_seen(&key);
                return Ok(fill(cache.store.begin_alone(&key, seen)));
            }
            None => {}
        }
        loop {
            let making = match cache.store.begin(&key) {
                Begun::There(value) => return there(&value),
                Begun::Fills(filling) => return Ok(fill(filling)),
                Begun::Waits(making) => making,
            };
            if let Some(value) = wait_for(making, &key).await? {
                return there(&value);
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
    let made = match ended::<u64>(context, filling, made)? {
        Ended::Made(made) => made,
        Ended::Over(value) => return Ok(value),
    };
    let (cache, filling, entry) = (of(context)?, made.filling, made.entry);
    let key = Arc::clone(filling.key());
    let is_outdated = cache.is_changed_since(&key, made.mark);
    // Where the writes are lost, or the entry is given up, the filling is dropped, and the next one makes the value.
    cache.when_committed(&key, Some(entry), !is_outdated, move |entry| match entry {
        Some(entry) if is_outdated => filling.give(entry.value),
        Some(entry) => filling.finish(entry),
        None => filling.give_up(),
    })?;
    Ok(made.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::Changes;
    use crate::entries::Entry;
    use crate::limits::CHANGES_BYTES_MIN;
    use crate::store::CacheStore;
    use sampan_host::topics::Payload;
    use sampan_host::{Effects, Outbox, Verdict};

    /// The reasons for which a value is not kept that its worker has seen before the commit.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Unkept {
        GivenUp,
        ChangedMeanwhile,
        RolledBack,
    }

    fn entry(text: &str) -> Entry {
        Entry {
            value: Arc::new(Payload::Text(text.to_owned())),
            until: None,
        }
    }

    fn isolate(store: &Arc<CacheStore>, outbox: &Outbox) -> Context {
        let context = Context::default();
        context.put(outbox.clone());
        context.put(IsolateCache {
            store: Arc::clone(store),
            server: None,
            changes: Changes::default(),
            effects: Effects::of(&context).expect("an outbox"),
            current: None,
        });
        context
    }

    /// Makes a value, as a handler does that finds none.
    fn make(context: &Context, key: &Arc<str>, value: &str) {
        let cache = of(context).expect("a cache");
        let Begun::Fills(filling) = cache.store.begin(key) else {
            panic!("it is there, or is being made");
        };
        let Value::Map(mut filling) = fill(context.objects(), filling, None, cache.moment()) else {
            panic!("no filling");
        };
        let (_, filling) = filling.pop().expect("a filling");
        keep(context, filling, Some(value.into())).expect("kept");
    }

    #[test]
    fn a_value_that_was_seen_and_is_not_kept_lets_no_older_one_in() {
        for unkept in [
            Unkept::GivenUp,
            Unkept::ChangedMeanwhile,
            Unkept::RolledBack,
        ] {
            let store = Arc::new(CacheStore::new(CHANGES_BYTES_MIN));
            let (outbox, key) = (Outbox::default(), Arc::from("k"));
            let context = isolate(&store, &outbox);
            let cache = of(&context).expect("a cache");
            outbox.open();
            make(&context, &key, &"x".repeat(1_000));
            if unkept == Unkept::GivenUp {
                let large = "x".repeat(CHANGES_BYTES_MIN / 3 * 2);
                for other in ["a", "b"] {
                    let changed = cache.change(other.into(), Some(entry(&large)));
                    changed.expect("room");
                }
            }
            // Another handler of the worker has seen it, and makes a value of its own.
            let seen = cache.changes_seen(&key);
            assert_eq!(seen, 1, "{unkept:?}");
            let own = store.begin_alone(&key, seen);
            // Another worker changes the key.
            let newer = || store.change(&key, Some(entry("newer")));
            match unkept {
                Unkept::GivenUp => {
                    outbox.settle(Verdict::Committed);
                    newer();
                }
                Unkept::ChangedMeanwhile => {
                    newer();
                    outbox.settle(Verdict::Committed);
                }
                Unkept::RolledBack => {
                    outbox.settle(Verdict::Failed);
                    newer();
                }
            }
            own.finish(entry("older"));
            let kept = store.get("k").expect("a value");
            assert_eq!(kept.text(), Some("newer"), "{unkept:?}");
        }
    }
}
