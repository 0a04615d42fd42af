//! Handlers that wait: the coroutine, what it waits for, and how it goes on.

use crate::request::call::{self, CallOutcome, FunctionStep, HandlerEntry, finish, run_on};
use crate::request::object::RequestSlot;
use crate::request::world;
use crate::vm::bind::callback::LuaFunction;
use crate::vm::isolate::{Core, Thread, Wait};
use sampan_host::engine::cancelled;
use sampan_host::value::returned_false;
use sampan_host::{Error, LocalFuture, ResponseSink, Step, Suspended, Value};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// A handler, or another function of the script, in the middle of waiting for one operation.
struct SuspendedHandler {
    core: Rc<Core>,
    name: u32,
    waiting: Option<Waiting>,
}

struct Waiting {
    slot: RequestSlot,
    thread: Thread,
    operation: LocalFuture<Result<Value, Error>>,
}

/// Turns a handler that yielded into a suspended request.
pub(crate) fn wait(
    core: &Rc<Core>,
    name: u32,
    slot: RequestSlot,
    thread: Thread,
    wait: Wait,
) -> Step {
    match wait {
        Wait::Operation(operation) => {
            let waiting = Some(Waiting {
                slot,
                thread,
                operation,
            });
            Step::Waiting(Box::new(SuspendedHandler {
                core: core.clone(),
                name,
                waiting,
            }))
        }
        Wait::Chunk(_) | Wait::Lent(_) => {
            if let Wait::Lent(text) = wait {
                text.release(core);
            }
            core.drop_thread(thread);
            Step::Failed(Error::script(
                "write: called outside of the stream that it belongs to",
            ))
        }
    }
}

impl SuspendedHandler {
    /// Runs on for as long as what it waits for is there. Returns true where a function without a sink returned
    /// `false`.
    fn advance(
        &mut self,
        cx: &mut Context<'_>,
        mut sink: Option<&mut dyn ResponseSink>,
    ) -> Poll<Result<bool, Error>> {
        loop {
            let Some(waiting) = &mut self.waiting else {
                return Poll::Pending;
            };
            let polled = waiting.slot.poll(&self.core, &mut waiting.operation, cx);
            let Poll::Ready(result) = polled else {
                return Poll::Pending;
            };
            let Some(Waiting { slot, thread, .. }) = self.waiting.take() else {
                return Poll::Pending;
            };
            // SAFETY: nothing of Lua runs now, so nothing else uses the cell.
            unsafe { *self.core.result.get() = Some(result) };
            self.core.enter_world();
            let mut entry = HandlerEntry {
                core: &self.core,
                sink: sink
                    .as_mut()
                    .map(|sink| &mut **sink as &mut dyn ResponseSink),
                outcome: CallOutcome::Nothing,
                thread: Some(thread),
                has_result: true,
            };
            let result = self
                .core
                .protected(self.name, run_on, &mut entry)
                .map_err(|fault| fault.0);
            if result.is_ok()
                && matches!(entry.outcome, CallOutcome::Waiting(_, Wait::Operation(_)))
            {
                // The coroutine waits again: poll the next operation once, so that it can wake this task.
                self.core.after_run();
                if let CallOutcome::Waiting(thread, Wait::Operation(operation)) = entry.outcome {
                    self.waiting = Some(Waiting {
                        slot,
                        thread,
                        operation,
                    });
                }
                continue;
            }
            let is_false = matches!(entry.outcome, CallOutcome::False);
            match finish(&self.core, self.name, slot, entry, result) {
                Step::Failed(error) => return Poll::Ready(Err(error)),
                Step::Done | Step::Waiting(_) => return Poll::Ready(Ok(is_false)),
            }
        }
    }
}

impl Suspended for SuspendedHandler {
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut dyn ResponseSink,
    ) -> Poll<Result<(), Error>> {
        self.advance(cx, Some(sink)).map_ok(drop)
    }

    fn cancel(&mut self) {
        if let Some(waiting) = &mut self.waiting {
            waiting.operation = Box::pin(std::future::ready(Err(cancelled())));
            waiting.slot.drop_objects(&self.core);
        }
    }
}

impl Drop for SuspendedHandler {
    fn drop(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            self.core.drop_thread(waiting.thread);
        }
    }
}

/// A function that a capability kept, on a run of its own.
pub(crate) struct FunctionRun {
    function: Rc<LuaFunction>,
    args: Option<Vec<Value>>,
    /// The number, if it is run in a world of its own.
    apart: Option<usize>,
    /// True if it fails where it returns `false`.
    is_check: bool,
    run: SuspendedHandler,
}

impl FunctionRun {
    /// A run that begins when it is polled.
    pub(crate) fn new(
        core: Rc<Core>,
        function: Rc<LuaFunction>,
        args: Vec<Value>,
        apart: Option<usize>,
        is_check: bool,
    ) -> Self {
        Self {
            function,
            args: Some(args),
            apart,
            is_check,
            run: SuspendedHandler {
                core,
                name: u32::MAX,
                waiting: None,
            },
        }
    }

    /// Runs on. Returns true where the function returned `false`.
    fn advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        let Some(args) = self.args.take() else {
            return self.run.advance(cx, None);
        };
        let core = self.run.core.clone();
        // The coroutine has no request, but may own objects that live as long as one.
        let slot = RequestSlot::new(&core, None);
        match self.function.world() {
            Ok(world) => slot.set_world(&core, world),
            Err(error) => return Poll::Ready(Err(error)),
        }
        let step = match self.apart {
            Some(number) => world::start_function(&core, slot, number, &args),
            None => call::start_function(&core, slot, self.function.reference(), &args),
        };
        match step {
            FunctionStep::Ended(result) => Poll::Ready(result),
            FunctionStep::Waits(slot, thread, operation) => {
                self.run.waiting = Some(Waiting {
                    slot,
                    thread,
                    operation,
                });
                self.run.advance(cx, None)
            }
        }
    }
}

impl Future for FunctionRun {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let is_check = self.is_check;
        let ended = self.advance(cx);
        ended.map(|result| match result {
            Ok(true) if is_check => Err(returned_false()),
            result => result.map(drop),
        })
    }
}
