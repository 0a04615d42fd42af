//! The functions by which the file of ours runs the script, and writes what it prints.

use super::script::Script;
use crate::loaded_project::{Stop, settled};
use crate::repl::shown::shown;
use sampan_host::topics::Topics;
use sampan_host::{
    Args, Context, Error, ErrorKind, FunctionKind, LocalFuture, Module, Outbox, Param, Type, Value,
    Watch, param, row,
};
use sampan_project::Language;
use sampan_runtime::UnawaitedErrors;
use std::future::poll_fn;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::MissedTickBehavior;

pub(super) static MODULE: Module = Module {
    name: "exec",
    doc: "What sampan exec runs a script through.",
    functions: &[
        row!("script"() -> Type::Any, FunctionKind::Sync(script),
            "Returns the name of the script, its text and its arguments."),
        row!("run"(FUNCTION) -> Type::Nothing, FunctionKind::Async(run),
            "Runs a function, and tells the command how it ended."),
        row!("set_status"(param!("status": Type::Int, "The status, from 0 to 255.")) -> Type::Nothing,
            FunctionKind::Sync(set_status), "Sets the exit status of a script that ends without an error."),
        row!("exit"() -> Type::Nothing, FunctionKind::Async(exit),
            "Ends the script here: what it has written is committed, and the call does not return."),
        row!("write"(param!("text": Type::Bytes, "A line.")) -> Type::Nothing, FunctionKind::Sync(write),
            "Writes a line to standard output."),
        row!("shown"(param!("value"? Type::Shown, "Anything.")) -> Type::Text, FunctionKind::Sync(show),
            "Returns a value as text for people."),
    ],
    ..Module::EMPTY
};

/// The pause after which a script that waits is asked whether anything can end that.
const POLL_PAUSE: Duration = Duration::from_millis(100);

const FUNCTION: Param = param!("fn": Type::Function, "A function without parameters.");

/// The end of a run.
pub(super) enum Ended {
    /// The script has ended, and what it wrote is committed.
    Script(Result<(), Error>),
    /// The script has ended, and errors in its timers or promises were not awaited. The log has them.
    Unawaited,
    /// The project has ended before, or does not load.
    Project(Result<(), String>),
}

/// The connection between the command and the worker that runs its script. Clones are the same connection.
#[derive(Clone)]
pub(super) struct Link(Arc<LinkParts>);

struct LinkParts {
    script: Script,
    /// The arguments of the script.
    args: Vec<String>,
    ended: Mutex<Sender<Ended>>,
    stop: Stop,
    unawaited: UnawaitedErrors,
    /// The exit status of a script that ends without an error.
    status: AtomicU8,
}

impl Link {
    pub(super) fn new(script: Script, args: Vec<String>, ended: Sender<Ended>) -> Self {
        Self(Arc::new(LinkParts {
            script,
            args,
            ended: Mutex::new(ended),
            stop: Stop::default(),
            unawaited: UnawaitedErrors::default(),
            status: AtomicU8::default(),
        }))
    }

    /// Returns the exit status that the script has chosen; 0 unless it has.
    pub(super) fn status(&self) -> u8 {
        self.0.status.load(Relaxed)
    }

    /// Gives an isolate what it runs the script by.
    pub(super) fn put_into(&self, context: &Context) {
        context.put(self.clone());
        context.put(self.0.unawaited.clone());
    }

    /// Returns the handle that stops the script.
    pub(super) fn stop(&self) -> &Stop {
        &self.0.stop
    }

    fn tell(&self, ended: Ended) {
        let sender = self.0.ended.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a receiver the process is about to end.
        let _ = sender.send(ended);
    }
}

fn link(context: &Context) -> Result<Rc<Link>, Error> {
    let link = context.get::<Link>();
    link.ok_or_else(|| Error::new(ErrorKind::Internal, "there is no script"))
}

fn script(context: &Context, _: Args) -> Result<Value, Error> {
    let link = link(context)?;
    let LinkParts { script, args, .. } = &*link.0;
    let args = args.iter().cloned().map(Value::Text).collect();
    Ok(Value::Map(vec![
        ("name".to_owned(), Value::Text(script.name.clone())),
        ("text".to_owned(), Value::Text(script.text.clone())),
        ("args".to_owned(), Value::List(args)),
    ]))
}

fn run(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    let function = args.function(0);
    let (link, outbox) = (link(context), context.get::<Outbox>());
    // A message may come at any time, also from another process.
    let topics = context.get::<Rc<dyn Topics>>();
    let hears = topics.is_some_and(|topics| topics.has_receivers());
    let watch = context.get::<Arc<Watch>>().map(|watch| Arc::clone(&watch));
    Box::pin(async move {
        let link = link?;
        let missing = || Error::new(ErrorKind::Internal, "no function");
        let function = function.ok_or_else(missing)?;
        if let Some(watch) = watch {
            link.stop().watch(watch);
        }
        let run = polled_now_and_then(function.start_alone(Vec::new(), hears));
        let ran = link.stop().during(run).await;
        // What it wrote before an error is kept, as in a handler.
        let committed = settled(outbox.as_deref()).await;
        link.tell(match ran.and(committed) {
            Ok(()) if link.0.unawaited.has_any() => Ended::Unawaited,
            ended => Ended::Script(ended),
        });
        // Without an end the server does not go on to its requests.
        std::future::pending::<Result<Value, Error>>().await
    })
}

fn set_status(context: &Context, mut args: Args) -> Result<Value, Error> {
    let Value::Int(status) = args.take(0) else {
        return Ok(Value::Null);
    };
    // The files of ours have cut it.
    let status = u8::try_from(status).unwrap_or(u8::MAX);
    link(context)?.0.status.store(status, Relaxed);
    Ok(Value::Null)
}

fn exit(context: &Context, _: Args) -> LocalFuture<Result<Value, Error>> {
    let (link, outbox) = (link(context), context.get::<Outbox>());
    Box::pin(async move {
        let link = link?;
        let committed = settled(outbox.as_deref()).await;
        link.tell(Ended::Script(committed));
        // The project ends meanwhile.
        std::future::pending().await
    })
}

/// Polls a run also where nothing wakes it.
fn polled_now_and_then(mut run: LocalFuture<Result<(), Error>>) -> LocalFuture<Result<(), Error>> {
    let mut pauses = tokio::time::interval(POLL_PAUSE);
    pauses.set_missed_tick_behavior(MissedTickBehavior::Delay);
    Box::pin(poll_fn(move |cx| {
        // Until it is pending, so that the next one wakes.
        while pauses.poll_tick(cx).is_ready() {}
        run.as_mut().poll(cx)
    }))
}

fn write(_: &Context, mut args: Args) -> Result<Value, Error> {
    let mut line = match args.take(0) {
        Value::Text(text) => text.into_bytes(),
        Value::Bytes(bytes) => bytes,
        _ => Vec::new(),
    };
    line.push(b'\n');
    match io::stdout().lock().write_all(&line) {
        // That the reader has gone is no error: the script has more to do than to print.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::script(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(Value::Null),
    }
}

fn show(_: &Context, mut args: Args) -> Result<Value, Error> {
    // Lua prints what tostring gives.
    Ok(Value::Text(shown(&args.take(0), Language::Js)))
}
