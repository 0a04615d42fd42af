//! Functions of the script that capabilities keep: a slot in the isolate each.

use crate::sys::{Failure, Js};
use crate::vm::core::{Core, Cx, kinds};
use crate::vm::error::described;
use sampan_host::value::{isolate_is_gone, returned_false};
use sampan_host::{Callback, Error, HandlerId, LocalFuture, ScriptFunction, Value};
use sampan_js_contract::{BoundRow, call_at_once, call_kept};
use std::any::Any;
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::task::Poll;

/// Keeps a function.
pub(crate) fn keep(cx: Cx<'_>, function: Js<'_>, row: BoundRow) -> Result<Callback, Failure> {
    let core = cx.core();
    let kept = cx.keep(function)?;
    let key = core.callbacks.borrow_mut().insert(kept);
    Ok(Rc::new(KeptFunction {
        core: core.me.clone(),
        key,
        row,
    }))
}

/// A function in its slot.
struct KeptFunction {
    core: Weak<Core>,
    key: usize,
    /// The row that it was given to.
    row: BoundRow,
}

impl Drop for KeptFunction {
    fn drop(&mut self) {
        if let Some(core) = self.core.upgrade() {
            let function = core.callbacks.borrow_mut().try_remove(self.key);
            drop(function);
        }
    }
}

/// The function of the script that a callback stands for.
pub(crate) fn function_of<'a>(cx: Cx<'a>, callback: &Callback) -> Result<Js<'a>, Error> {
    let function = callback.as_any().downcast_ref::<KeptFunction>();
    function.ok_or_else(isolate_is_gone)?.handle(cx)
}

impl KeptFunction {
    fn handle<'a>(&self, cx: Cx<'a>) -> Result<Js<'a>, Error> {
        let callbacks = cx.core().callbacks.borrow();
        let kept = callbacks.get(self.key).map(|kept| kept.get(cx.env()));
        kept.ok_or_else(isolate_is_gone)
    }

    /// Calls the function, where it must not wait; the caller has entered the isolate.
    fn call_at_once(&self, cx: Cx<'_>, args: &[Value]) -> Result<Value, Error> {
        let returned = call_at_once(cx, &self.handle(cx)?, &self.row, args);
        returned.map_err(|failure| described(cx, failure))
    }

    /// Calls the function.
    fn begin(&self, cx: Cx<'_>, args: &[Value]) -> Result<FunctionProgress, Error> {
        let begin = || -> Result<FunctionProgress, Failure> {
            let returned = call_kept(cx, &self.handle(cx)?, args)?;
            let is_false = cx.call_own("follow", &[returned])?;
            let meta = cx.core().meta()?;
            Ok(match meta.kind() == kinds::WAITS {
                true => FunctionProgress::Waits(meta.key()),
                false => FunctionProgress::Ended {
                    is_false: cx.is_true(is_false),
                },
            })
        };
        begin().map_err(|failure| described(cx, failure))
    }

    /// Calls the function as a run of its own. Returns true if it returned `false`.
    async fn run(self: Rc<Self>, args: Vec<Value>) -> Result<bool, Error> {
        let core = self.core.upgrade().ok_or_else(isolate_is_gone)?;
        let begun = core.enter(HandlerId::MAX, core.current(), |cx| self.begin(cx, &args));
        let key = match begun? {
            FunctionProgress::Ended { is_false } => return Ok(is_false),
            FunctionProgress::Waits(key) => key,
        };
        let ended = poll_fn(|cx| {
            if !core.poll_wait(key, cx) {
                return Poll::Pending;
            }
            Poll::Ready(core.enter(HandlerId::MAX, None, |cx| ended(cx, key)))
        });
        ended.await
    }
}

/// The state of a function after its call.
enum FunctionProgress {
    /// The end.
    Ended {
        /// True if it returned `false`.
        is_false: bool,
    },
    /// A promise, which is waited for under this number.
    Waits(u32),
}

impl ScriptFunction for KeptFunction {
    fn call(&self, args: &[Value]) -> Result<Value, Error> {
        let core = self.core.upgrade().ok_or_else(isolate_is_gone)?;
        if core.is_entered() {
            // SAFETY: script runs, which was called in a scope or has called a native function. No handle outlives this
            // block.
            let env = unsafe { core.env.in_scope() };
            return self.call_at_once(Cx::new(&core, env), args);
        }
        core.enter(HandlerId::MAX, core.current(), |cx| {
            self.call_at_once(cx, args)
        })
    }

    fn start(self: Rc<Self>, args: Vec<Value>) -> LocalFuture<Result<(), Error>> {
        Box::pin(async move { self.run(args).await.map(drop) })
    }

    fn start_check(self: Rc<Self>) -> LocalFuture<Result<(), Error>> {
        Box::pin(async move {
            match self.run(Vec::new()).await? {
                true => Err(returned_false()),
                false => Ok(()),
            }
        })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Returns how the awaited value ended: with an error, or true if with `false`.
fn ended(cx: Cx<'_>, key: u32) -> Result<bool, Error> {
    let ask = || -> Result<bool, Failure> {
        let key = cx.number(f64::from(key))?;
        let is_false = cx.call_own("ended", &[key])?;
        Ok(cx.is_true(is_false))
    };
    ask().map_err(|failure| described(cx, failure))
}
