//! Functions of the script that capabilities keep: a slot in the isolate each.

use crate::promises::suspend::{WatchedPromise, ended};
use crate::promises::tasks::Tasks;
use crate::promises::thenable::promise_of;
use crate::request::call::promise_result;
use crate::vm::error;
use crate::vm::isolate::Core;
use crate::vm::sys::{Cx, Failure, RawValue, Thrown, Val, is_false, is_string, whole_number};
use sampan_host::value::{isolate_is_gone, returned_false};
use sampan_host::{Callback, Error, HandlerId, LocalFuture, Place, ScriptFunction, Value};
use sampan_js_contract::BoundRow;
use sampan_js_contract::{call_at_once, call_kept};
use std::any::Any;
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll};

/// Keeps a function.
pub(crate) fn keep(cx: Cx<'_>, function: RawValue<'_>, row: BoundRow) -> Callback {
    let core = cx.core();
    let key = core.callbacks.borrow_mut().insert(cx.dup(function));
    Rc::new(JsFunction {
        core: core.me(),
        key,
        row,
    })
}

/// A function in its slot.
struct JsFunction {
    core: Weak<Core>,
    key: usize,
    /// The row that it was given to.
    row: BoundRow,
}

impl Drop for JsFunction {
    fn drop(&mut self) {
        if let Some(core) = self.core.upgrade() {
            // The function is dropped after the slab is free again: its finalizers may come back here.
            let function = core.callbacks.borrow_mut().try_remove(self.key);
            drop(function);
        }
    }
}

/// The function of the script that a callback stands for.
pub(crate) fn function_of(cx: Cx<'_>, callback: &Callback) -> Result<Val, Error> {
    let function = callback.as_any().downcast_ref::<JsFunction>();
    function.ok_or_else(isolate_is_gone)?.function(cx.core())
}

impl JsFunction {
    fn function(&self, core: &Core) -> Result<Val, Error> {
        let function = core.callbacks.borrow().get(self.key).cloned();
        function.ok_or_else(isolate_is_gone)
    }

    /// Calls the function, where it must not wait; the caller has entered the isolate.
    fn call_at_once(&self, cx: Cx<'_>, args: &[Value]) -> Result<Value, Error> {
        let returned = call_at_once(cx, &self.function(cx.core())?, &self.row, args);
        returned.map_err(|failure| described(cx, failure))
    }
}

/// A failure as an error.
pub(crate) fn described(cx: Cx<'_>, failure: Failure) -> Error {
    match failure {
        Failure::Thrown => error::take(cx),
        Failure::Error(error) => error,
    }
}

impl ScriptFunction for JsFunction {
    fn call(&self, args: &[Value]) -> Result<Value, Error> {
        let core = self.core.upgrade().ok_or_else(isolate_is_gone)?;
        if core.is_entered() {
            core.innermost_reader.own_all();
            return self.call_at_once(core.cx(), args);
        }
        let polled = core.polled.borrow().clone();
        let is_own = polled.is_none();
        let ran = core.enter(HandlerId::MAX, polled, |cx| self.call_at_once(cx, args));
        if let Some(tasks) = ran.tasks.filter(|_| is_own) {
            ended(&core, tasks, HandlerId::MAX, ran.value.as_ref().err());
        }
        ran.value?
    }

    fn start(self: Rc<Self>, args: Vec<Value>) -> LocalFuture<Result<(), Error>> {
        self.run(args, RunPurpose::Plain)
    }

    fn start_alone(
        self: Rc<Self>,
        args: Vec<Value>,
        hears: bool,
    ) -> LocalFuture<Result<(), Error>> {
        self.run(args, RunPurpose::Alone { hears })
    }

    fn start_check(self: Rc<Self>) -> LocalFuture<Result<(), Error>> {
        self.run(Vec::new(), RunPurpose::Check)
    }

