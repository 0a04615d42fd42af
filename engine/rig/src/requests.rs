//! A table of what belongs to a request: fields, methods of each kind, a store, and header fields of the answer.

use crate::modules::{ANY, TEXT, page, slow_query, slow_query_later};
use crate::notes::Notes;
use sampan_host::{Args, Context, Error, FunctionKind, LocalFuture, Module, Type, Value, row};
use std::cell::RefCell;

/// The text that `remember` keeps for a request.
struct Remembered(RefCell<String>);

fn visitor(context: &Context, args: Args) -> Result<Value, Error> {
    let path = args.request().path().to_owned();
    Notes::add(context, format!("visitor of {path}"));
    Ok(Value::Text(path))
}

fn remember(_: &Context, mut args: Args) -> Result<Value, Error> {
    let text = args.text(0);
    let request = args.request();
    match request.store().get::<Remembered>() {
        Some(kept) => drop(kept.0.replace(text)),
        None => drop(request.store().put(Remembered(RefCell::new(text)))),
    }
    Ok(Value::Null)
}

fn recalled(_: &Context, args: Args) -> Result<Value, Error> {
    let kept = args.request().store().get::<Remembered>();
    Ok(kept.map_or(Value::Null, |kept| Value::Text(kept.0.borrow().clone())))
}

fn recalled_later(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    let asleep = crate::modules::short_sleep(context);
    Box::pin(async move {
        asleep.await;
        recalled(&Context::default(), args)
    })
}

fn mark(_: &Context, mut args: Args) -> Result<Value, Error> {
    let (name, value) = (args.text(0), args.text(1));
    args.request().add_header(&name, value.as_bytes())?;
    Ok(Value::Null)
}

/// Fields and methods of requests.
pub static VISITOR: Module = Module {
    name: "visitor",
    request_fields: &[
        row!("visited_path"() -> Type::Text, FunctionKind::Sync(visitor), ""),
        row!("broken_field"() -> Type::Text, FunctionKind::Sync(|_, _| Err(Error::script("no such visitor"))), ""),
        row!("visit_result"() -> Type::Map,
            FunctionKind::Sync(|_, _| Ok(Value::Map(vec![("last_id".into(), Value::Int(7))]))),
            ""),
    ],
    request_methods: &[
        row!("remember"(TEXT) -> Type::Nothing, FunctionKind::Sync(remember), ""),
        row!("recalled"() -> Type::TextOrNothing, FunctionKind::Sync(recalled), ""),
        row!("recalled_later"() -> Type::TextOrNothing, FunctionKind::Async(recalled_later), ""),
        row!("add_field"(TEXT, TEXT) -> Type::Nothing, FunctionKind::Sync(mark), ""),
        row!("visit_page"() -> Type::Answer, FunctionKind::Sync(page), ""),
        row!("visit_page_of"(TEXT, TEXT, TEXT, TEXT) -> Type::Answer, FunctionKind::Sync(page), ""),
        row!("look_up"(ANY, ANY) -> Type::Any,
            FunctionKind::Prompt {
                body: slow_query,
                later: slow_query_later,
                awaited: Some("look_up_async"),
            },
            ""),
    ],
    ..Module::EMPTY
};
