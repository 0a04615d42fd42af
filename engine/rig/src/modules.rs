//! Tables of functions, one row of each kind, for engines to bind.

use crate::notes::{Notes, Sleeps};
use sampan_host::{
    Args, Cell, Context, Error, ErrorKind, FunctionKind, LocalFuture, Module, Param, Rows, Type,
    Value, answer, param, row,
};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};
use std::task::{self, Poll};
use std::time::{Duration, Instant};

/// Ready at a time. It wakes no task, so it must be polled again and again.
pub(crate) struct Until(pub(crate) Instant);

impl Future for Until {
    type Output = ();
    fn poll(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<()> {
        if Instant::now() >= self.0 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

struct Alive(Rc<Sleeps>);

impl Alive {
    fn new(sleeps: Rc<Sleeps>) -> Self {
        sleeps.0.set(sleeps.0.get() + 1);
        Self(sleeps)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.0.set(self.0.0.get() - 1);
    }
}

/// Sleeps, counted among `sleeps` until it is over or dropped.
pub(crate) fn sleeping(sleeps: &Rc<Sleeps>, time: Duration) -> LocalFuture<()> {
    let (until, alive) = (Until(Instant::now() + time), Alive::new(sleeps.clone()));
    Box::pin(async move {
        until.await;
        drop(alive);
    })
}

fn sleep(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    let time = Duration::from_secs_f64(args.number(0).unwrap_or(0.0));
    let sleeps = context.get::<Sleeps>().unwrap_or_default();
    let asleep = sleeping(&sleeps, time);
    Box::pin(async move {
        asleep.await;
        Ok(Value::Null)
    })
}

/// A sleep of a millisecond.
pub(crate) fn short_sleep(context: &Context) -> LocalFuture<()> {
    let sleeps = context.get::<Sleeps>().unwrap_or_default();
    sleeping(&sleeps, Duration::from_millis(1))
}

fn fails(_: &Context, _: Args) -> LocalFuture<Result<Value, Error>> {
    Box::pin(async { Err(Error::new(ErrorKind::Status(418), "short and stout")) })
}

/// Returns the length of a text a little later.
fn later(_: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let text = args.text(0);
    Box::pin(async move {
        Until(Instant::now() + Duration::from_millis(1)).await;
        Ok(Value::Int(text.len() as i64))
    })
}

fn record(_: &Context, _: Args) -> LocalFuture<Result<Value, Error>> {
    Box::pin(async { Ok(Value::Null) })
}

fn log(context: &Context, mut args: Args) -> Result<Value, Error> {
    let text = match args.take(0) {
        Value::Text(text) => text,
        shown => match shown.get("error") {
            Some(Value::Text(text)) => text.clone(),
            _ => format!("{shown:?}"),
        },
    };
    Notes::add(
        context,
        match args.take(1) {
            Value::Null => text,
            fields => format!("{text} {fields:?}"),
        },
    );
    Ok(Value::Null)
}

fn echo(_: &Context, mut args: Args) -> Result<Value, Error> {
    Ok(args.take(0))
}

fn rows(_: &Context, _: Args) -> Result<Value, Error> {
    let cells = [
        Cell::Int(1),
        Cell::Text("ada"),
        Cell::Int(i64::MAX),
        Cell::Null,
    ];
    Ok(Value::Rows(Rows::of(&["id", "name"], &cells)))
}

fn result(_: &Context, _: Args) -> Result<Value, Error> {
    Ok(Value::Map(vec![("last_id".into(), Value::Int(7))]))
}

fn shape(_: &Context, mut args: Args) -> Result<Value, Error> {
    Ok(Value::Text(format!("{:?}", args.take(0))))
}

fn enter(context: &Context, mut args: Args) -> Result<Value, Error> {
    let name = args.text(0);
    Notes::add(context, format!("enter {name}"));
    Ok(Value::Text(name))
}

fn leave(context: &Context, token: Value, ok: bool) -> Result<(), Error> {
    Notes::add(context, format!("leave {token:?} {ok}"));
    if ok && token == Value::Text("stuck".into()) {
        return Err(Error::script("probe.within: stuck"));
    }
    Ok(())
}

const SHOWN: Param = param!("value"? Type::Shown, "");
pub(crate) const ANY: Param = param!("value"? Type::Any, "");
const NUMBER: Param = param!("seconds": Type::Number, "");
pub(crate) const TEXT: Param = param!("text": Type::Text, "");

/// A sleep that needs no runtime.
pub static TIME: Module = Module {
    name: "time",
    doc: "",
    functions: &[row!("sleep"(NUMBER) -> Type::Nothing, FunctionKind::Async(sleep), "")],
    ..Module::EMPTY
};
/// Writes to the notes.
pub static LOG: Module = Module {
    name: "log",
    doc: "",
    functions: &[
        row!("debug"(SHOWN, SHOWN) -> Type::Nothing, FunctionKind::Sync(log), ""),
        row!("info"(SHOWN, SHOWN) -> Type::Nothing, FunctionKind::Sync(log), ""),
        row!("warn"(SHOWN, SHOWN) -> Type::Nothing, FunctionKind::Sync(log), ""),
        row!("error"(SHOWN, SHOWN) -> Type::Nothing, FunctionKind::Sync(log), ""),
    ],
    request_fields: &[
        row!("id"() -> Type::Text, FunctionKind::Sync(|_, args| Ok(Value::Text(args.request().id().into_owned()))), ""),
    ],
    ..Module::EMPTY
};
/// A row of each kind.
pub static PROBE: Module = Module {
    name: "probe",
    doc: "",
    functions: &[
        row!("echo"(ANY) -> Type::Any, FunctionKind::Sync(echo), ""),
        row!("rows"() -> Type::Any, FunctionKind::Sync(rows), ""),
        row!("page"() -> Type::Answer, FunctionKind::Sync(page), ""),
        row!("page_of"(TEXT, TEXT, TEXT, TEXT) -> Type::Answer, FunctionKind::Sync(page), ""),
        row!("run_it"() -> Type::Map, FunctionKind::Sync(result), ""),
        row!("shape"(ANY) -> Type::Text, FunctionKind::Sync(shape), ""),
        row!("fails"() -> Type::Any, FunctionKind::Async(fails), ""),
        row!("later"(TEXT) -> Type::Int, FunctionKind::Async(later), ""),
        row!("record"() -> Type::Record(&[("status", Type::Int)]),
            FunctionKind::Async(record), ""),
        row!("number"(NUMBER) -> Type::Any, FunctionKind::Sync(echo), ""),
        row!("panics"() -> Type::Nothing, FunctionKind::Sync(|_, _| panic!("on purpose")), ""),
        row!("within"(TEXT) -> Type::Any,
            FunctionKind::Bracket {
                enter,
                later: None,
                leave,
            },
            ""),
    ],
    ..Module::EMPTY
};

/// The columns of all results of one statement, which it shares.
static PEOPLE: LazyLock<Arc<[String]>> =
    LazyLock::new(|| ["id", "name", "note"].map(str::to_owned).into());

fn people(cells: &[Cell<'_>]) -> Rows {
    let mut rows = Rows::new(PEOPLE.clone());
    for cell in cells {
        rows.push(*cell).expect("a small batch");
    }
    rows
}

const ADA: [Cell<'_>; 3] = [Cell::Int(1), Cell::Text("Ada"), Cell::Null];
const BOB: [Cell<'_>; 3] = [Cell::Int(2), Cell::Text("Bób €"), Cell::Text("x")];

fn everyone(_: &Context, _: Args) -> Result<Value, Error> {
    Ok(Value::Rows(people(&[ADA, BOB].concat())))
}

fn person(_: &Context, mut args: Args) -> Result<Value, Error> {
    let found = args.take(0) != Value::Bool(false);
    Ok(Value::Row(people(if found { &ADA } else { &[] })))
}

/// Returns a row with as many columns as it is told; if the number is even, each name stands there twice.
fn wide(_: &Context, args: Args) -> Result<Value, Error> {
    let count = args.number(0).unwrap_or(1.0) as usize;
    let name = |at: usize| format!("c{}", if count.is_multiple_of(2) { at / 2 } else { at });
    let mut rows = Rows::new((0..count).map(name).collect());
    for at in 0..count {
        rows.push(Cell::Int(at as i64)).expect("a small batch");
    }
    Ok(Value::Rows(rows))
}

fn odd_cells(_: &Context, _: Args) -> Result<Value, Error> {
    let cells = [
        Cell::Bytes(b"\xff\0"),
        Cell::Float(0.5),
        Cell::Int(3),
        Cell::Text(""),
        Cell::Int(-9_007_199_254_740_993),
    ];
    let names = ["bytes", "__proto__", "toString", "7", "big"];
    Ok(Value::Rows(Rows::of(&names, &cells)))
}

fn dates(_: &Context, _: Args) -> Result<Value, Error> {
    let cells = [0, -1, 1_769_862_896_789, i64::MAX].map(Cell::Date);
    Ok(Value::Row(Rows::of(
        &["zero", "before", "at", "far"],
        &cells,
    )))
}

/// Takes too long at once if it is told so; otherwise, and later, it gives its argument.
pub(crate) fn slow_query(_: &Context, mut args: Args) -> Result<Value, Error> {
    if args.take(1) == Value::Bool(true) {
        return Err(Error::new(ErrorKind::TooLong, "takes too long").with_code("timeout"));
    }
    Ok(args.take(0))
}

pub(crate) fn slow_query_later(_: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let value = args.take(0);
    Box::pin(async move {
        Until(Instant::now() + Duration::from_millis(1)).await;
        if value == Value::from("fails") {
            return Err(Error::new(ErrorKind::Unavailable, "no database"));
        }
        Ok(value)
    })
}

fn busy(_: &Context, _: Args) -> LocalFuture<Result<Value, Error>> {
    Box::pin(async { Err(Error::new(ErrorKind::Unavailable, "locked")) })
}

fn odd_names(_: &Context, _: Args) -> Result<Value, Error> {
    let cells = [Cell::Int(1), Cell::Bytes(b"\xff"), Cell::Float(0.5)];
    Ok(Value::Rows(Rows::of(
        &["a\n\"]\\", "end", "count(*)"],
        &cells,
    )))
}

/// An answer of all texts that it is given.
pub(crate) fn page(_: &Context, mut args: Args) -> Result<Value, Error> {
    let texts = [0, 1, 2, 3].map(|index| args.text(index));
    Ok(answer::rendered(texts.concat().into_bytes(), answer::TEXT))
}

fn tag(_: &Context, mut args: Args) -> Result<Value, Error> {
    Ok(Value::Text(format!(
        "{:?} {:?}",
        args.take(0),
        args.take(1)
    )))
}

const LIST: Param = param!("values": Type::List, "");

/// Rows like those of a database.
pub static DATA: Module = Module {
    name: "data",
    doc: "",
    functions: &[
        row!("people"() -> Type::List, FunctionKind::Sync(everyone), ""),
        row!("nobody"() -> Type::List, FunctionKind::Sync(|_, _| Ok(Value::Rows(people(&[])))), ""),
        row!("person"(ANY) -> Type::Any, FunctionKind::Sync(person), ""),
        row!("wide"(NUMBER) -> Type::List, FunctionKind::Sync(wide), ""),
        row!("odd_cells"() -> Type::List, FunctionKind::Sync(odd_cells), ""),
        row!("dates"() -> Type::Any, FunctionKind::Sync(dates), ""),
        row!("odd_names"() -> Type::List, FunctionKind::Sync(odd_names), ""),
        row!("slow_query"(ANY, ANY) -> Type::Any,
            FunctionKind::Prompt {
                body: slow_query,
                later: slow_query_later,
                awaited: Some("slow_query_async"),
            },
            ""),
        row!("busy"() -> Type::Any, FunctionKind::Sync(|_, _| Err(Error::new(ErrorKind::Unavailable, "locked"))), ""),
        row!("batch"() -> Type::Any,
            FunctionKind::Bracket {
                enter: |context, _| {
                    Notes::add(context, "enter".to_owned());
                    let notes = context.get::<Notes>().map(|notes| notes.0.borrow().len());
                    Ok(Value::Int(notes.unwrap_or_default() as i64))
                },
                later: None,
                leave,
            },
            ""),
        row!("log"() -> Type::Text,
            FunctionKind::Sync(|context, _| {
                let notes = context.get::<Notes>();
                Ok(Value::Text(notes.map_or_else(String::new, |notes| {
                    notes.0.borrow().join(", ")
                })))
            }),
            ""),
        row!("slow_query_async"() -> Type::List, FunctionKind::Async(busy), ""),
        row!("sql"(LIST, LIST) -> Type::List, FunctionKind::Tag(tag), ""),
    ],
    ..Module::EMPTY
};
