//! The end of a handler: capabilities write what they keep for the request, before its answer leaves.

use crate::gate::control::Control;
use crate::request::request_view::View;
use sampan_host::engine::cancelled;
use sampan_host::request::AnswerHooks;
use sampan_host::{Error, ErrorKind, LocalFuture, RequestView, ResponseSink, Step, Suspended};
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// The next step after a handler that has ended well.
#[inline]
pub(crate) fn ended(control: &Rc<Control>, view: &Rc<View>) -> Step {
    if view.store().is_empty() {
        return Step::Done;
    }
    call_hooks(control, view)
}

fn call_hooks(control: &Rc<Control>, view: &Rc<View>) -> Step {
    match AnswerHooks::before_answer(&**view) {
        Ok(()) => Step::Done,
        Err(error) if error.kind() == ErrorKind::TooLong => Step::Waiting(Box::new(WaitingHooks {
            control: Rc::clone(control),
            view: Rc::clone(view),
            writable: control.gate.writable(),
        })),
        Err(error) => Step::Failed(error),
    }
}

/// The hooks of a request that wait until the database can be written.
struct WaitingHooks {
    control: Rc<Control>,
    view: Rc<View>,
    writable: LocalFuture<Result<(), Error>>,
}

impl Suspended for WaitingHooks {
    fn cancel(&mut self) {
        self.writable = Box::pin(std::future::ready(Err(cancelled())));
    }

    fn poll(&mut self, cx: &mut Context<'_>, _: &mut dyn ResponseSink) -> Poll<Result<(), Error>> {
        loop {
            ready!(self.writable.as_mut().poll(cx))?;
            match AnswerHooks::before_answer(&*self.view) {
                Err(error) if error.kind() == ErrorKind::TooLong => {
                    self.writable = self.control.gate.writable();
                }
                done => return Poll::Ready(done),
            }
        }
    }
}
