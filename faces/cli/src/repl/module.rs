//! The functions by which the file of ours talks to a person.

use super::link::{Ask, Link, Reply};
use crate::loaded_project::settled;
use sampan_host::{
    Args, Callback, Context, Error, ErrorKind, FunctionKind, LocalFuture, Module, Outbox, Param,
    Type, Value, Watch, param, row,
};
use std::rc::Rc;
use std::sync::Arc;

pub(super) static MODULE: Module = Module {
    name: "repl",
    doc: "What sampan repl talks through.",
    functions: &[
        row!("serve"(function("run"), function("answer")) -> Type::Nothing, FunctionKind::Async(serve),
            "Answers who asks, until nobody does any more."),
        row!("show"(SHOWN) -> Type::Nothing, FunctionKind::Sync(show),
            "Shows a value."),
        row!("print"(SHOWN) -> Type::Nothing, FunctionKind::Sync(print),
            "Prints a text, or a list of values on a line."),
    ],
    ..Module::EMPTY
};

const SHOWN: Param = param!("value"? Type::Shown, "Anything.");

const fn function(name: &'static str) -> Param {
    Param {
        name,
        ty: Type::Function,
        optional: false,
        doc: "A function of the script.",
    }
}

fn link(context: &Context) -> Result<Rc<Link>, Error> {
    let link = context.get::<Link>();
    link.ok_or_else(|| Error::new(ErrorKind::Internal, "nobody asks"))
}

fn show(context: &Context, mut args: Args) -> Result<Value, Error> {
    link(context)?.reply(Reply::Shown(args.take(0)));
    Ok(Value::Null)
}

fn print(context: &Context, mut args: Args) -> Result<Value, Error> {
    link(context)?.reply(Reply::Printed(args.take(0)));
    Ok(Value::Null)
}

/// The functions of the script.
struct Scripts {
    run: Callback,
    /// Called with what is asked and a text.
    answer: Callback,
}

fn serve(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    let missing = || Error::new(ErrorKind::Internal, "no function");
    let given = |at| args.function(at).ok_or_else(missing);
    let scripts = given(0).and_then(|run| {
        let answer = given(1)?;
        Ok(Scripts { run, answer })
    });
    let (link, outbox) = (link(context), context.get::<Outbox>());
    let watch = context.get::<Arc<Watch>>().map(|watch| Arc::clone(&watch));
    Box::pin(async move {
        let (scripts, link) = (scripts?, link?);
        let mut asked = watch
            .and_then(|watch| link.serve(watch))
            .ok_or_else(missing)?;
        link.reply(Reply::Ready);
        while let Some(ask) = asked.recv().await {
            let reply = match ask {
                Ask::Run(text) => {
                    let ran = run(&scripts, &link, text).await;
                    Reply::Ran(ran.and(settled(outbox.as_deref()).await))
                }
                Ask::Names(path) => Reply::Names(names(&scripts, path)),
                Ask::IsOpen(text) => {
                    let is_open = answer(&scripts, "is_open", text);
                    Reply::IsOpen(matches!(is_open, Ok(Value::Bool(true))))
                }
            };
            link.reply(reply);
        }
        Ok(Value::Null)
    })
}

/// Runs a text, unless who asked gives it up.
async fn run(scripts: &Scripts, link: &Link, text: String) -> Result<(), Error> {
    let run = Rc::clone(&scripts.run).start(vec![Value::Text(text)]);
    link.stop().during(run).await
}

fn answer(scripts: &Scripts, asked: &str, text: String) -> Result<Value, Error> {
    let asked = Value::Text(asked.to_owned());
    scripts.answer.call(&[asked, Value::Text(text)])
}

fn names(scripts: &Scripts, path: String) -> Vec<String> {
    let Ok(Value::List(found)) = answer(scripts, "names", path) else {
        return Vec::new();
    };
    let names = found.into_iter().filter_map(|name| match name {
        Value::Text(name) => Some(name),
        _ => None,
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    names
}
