//! The end of a handler: capabilities write what they keep for the request, before its answer leaves.

use crate::gate::control::Control;
use crate::request::request_view::View;
use sampan_host::engine::cancelled;
use sampan_host::request::{AnswerHooks, HookStep};
use sampan_host::{
    Error, ErrorKind, Fate, LocalFuture, Outbox, RequestView, ResponseSink, Step, Suspended,
    Verdict,
};
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// The next step after a handler that has ended well.
#[inline]
pub(crate) fn ended(control: &Rc<Control>, view: &Rc<View>, sink: &dyn ResponseSink) -> Step {
    if view.store().is_empty() {
        return Step::Done;
    }
    match call_hooks(control, view, sink) {
        Ok(None) => Step::Done,
        Ok(Some(wait)) => Step::Waiting(Box::new(WaitingHooks {
            control: Rc::clone(control),
            view: Rc::clone(view),
            wait,
        })),
        Err(error) => Step::Failed(error),
    }
}

/// Calls the hooks, and the recorder of the answer behind them. Returns what one of them waits for, after which they
/// are called again.
fn call_hooks(
    control: &Control,
    view: &Rc<View>,
    sink: &dyn ResponseSink,
) -> Result<Option<LocalFuture<Result<(), Error>>>, Error> {
    let step = AnswerHooks::before_answer(&**view).and_then(|step| match step {
        HookStep::Done => match transactions_end(control, view)? {
            Some(wait) => Ok(HookStep::Waits(wait)),
            None => view.record_written(sink),
        },
        waits => Ok(waits),
    });
    match step {
        Ok(HookStep::Done) => Ok(None),
        Ok(HookStep::Waits(wait)) => Ok(Some(wait)),
        Err(error) if error.kind() == ErrorKind::TooLong => Ok(Some(control.gate.writable())),
        Err(error) => Err(error),
    }
}

/// Returns the wait for the open transactions of a request whose answer is recorded, since there is no record of what
/// is rolled back later.
fn transactions_end(
    control: &Control,
    view: &Rc<View>,
) -> Result<Option<LocalFuture<Result<(), Error>>>, Error> {
    if view.additions.recorder().is_none() {
        return Ok(None);
    }
    let open = control.gate.transactions_behind(view)?;
    if open.is_empty() {
        return Ok(None);
    }
    let behind: Vec<Fate> = open.iter().filter_map(Outbox::fate).collect();
    let verdicts: Vec<_> = open.iter().map(Outbox::settled).collect();
    let gate = Rc::clone(&control.gate);
    Ok(Some(Box::pin(async move {
        for verdict in verdicts {
            if verdict.await == Verdict::Failed {
                return Err(gate.lost_answer(&behind));
            }
        }
        Ok(())
    })))
}

/// The hooks of a request, one of which waits.
struct WaitingHooks {
    control: Rc<Control>,
    view: Rc<View>,
    wait: LocalFuture<Result<(), Error>>,
}

impl Suspended for WaitingHooks {
    fn cancel(&mut self) {
        self.wait = Box::pin(std::future::ready(Err(cancelled())));
    }

    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut dyn ResponseSink,
    ) -> Poll<Result<(), Error>> {
        loop {
            ready!(self.wait.as_mut().poll(cx))?;
            match call_hooks(&self.control, &self.view, sink) {
                Ok(Some(wait)) => self.wait = wait,
                done => return Poll::Ready(done.map(drop)),
            }
        }
    }
}
