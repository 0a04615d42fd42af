//! Handlers that wait, and the end of those whose client has left: what they wait for fails with
//! `cancelled`, so that `pcall`, `finally` and the code after them run. They have `cleanup_millis_max` for it.

use crate::gate::answer_hooks;
use crate::gate::commit_gate::{RouteUses, Visit};
use crate::gate::control::{self, Control};
use crate::gate::dropped_answer::DroppedAnswer;
use crate::request::request_view::View;
use sampan_host::limits::CANCELLED;
use sampan_host::{Error, ErrorKind, ResponseSink, Step, StreamedBody, Suspended};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::task::spawn_local;

/// A request whose script waits, and what that needs to run on.
#[derive(Clone)]
pub(crate) struct WaitingRequest {
    pub(crate) control: Rc<Control>,
    /// `None` while a project loads.
    pub(crate) view: Option<Rc<View>>,
    /// The observed behaviour of the route, and whether its method says that it only reads.
    pub(crate) route: Option<(Rc<RouteUses>, bool)>,
}

/// The rest of a handler. Dropped before that has ended, the request was given up.
pub(crate) struct WaitingHandler {
    request: WaitingRequest,
    /// The time at which the handler had to wait first.
    since: Instant,
    rest: Option<Box<dyn Suspended>>,
}

impl WaitingHandler {
    pub(crate) fn new(request: WaitingRequest, rest: Box<dyn Suspended>) -> Self {
        Self {
            request,
            since: Instant::now(),
            rest: Some(rest),
        }
    }

    /// Waits until the handler has ended.
    pub(crate) async fn end(
        mut self,
        sink: &mut dyn ResponseSink,
        visit: &mut Visit,
    ) -> Result<(), Error> {
        let result = poll_fn(|cx| {
            let (request, rest) = (&self.request, &mut self.rest);
            request.turn(cx, visit, |cx| {
                while let Some(waiting) = rest {
                    let result = ready!(waiting.poll(cx, &mut *sink));
                    *rest = None;
                    result?;
                    match request.ended(&*sink) {
                        Step::Done => return Poll::Ready(Ok(())),
                        Step::Failed(error) => return Poll::Ready(Err(error)),
                        Step::Waiting(hooks) => *rest = Some(hooks),
                    }
                }
                Poll::Pending
            })
        })
        .await;
        // Its writes were lost while it waited: the answer says so, and the handler is given up.
        if let Some(rest) = self.rest.take() {
            end_in_order(self.request.clone(), Rest::Handler(rest));
        }
        result
    }

    fn log(&self) {
        /// The HTTP engine counts with a coarse clock, which may run ahead of this one by so much.
        const CLOCK_MILLIS_MAX: u64 = 100;
        let control = &self.request.control;
        let Some(view) = &self.request.view else {
            return;
        };
        let coarse = Duration::from_millis(CLOCK_MILLIS_MAX);
        let ending = control.ending.get().map(Instant::elapsed);
        if ending.is_some_and(|elapsed| elapsed + coarse >= control.shutdown_time_max) {
            let message = format!(
                "{}: cut by the shutdown after {} ms (shutdown_millis_max)",
                view.title(),
                self.since.elapsed().as_millis()
            );
            control::warn_cut(control, view, message);
            return;
        }
        // The time of a handler that reads its body as that comes begins again with each read.
        let since = view
            .read_at()
            .map_or(self.since, |read| read.max(self.since));
        let waited = since.elapsed();
        if waited + coarse >= control.handler_time_max || view.request().is_overdue() {
            let message = format!(
                "no answer after {} ms: given up (handler_millis_max)",
                waited.as_millis()
            );
            let error = Error::new(ErrorKind::Timeout, message);
            control::log(control, Some(view), "", &error);
            view.failed(&error.at(view.place().cloned()));
        }
    }
}

