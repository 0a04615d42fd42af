//! `app.on_start` and `app.on_stop`: functions that run before an isolate serves, and when it ends.

use sampan_host::{
    Args, Callback, Context, Error, ErrorKind, FunctionKind, Module, Param, Rerun, Type, Value,
    param, refusals, row,
};
use sampan_serve::Gate;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The functions that stand beside routes and middleware.
pub(crate) static MODULE: Module = Module {
    name: "app",
    doc: "Functions that run when the server starts and ends.",
    functions: &[
        row!("on_start"(
                FUNCTION,
                param!("options"? Type::Map, "`once = true`: once for the process, not in each isolate."),
            ) -> Type::Nothing, FunctionKind::Sync(on_start),
            "Runs the function before the isolate serves: in each worker, and again in an isolate that replaces \
             another. It may wait, for at most `handler_millis_max`, and write. If it fails, the server does not \
             start. Only while the project loads."),
        row!("on_stop"(FUNCTION) -> Type::Nothing, FunctionKind::Sync(on_stop),
            "Runs the function when the server shuts down or a reload has replaced the isolate: in each worker, after \
             its last answer, within `shutdown_millis_max`. Only while the project loads."),
    ],
    ..Module::EMPTY
};

const FUNCTION: Param = param!("fn": Type::Function, "A function without parameters.");

/// The functions that an isolate runs before it serves and when it ends.
#[derive(Default)]
pub(crate) struct Hooks {
    start: RefCell<Vec<StartHook>>,
    stop: RefCell<Vec<Callback>>,
    /// True if the project is loaded.
    is_closed: Cell<bool>,
    /// True once those that run before the isolate serves have run.
    has_started: Cell<bool>,
    /// Wakes those that wait for that.
    start_ended: Notify,
    /// True once those that run when the isolate ends have begun.
    is_ending: Cell<bool>,
}

struct StartHook {
    function: Callback,
    is_once: bool,
}

fn open_hooks(context: &Context) -> Result<Rc<Hooks>, Error> {
    let hooks = context
        .get::<Hooks>()
        .filter(|hooks| !hooks.is_closed.get());
    hooks.ok_or_else(|| refusals::too_late("functions that run at the start and at the end"))
}

fn function(args: &Args) -> Result<Callback, Error> {
    args.function(0)
        .ok_or_else(|| Error::new(ErrorKind::Internal, "no function"))
}

fn on_start(context: &Context, mut args: Args) -> Result<Value, Error> {
    if Rerun::is_on(context) {
        return Ok(Value::Null);
    }
    let hooks = open_hooks(context)?;
    let mut is_once = false;
    if let Value::Map(options) = args.take(1) {
        for (name, value) in options {
            match (name.as_str(), value) {
                ("once", Value::Bool(given)) => is_once = given,
                ("once", _) => return Err(Error::script("once must be true or false")),
                (name, _) => return Err(refusals::unknown_option(name, &["once"])),
            }
        }
    }
    let function = function(&args)?;
    hooks
        .start
        .borrow_mut()
        .push(StartHook { function, is_once });
    Ok(Value::Null)
}

fn on_stop(context: &Context, args: Args) -> Result<Value, Error> {
    if Rerun::is_on(context) {
        return Ok(Value::Null);
    }
    let hooks = open_hooks(context)?;
    hooks.stop.borrow_mut().push(function(&args)?);
    Ok(Value::Null)
}

impl Hooks {
    /// The project is loaded: nothing is added from now on.
    pub(crate) fn close(&self) {
        self.is_closed.set(true);
    }

    /// Runs what is to run before the isolate serves, one after the other. `once` tells whether the process has run its
    /// own.
    ///
    /// # Errors
    /// One of them failed, or took longer than `handler_millis_max`, or what it wrote could not be committed, or the
    /// server is told to end.
    pub(crate) async fn start(
        &self,
        gate: &Rc<Gate>,
        once: &AtomicBool,
        time_max: Duration,
        ending: &OnceLock<Instant>,
    ) -> Result<(), Error> {
        let hooks = self.start.take();
        if hooks.is_empty() {
            self.end_start();
            return Ok(());
        }
        let is_first = !once.swap(true, Ordering::SeqCst);
        for hook in hooks {
            if is_first || !hook.is_once {
                let limit = TimeLimit(time_max, "handler_millis_max");
                let run = run("app.on_start: ", gate, hook.function, limit);
                unless_ending(ending, run).await?;
            }
        }
        self.end_start();
        Ok(())
    }

    /// Takes note that those that run before the isolate serves have run.
    pub(crate) fn end_start(&self) {
        self.has_started.set(true);
        self.start_ended.notify_waiters();
    }

    /// Waits until those that run before the isolate serves have run.
    pub(crate) async fn wait_until_started(&self) {
        while !self.has_started.get() {
            self.start_ended.notified().await;
        }
    }

    /// Takes note that those that run when the isolate ends begin.
    pub(crate) fn begin_end(&self) {
        self.is_ending.set(true);
    }

    /// Reports whether those that run when the isolate ends have begun.
    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.get()
    }

    /// Runs what is to run when the isolate ends. Those that fail do not keep others from running; `report` hears of
    /// them.
    pub(crate) async fn stop(&self, gate: &Rc<Gate>, time_max: Duration, report: impl Fn(&Error)) {
        self.begin_end();
        for function in self.stop.take() {
            let limit = TimeLimit(time_max, "shutdown_millis_max");
            if let Err(error) = run("", gate, function, limit).await {
                report(&error);
            }
        }
    }
}

/// A time, and the setting that says it.
struct TimeLimit(Duration, &'static str);

/// Runs one function and waits until what it wrote is committed.
async fn run(
    prefix: &str,
    gate: &Rc<Gate>,
    function: Callback,
    TimeLimit(time_max, setting): TimeLimit,
) -> Result<(), Error> {
    let run = gate.background(function.start(Vec::new()));
    match tokio::time::timeout(time_max, run).await {
        Ok(ended) => ended?,
        Err(_) => {
            let millis = time_max.as_millis();
            let text = format!("{prefix}it took longer than {millis} ms ({setting})");
            return Err(Error::new(ErrorKind::Timeout, text));
        }
    }
    gate.settled().await
}

/// Gives the future up once the server is told to end.
async fn unless_ending(
    ending: &OnceLock<Instant>,
    future: impl Future<Output = Result<(), Error>>,
) -> Result<(), Error> {
    const LOOKS_EVERY: Duration = Duration::from_millis(50);
    let mut future = std::pin::pin!(future);
    while ending.get().is_none() {
        if let Ok(ended) = tokio::time::timeout(LOOKS_EVERY, &mut future).await {
            return ended;
        }
    }
    let text = "the server is told to end";
    Err(Error::new(ErrorKind::Unavailable, text))
}
