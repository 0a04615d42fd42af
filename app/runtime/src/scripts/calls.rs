//! The functions by which the file of ours calls those of the script.

use sampan_host::{
    Args, Callback, Context, Error, ErrorKind, FunctionKind, Module, Param, Rerun, Type, Value,
    param, row,
};
use sampan_project::Language;
use sampan_project::Project;
use sampan_project::files::own_calls::{OWN_PREFIX, without_own_calls};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

const LUA: &str = include_str!("call.lua");
const JS: &str = include_str!("call.js");

pub(super) static MODULE: Module = Module {
    name: "calls",
    doc: "What a program calls functions of a script through.",
    functions: &[
        row!("serve"(param!("call": Type::Function, "Calls a function by its name.")) -> Type::Nothing,
            FunctionKind::Sync(serve),
            "Keeps the function that calls others."),
        row!("returned"(NUMBER, ANY) -> Type::Nothing, FunctionKind::Sync(returned),
            "Says what a function returned."),
        row!("missing"(NUMBER, ANY) -> Type::Nothing, FunctionKind::Sync(missing),
            "Says that there is no such function."),
    ],
    ..Module::EMPTY
};

const NUMBER: Param = param!("number": Type::Int, "The number of the call.");

const ANY: Param = param!("value"? Type::Any, "The value.");

/// The calls of one isolate.
#[derive(Default)]
pub(crate) struct CallLink {
    call: RefCell<Option<Callback>>,
    next: Cell<i64>,
    returned: RefCell<HashMap<i64, Result<Value, Error>>>,
}

impl CallLink {
    /// Calls a function by its name. The future is a run of its own, and is polled as one.
    pub(super) async fn call(
        &self,
        function: String,
        arguments: Vec<Value>,
    ) -> Result<Value, Error> {
        let gone = || Error::new(ErrorKind::Internal, "nothing of the script can be called");
        let call = self.call.borrow().clone().ok_or_else(gone)?;
        let number = self.next.get();
        self.next.set(number + 1);
        let (count, list) = (arguments.len() as i64, Value::List(arguments));
        let name = function.clone();
        let given = vec![Value::Int(number), function.into(), list, Value::Int(count)];
        let _forgotten = Forgotten(self, number);
        let called = call.start_apart(given).await;
        called.map_err(|error| as_of(error, &name))?;
        let returned = self.returned.borrow_mut().remove(&number);
        returned.unwrap_or(Ok(Value::Null))
    }
}

/// Forgets a result that is not taken.
struct Forgotten<'a>(&'a CallLink, i64);

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        self.0.returned.borrow_mut().remove(&self.1);
    }
}

/// An error as if the script's function had been called directly.
fn as_of(error: Error, function: &str) -> Error {
    /// The prefix of the error about a value that cannot be handed over.
    const RETURNED: &str = "calls.returned: argument 2 (value): ";
    if let Some(why) = error.message().strip_prefix(RETURNED) {
        return Error::new(error.kind(), format!("what {function} returned: {why}"));
    }
    without_own_calls(error)
}

fn link(context: &Context) -> Result<Rc<CallLink>, Error> {
    let link = context.get::<CallLink>();
    link.ok_or_else(|| Error::new(ErrorKind::Internal, "no program calls this script"))
}

fn serve(context: &Context, args: Args) -> Result<Value, Error> {
    if Rerun::is_on(context) {
        return Ok(Value::Null);
    }
    let link = link(context)?;
    let before = link.call.replace(args.function(0));
    drop(before);
    Ok(Value::Null)
}

fn returned(context: &Context, mut args: Args) -> Result<Value, Error> {
    let value = args.take(1);
    settle(context, args, Ok(value))
}

fn missing(context: &Context, mut args: Args) -> Result<Value, Error> {
    let name = match args.take(1) {
        Value::Text(name) => name,
        _ => String::new(),
    };
    let fault = Error::script(format!("the script has no function {name:?}"));
    settle(context, args, Err(fault.with_code("missing")))
}

fn settle(context: &Context, mut args: Args, value: Result<Value, Error>) -> Result<Value, Error> {
    if let Value::Int(number) = args.take(0) {
        link(context)?.returned.borrow_mut().insert(number, value);
    }
    Ok(Value::Null)
}

/// The name and the text of the file that runs a script's own.
///
/// # Errors
/// The script's name cannot be required.
pub(super) fn entry_around(project: &Project) -> Result<(String, String), String> {
    let entry = project.entry();
    match project.language() {
        Some(Language::Lua) => {
            let module = entry.trim_end_matches(".lua");
            if module.contains('.') {
                return Err(format!(
                    "{entry}: the name of a Lua script has no '.' but that of .lua"
                ));
            }
            let run = format!("local exports = require {module:?} ");
            Ok((format!("{OWN_PREFIX}lua"), format!("{run}{LUA}")))
        }
        Some(Language::Js) => {
            let path = format!("./{entry}");
            let run = format!("import * as exports from {path:?}; ");
            Ok((format!("{OWN_PREFIX}js"), format!("{run}{JS}")))
        }
        None => Err(format!("{entry}: in no language that is known")),
    }
}
