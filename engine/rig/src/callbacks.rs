//! A table whose rows take functions of the script.

use crate::modules::ANY;
use sampan_host::{
    Args, Callback, Context, Error, FunctionKind, LocalFuture, Module, Param, Type, Value, param,
    row,
};
use std::cell::RefCell;
use std::rc::Rc;

const FUNCTION: Param = param!("fn": Type::Function, "");

/// The function that `calls.keep` was given.
#[derive(Default)]
pub struct Kept(pub RefCell<Option<Callback>>);

fn given(args: &Args) -> Result<Callback, Error> {
    args.function(0)
        .ok_or_else(|| Error::script("calls: no function"))
}

fn kept(context: &Context) -> Result<Callback, Error> {
    let kept: Rc<Kept> = context.get().unwrap_or_default();
    let function = kept.0.borrow().clone();
    function.ok_or_else(|| Error::script("calls: nothing is kept"))
}

fn now(_: &Context, mut args: Args) -> Result<Value, Error> {
    given(&args)?.call(&[args.take(1)])
}

fn keep(context: &Context, args: Args) -> Result<Value, Error> {
    let kept: Rc<Kept> = context.get().unwrap_or_default();
    *kept.0.borrow_mut() = Some(given(&args)?);
    Ok(Value::Null)
}

fn call_kept(context: &Context, mut args: Args) -> Result<Value, Error> {
    kept(context)?.call(&[args.take(0)])
}

fn run(_: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let (function, value) = (given(&args), args.take(1));
    Box::pin(async move { function?.start(vec![value]).await.map(|()| Value::Null) })
}

/// Calls it while no script runs, in the name of the request that waits for this.
fn later(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let (function, value) = (given(&args), args.take(1));
    let asleep = crate::modules::short_sleep(context);
    Box::pin(async move {
        asleep.await;
        function?.call(&[value])
    })
}

/// Calls functions: at once, later in the same or in another request, and in runs of their own.
pub static CALLS: Module = Module {
    name: "calls",
    doc: "",
    functions: &[
        row!("now"(FUNCTION, ANY) -> Type::Any, FunctionKind::Sync(now), ""),
        row!("keep"(FUNCTION) -> Type::Nothing, FunctionKind::Sync(keep), ""),
        row!("kept"(ANY) -> Type::Any, FunctionKind::Sync(call_kept), ""),
        row!("run"(FUNCTION, ANY) -> Type::Nothing, FunctionKind::Async(run), ""),
        row!("later"(FUNCTION, ANY) -> Type::Any, FunctionKind::Async(later), ""),
    ],
    ..Module::EMPTY
};