impl Drop for WaitingHandler {
    fn drop(&mut self) {
        if let Some(rest) = self.rest.take() {
            self.log();
            end_in_order(self.request.clone(), Rest::Handler(rest));
        }
    }
}

impl WaitingRequest {
    /// Returns the next step after its handler has ended well.
    fn ended(&self, sink: &dyn ResponseSink) -> Step {
        match &self.view {
            Some(view) => answer_hooks::ended(&self.control, view, sink),
            None => Step::Done,
        }
    }

    /// One turn of the script.
    fn turn<T>(
        &self,
        cx: &mut Context<'_>,
        visit: &mut Visit,
        run: impl FnOnce(&mut Context<'_>) -> Poll<Result<T, Error>>,
    ) -> Poll<Result<T, Error>> {
        let route = self.route.as_ref();
        let route = route.map(|(uses, is_safe)| &**uses.of(*is_safe));
        self.control
            .during(self.view.as_ref(), || visit.turn(cx, route, run))
    }
}

/// The remaining work of a request that was given up.
pub(crate) enum Rest {
    /// A handler; what it answers is dropped.
    Handler(Box<dyn Suspended>),
    /// A body; its chunks are dropped.
    Body(Box<dyn StreamedBody>),
}

impl Rest {
    fn cancel(&mut self) {
        match self {
            Self::Handler(rest) => rest.cancel(),
            Self::Body(body) => body.cancel(),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>, sink: &mut DroppedAnswer) -> Poll<Result<(), Error>> {
        match self {
            Self::Handler(rest) => rest.poll(cx, sink),
            Self::Body(body) => match body.poll_chunk(cx) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(None) => Poll::Ready(Ok(())),
                Poll::Ready(Some(Err(error))) => Poll::Ready(Err(error)),
                Poll::Ready(Some(Ok(_))) => {
                    // Others have their turn between two chunks.
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
            },
        }
    }
}

/// Counts a request that is ending in order, so that a shutdown waits for it. It is not over before.
struct Ending(WaitingRequest);

impl Ending {
    fn new(request: WaitingRequest) -> Self {
        let endings = &request.control.endings;
        endings.set(endings.get() + 1);
        if let Some(view) = &request.view {
            view.additions.begin_part();
        }
        Self(request)
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let endings = &self.0.control.endings;
        endings.set(endings.get() - 1);
        if let Some(view) = &self.0.view {
            view.additions.end_part();
        }
    }
}

/// Lets a script that was given up end in order. A handler whose answer is to be recorded writes nothing any more:
/// there would be no record of that, and its client may send the request again.
pub(crate) fn end_in_order(request: WaitingRequest, mut rest: Rest) {
    let control = Rc::clone(&request.control);
    if let (Rest::Handler(_), Some(view)) = (&rest, &request.view)
        && view.additions.recorder().is_some()
    {
        control.current.refuse_writes(&**view);
    }
    let ending = Ending::new(request.clone());
    drop(spawn_local(async move {
        let mut visit = control.gate.visit();
        let mut sink = DroppedAnswer::default();
        let mut is_cancelled = false;
        let run = poll_fn(|cx| {
            request.turn(cx, &mut visit, |cx| {
                if !is_cancelled {
                    is_cancelled = true;
                    rest.cancel();
                }
                rest.poll(cx, &mut sink)
            })
        });
        let time_max = control.cleanup_time_max;
        let error = match tokio::time::timeout(time_max, run).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error).filter(|error| error.code() != Some(CANCELLED)),
            Err(_) => {
                let millis = time_max.as_millis();
                let text =
                    format!("dropped: it did not end within {millis} ms (cleanup_millis_max)");
                Some(Error::new(ErrorKind::Timeout, text))
            }
        };
        if let Some(error) = error {
            control::log(&control, request.view.as_ref(), " (given up)", &error);
        }
        if let Some(body) = sink.into_stream() {
            end_in_order(request, Rest::Body(body));
        }
        // It runs no more when what it holds is given to others.
        drop(rest);
        drop(ending);
    }));
}