    fn place(&self) -> Option<Place> {
        let core = self.core.upgrade().filter(|core| core.is_entered())?;
        let (cx, function) = (core.cx(), self.function(&core).ok()?);
        let read = || -> Result<_, Thrown> {
            let file = cx.get(function.raw(), c"fileName")?;
            let line = cx.get(function.raw(), c"lineNumber")?;
            Ok((is_string(file.raw()).then_some(file), line))
        };
        let Ok((file, line)) = read() else {
            drop(cx.exception());
            return None;
        };
        Some(Place {
            file: cx.text(file?.raw()).ok()?,
            line: whole_number(line.raw()).and_then(|line| u32::try_from(line).ok())?,
        })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl JsFunction {
    /// Calls the function as a run of its own.
    fn run(
        self: Rc<Self>,
        args: Vec<Value>,
        purpose: RunPurpose,
    ) -> LocalFuture<Result<(), Error>> {
        Box::pin(async move {
            let core = self.core.upgrade().ok_or_else(isolate_is_gone)?;
            let ran = core.enter(HandlerId::MAX, None, |cx| self.begin(cx, &args, purpose));
            let tasks = ran.tasks.unwrap_or_default();
            let mut run = FunctionRun {
                promise: None,
                tasks,
                purpose,
                is_over: false,
                core,
            };
            match ran.value.and_then(|begun| begun) {
                Ok(Some(promise)) => {
                    run.promise = Some(WatchedPromise::new(run.core.clone(), promise))
                }
                Ok(None) => return run.end(Ok(())),
                Err(error) => return run.end(Err(error)),
            }
            let result = poll_fn(|cx| run.poll(cx)).await;
            run.end(result)
        })
    }

    /// Calls the function; the promise that it returned, if it did.
    fn begin(&self, cx: Cx<'_>, args: &[Value], purpose: RunPurpose) -> Result<Option<Val>, Error> {
        let returned = call_kept(cx, &self.function(cx.core())?, args);
        let returned = returned.map_err(|thrown| described(cx, thrown.into()))?;
        let promise = promise_of(cx, &returned);
        let Some(promise) = promise.map_err(|thrown| described(cx, thrown.into()))? else {
            return purpose.check(&returned).map(|()| None);
        };
        cx.core().handled(cx, promise.raw());
        Ok(Some(promise))
    }
}

/// The end of a run, and what counts as a failure.
#[derive(Clone, Copy)]
enum RunPurpose {
    /// A run that ends with its promise, whose result is dropped.
    Plain,
    /// A run that lasts as long as what it began, see [`ScriptFunction::start_alone`].
    Alone {
        /// False if only work of this isolate can settle its promise.
        hears: bool,
    },
    /// A run that fails also with `false`, see [`ScriptFunction::start_check`].
    Check,
}

impl RunPurpose {
    /// Checks what the function returned.
    fn check(self, returned: &Val) -> Result<(), Error> {
        match self {
            Self::Check if is_false(returned.raw()) => Err(returned_false()),
            _ => Ok(()),
        }
    }
}

/// A run of its own that waits.
struct FunctionRun {
    promise: Option<WatchedPromise>,
    tasks: Rc<Tasks>,
    purpose: RunPurpose,
    is_over: bool,
    // Last: it keeps the context of the promise.
    core: Rc<Core>,
}

impl FunctionRun {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let Some(promise) = &self.promise else {
            return Poll::Ready(Ok(()));
        };
        promise.wake(cx);
        let (tasks, purpose) = (self.tasks.clone(), self.purpose);
        let is_alone = matches!(purpose, RunPurpose::Alone { .. });
        let is_enough = || !is_alone && promise.is_settled();
        tasks.advance_all(&self.core, HandlerId::MAX, cx, is_enough)?;
        if !promise.is_settled() {
            return match matches!(purpose, RunPurpose::Alone { hears: false })
                && !self.is_work_left()
            {
                true => Poll::Ready(Err(Error::script(
                    "the script awaits a promise that nothing settles: no timer, request or query goes on any more",
                ))),
                false => Poll::Pending,
            };
        }
        let goes_on = is_alone && !tasks.is_empty();
        let ran = self.core.enter(HandlerId::MAX, Some(tasks), |cx| {
            match promise_result(cx, promise.promise()) {
                Some(Err(reason)) => Err(error::describe(cx, reason.raw())),
                Some(Ok(returned)) => purpose.check(&returned),
                None => Ok(()),
            }
        });
        match ran.value.and_then(|result| result) {
            Ok(()) if goes_on => Poll::Pending,
            ended => Poll::Ready(ended),
        }
    }

    /// Reports whether work goes on that may settle the promise: of this run, of the module top level, or of runs that
    /// have ended.
    fn is_work_left(&self) -> bool {
        let top_level = self.core.top_level.borrow();
        let is_quiet = top_level.as_ref().is_none_or(|tasks| tasks.is_empty());
        !self.tasks.is_empty() || !is_quiet || self.core.background.get() > 0
    }

    fn end(mut self, result: Result<(), Error>) -> Result<(), Error> {
        self.is_over = true;
        let error = result.as_ref().err();
        ended(&self.core, self.tasks.clone(), HandlerId::MAX, error);
        result
    }
}

impl Drop for FunctionRun {
    fn drop(&mut self) {
        if !self.is_over {
            self.tasks.abandon(&self.core);
        }
    }
}
