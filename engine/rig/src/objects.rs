//! A table with native objects of both lifetimes, and a bracket that waits.

use crate::modules::Until;
use crate::notes::Notes;
use sampan_host::{
    Args, Class, Context, Error, FunctionKind, Lifetime, LocalFuture, Module, Param, Type, Value,
    param, row,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The number of values behind objects.
#[derive(Default)]
pub struct LiveValues(pub Cell<usize>);

/// The data of an object: a number.
struct Counter {
    number: Cell<i64>,
    live: Rc<LiveValues>,
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.live.0.set(self.live.0.get() - 1);
    }
}

const NUMBER: Param = param!("by": Type::Int, "");

/// An object that is there until the script has forgotten it.
static COUNTER: Class = Class {
    name: "Counter",
    variable: "counter",
    doc: "",
    methods: &[
        row!("add"(NUMBER) -> Type::Int, FunctionKind::Sync(add), ""),
        row!("wait_and_add"(NUMBER) -> Type::Int, FunctionKind::Async(wait_and_add), ""),
        row!("close"() -> Type::Nothing, FunctionKind::Sync(close), ""),
        row!("within"() -> Type::Any,
            FunctionKind::Bracket {
                enter: |context, args| Ok(Value::Object(args.object::<Counter>(context)?.0)),
                later: None,
                leave: |context, _, ok| {
                    Notes::add(context, format!("left {ok}"));
                    Ok(())
                },
            },
            ""),
    ],
    lifetime: Lifetime::Collector,
    is_keyed: false,
};

/// One that goes with its request.
static TICKET: Class = Class {
    name: "Ticket",
    variable: "ticket",
    doc: "",
    methods: &[row!("add"(NUMBER) -> Type::Int, FunctionKind::Sync(add), "")],
    lifetime: Lifetime::Request,
    is_keyed: false,
};

const KEY: Param = param!("key": Type::Text, "");

const VALUE: Param = param!("value"? Type::Any, "");

/// The data of a box: what the script put there.
type Kept = RefCell<Vec<(String, Value)>>;

/// An object with keys of the script's own.
static BOX: Class = Class {
    name: "Box",
    variable: "box",
    doc: "",
    methods: &[
        row!("get"(KEY) -> Type::Any, FunctionKind::Sync(get), ""),
        row!("set"(KEY, VALUE) -> Type::Nothing, FunctionKind::Sync(set), ""),
        row!("keys"() -> Type::List, FunctionKind::Sync(keys), ""),
        row!("clear"() -> Type::Nothing, FunctionKind::Sync(clear), ""),
    ],
    lifetime: Lifetime::Collector,
    is_keyed: true,
};

fn get(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (_, kept) = args.object::<Kept>(context)?;
    let (key, kept) = (args.text(0), kept.borrow());
    let found = kept.iter().find(|(other, _)| *other == key);
    Ok(found.map_or(Value::Null, |(_, value)| value.clone()))
}

fn set(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (object, kept) = args.object::<Kept>(context)?;
    let (key, value) = (args.text(0), args.take(1));
    object.class().check_key(&key)?;
    kept.borrow_mut().retain(|(other, _)| *other != key);
    if value != Value::Null {
        kept.borrow_mut().push((key, value));
    }
    Ok(Value::Null)
}

fn keys(context: &Context, args: Args) -> Result<Value, Error> {
    let (_, kept) = args.object::<Kept>(context)?;
    let keys = kept
        .borrow()
        .iter()
        .map(|(key, _)| key.clone().into())
        .collect();
    Ok(Value::List(keys))
}

fn clear(context: &Context, args: Args) -> Result<Value, Error> {
    args.object::<Kept>(context)?.1.borrow_mut().clear();
    Ok(Value::Null)
}

fn make(context: &Context, class: &'static Class) -> Value {
    let live = context.get::<LiveValues>().unwrap_or_default();
    live.0.set(live.0.get() + 1);
    let number = Cell::new(0);
    Value::Object(context.objects().add(class, Counter { number, live }))
}

fn add(context: &Context, args: Args) -> Result<Value, Error> {
    let (_, counter) = args.object::<Counter>(context)?;
    let by = args.number(0).unwrap_or_default() as i64;
    counter.number.set(counter.number.get() + by);
    Ok(Value::Int(counter.number.get()))
}

fn wait_and_add(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    let found = args.object::<Counter>(context);
    Box::pin(async move {
        let (_, counter) = found?;
        Until(Instant::now() + Duration::from_millis(1)).await;
        let by = args.number(0).unwrap_or_default() as i64;
        counter.number.set(counter.number.get() + by);
        Ok(Value::Int(counter.number.get()))
    })
}

fn close(context: &Context, args: Args) -> Result<Value, Error> {
    context.objects().remove(args.object::<Counter>(context)?.0);
    Ok(Value::Null)
}

/// The beginning of a bracket that waits, with a ticket as what its function is given.
fn enter(context: &Context, _: Args) -> LocalFuture<Result<Value, Error>> {
    Notes::add(context, "enter".to_owned());
    let ticket = make(context, &TICKET);
    Box::pin(async move {
        Until(Instant::now() + Duration::from_millis(1)).await;
        Ok(ticket)
    })
}

fn leave(context: &Context, token: Value, ok: bool) -> LocalFuture<Result<(), Error>> {
    Notes::add(context, format!("leave {ok}"));
    let objects = context.objects().clone();
    Box::pin(async move {
        Until(Instant::now() + Duration::from_millis(1)).await;
        match token {
            Value::Object(ticket) if objects.contains(ticket) => objects.remove(ticket),
            _ => return Err(Error::script("objects.around: no ticket")),
        }
        Ok(())
    })
}

/// Native objects.
pub static OBJECTS: Module = Module {
    name: "objects",
    doc: "",
    functions: &[
        row!("counter"() -> Type::Object(&COUNTER), FunctionKind::Sync(|context, _| Ok(make(context, &COUNTER))), ""),
        row!("box"() -> Type::Object(&BOX),
            FunctionKind::Sync(|context, _| {
                Ok(Value::Object(context.objects().add(&BOX, Kept::default())))
            }),
            ""),
        row!("ticket"() -> Type::Object(&TICKET), FunctionKind::Sync(|context, _| Ok(make(context, &TICKET))), ""),
        row!("read"(param!("counter": Type::Object(&COUNTER), "")) -> Type::Int,
            FunctionKind::Sync(|context, mut args| {
                let Value::Object(object) = args.take(0) else {
                    return Ok(Value::Null);
                };
                let counter = context.objects().get::<Counter>(object);
                let counter = counter.ok_or_else(|| object.class().is_over())?;
                Ok(Value::Int(counter.number.get()))
            }),
            ""),
        row!("echo"(param!("value"? Type::Any, "")) -> Type::Any,
            FunctionKind::Sync(|_, mut args| Ok(args.take(0))),
            ""),
        row!("around"() -> Type::Any,
            FunctionKind::AsyncBracket {
                gives: Type::Object(&TICKET),
                enter,
                leave,
            },
            ""),
    ],
    classes: &[&COUNTER, &TICKET, &BOX],
    ..Module::EMPTY
};
