//! The contract with the code that handles requests: [`Handler`], its [`Answer`]s, and tickets for held ones.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::codec::fault::{Exceeded, Fault};
use crate::codec::status::reason;
use crate::future::LocalFuture;
use crate::peer::Peer;
use crate::precomputed::Precomputed;
use crate::request::Request;
use crate::response::Response;
use crate::upgrade::Upgrade;

/// The answer of a handler. Only `Later` costs a future.
pub enum Answer {
    /// Send this.
    Now(Response),
    /// Send this, which was serialised before.
    Precomputed(Arc<Precomputed>),
    /// Keep this, and everything behind it on its connection, until the ticket's [`Seal`] has decided.
    Held(Response, Ticket),
    /// The future's answer. It is polled as part of the connection and dropped when the client goes away: a
    /// client that closes its sending direction while it waits counts as gone.
    Later(LocalFuture<Answer>),
    /// Answer 101 and give the connection away. On HTTP/1.0, which cannot, the client gets 500.
    Upgrade(Box<Upgrade>),
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Now(response) => f.debug_tuple("Now").field(response).finish(),
            Answer::Precomputed(response) => f.debug_tuple("Precomputed").field(response).finish(),
            Answer::Held(response, _) => f
                .debug_tuple("Held")
                .field(response)
                .finish_non_exhaustive(),
            Answer::Later(_) => f.write_str("Later"),
            Answer::Upgrade(upgrade) => f.debug_tuple("Upgrade").field(upgrade).finish(),
        }
    }
}

impl From<Response> for Answer {
    fn from(response: Response) -> Answer {
        Answer::Now(response)
    }
}

/// The handler's requirements for the body of one request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BodyRule {
    /// The most bytes that it may have, where that is not the general limit.
    pub bytes_max: Option<usize>,
    /// The handler is called when the head has arrived, and reads the body with [`Request::poll_body`]. Else it is
    /// called when all of the body is here.
    pub is_streamed: bool,
}

/// Answers requests. One handler serves all connections of a worker, on its thread.
///
/// A handler that wraps another returns that one by [`Handler::inner`], and defines only the methods that it changes.
pub trait Handler: 'static {
    /// Answers one request. `observer` is the one that [`Handler::observe`] returned for it. A panic in here is caught
    /// and answered with 500.
    fn handle(&self, request: &Rc<Request>, observer: Option<Rc<dyn Observer>>) -> Answer;

    /// Returns the handler that this one wraps. All other methods call it by default.
    fn inner(&self) -> Option<&dyn Handler> {
        None
    }

    /// Returns the rule for reading the body. Called for each request that announces a body, when its head has arrived;
    /// the body has not.
    fn body_rule(&self, request: &Request) -> BodyRule {
        match self.inner() {
            Some(inner) => inner.body_rule(request),
            None => BodyRule::default(),
        }
    }

    /// Answers a request whose head is there and whose body is refused: it is too large. Reading the body gives the
    /// same fault. The connection closes behind the answer.
    fn refuse_body(
        &self,
        request: &Rc<Request>,
        fault: Fault,
        observer: Option<Rc<dyn Observer>>,
    ) -> Answer {
        match self.inner() {
            Some(inner) => inner.refuse_body(request, fault, observer),
            None => Answer::Now(self.error(fault.status, fault.limit)),
        }
    }

    /// The answer to what the engine itself refuses: 400, 408, 413, 414, 417, 431, 500, 501, 503, 504, 505.
    /// `limit` is the one that the request was above, where that is the reason.
    fn error(&self, status: u16, limit: Option<Exceeded>) -> Response {
        if let Some(inner) = self.inner() {
            return inner.error(status, limit);
        }
        let mut response = Response::new(status);
        response.content_type("application/json");
        response
            .body_mut()
            .extend_from_slice(format!("{{\"error\":\"{}\"}}", reason(status)).as_bytes());
        response
    }

    /// Returns an observer that is notified when the response has been sent or dropped. Called once for each request
    /// that is answered, right before [`Handler::handle`], and for each that the engine refuses; then `request` is
    /// `None` if its head could not be read.
    fn observe(&self, peer: Peer, request: Option<&Request>) -> Option<Rc<dyn Observer>> {
        self.inner()?.observe(peer, request)
    }

    /// Called a few times in a second while the worker has anything to do, and when it begins to: the time on a clock
    /// of the process, in milliseconds.
    fn ticked(&self, now_millis: u64) {
        if let Some(inner) = self.inner() {
            inner.ticked(now_millis);
        }
    }

    /// Called when connections were closed because too many bytes waited for clients that do not read, on the worker
    /// that noticed it.
    fn closed_unread(&self, closed: &ClosedUnread) {
        if let Some(inner) = self.inner() {
            inner.closed_unread(closed);
        }
    }

    /// Called for a connection that ends before its first request because its client speaks another protocol.
    fn connection_fault(&self, peer: Peer, fault: &ConnectionFault) {
        if let Some(inner) = self.inner() {
            inner.connection_fault(peer, fault);
        }
    }

    /// Called when a connection has agreed on TLS with its client.
    fn handshaken(&self) {
        if let Some(inner) = self.inner() {
            inner.handshaken();
        }
    }

    /// Called at a tick after large answers were freed that clients had been slow to read: the allocator may give
    /// memory back to the system.
    fn memory_freed(&self) {
        if let Some(inner) = self.inner() {
            inner.memory_freed();
        }
    }

    /// Called after a panic in the handler or its future was caught; the panic hook has run before.
    fn panicked(&self, message: &str) {
        match self.inner() {
            Some(inner) => inner.panicked(message),
            None => eprintln!("sampan-http: the handler panicked: {message}"),
        }
    }
}

/// A client that speaks another protocol than its port does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionFault {
    /// TLS on a port without it; the client gets 400.
    TlsOnPlainPort,
    /// HTTP without TLS on a port of TLS; the client gets 400 and a hint.
    PlainOnTlsPort,
    /// A handshake of TLS that the client has spoilt, or that the two have no common ground for: the reason.
    HandshakeFailed(String),
    /// A proxy that does not begin with a header of the PROXY protocol: the reason. The connection is closed.
    NoProxyHeader(&'static str),
}

/// Notified of the outcome of one request, once. A handler that gets its own observer back finds its type by
/// [`Any`].
pub trait Observer: Any {
    /// The time at which the request was whole, or was refused. Called before the request is handled.
    fn begun(&self, _at: Instant) {}

    /// Reports whether [`RequestOutcome::body_bytes`] is read. Asked before the answer is sent; else it may be 0, which
    /// spares the search for the end of the answer's head.
    fn counts_bytes(&self) -> bool {
        true
    }

    /// The answer has been sent, or never will be.
    fn done(&self, outcome: &RequestOutcome);
}

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestOutcome {
    /// The status of the answer; 499 if the client left before there was one.
    pub status: u16,
    /// The bytes behind the answer's head that the system took; of a stream with the framing of its chunks.
    pub body_bytes: u64,
    /// From the whole request (or its refusal) until the system took the last byte of the answer.
    pub elapsed: Duration,
    /// True if all of the answer was sent.
    pub is_whole: bool,
}

/// A connection that was closed because too many bytes waited for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedUnread {
    /// The client.
    pub peer: Peer,
    /// The bytes that it held.
    pub bytes: usize,
    /// The time that its client had taken nothing, in milliseconds.
    pub still_millis: u64,
    /// The limit that was passed: its name and its value in bytes.
    pub limit: (&'static str, usize),
    /// The number of connections that the server has closed for this reason, this one included.
    pub closed: u64,
}

/// The handler of a worker, replaceable while it runs: each request asks for the current one, and requests in
/// flight end on the one that they began with.
#[derive(Clone)]
pub struct HandlerSlot(Rc<RefCell<Rc<dyn Handler>>>);

impl HandlerSlot {
    /// A slot that starts with this handler.
    pub fn new(handler: Rc<dyn Handler>) -> HandlerSlot {
        HandlerSlot(Rc::new(RefCell::new(handler)))
    }

    /// Puts another handler in place for all requests to come.
    pub fn replace(&self, handler: Rc<dyn Handler>) {
        // The old one is dropped after the borrow has ended: its destructor may come back here.
        let old = std::mem::replace(&mut *self.0.borrow_mut(), handler);
        drop(old);
    }

    /// The current handler.
    pub fn current(&self) -> Rc<dyn Handler> {
        self.0.borrow().clone()
    }
}

impl<H: Handler> From<Rc<H>> for HandlerSlot {
    fn from(handler: Rc<H>) -> HandlerSlot {
        HandlerSlot::new(handler)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Undecided,
    Released,
    /// An answer with this status is sent in its place.
    Replaced(u16),
}

struct TicketFate {
    decision: Cell<Decision>,
    /// Makes the answer that is sent in the place of the response, where that is not the handler's own.
    replacement: Cell<Option<Replacement>>,
    /// The connection that holds the response.
    waker: RefCell<Option<Waker>>,
}

type Replacement = Box<dyn FnOnce() -> Response>;

/// Keeps a held response back. See [`Ticket::new`].
pub struct Ticket(Rc<TicketFate>);

/// Decides about a held response, once. Dropping it undecided is as [`Seal::replace_by`] with 500.
pub struct Seal(Rc<TicketFate>);

impl Ticket {
    /// A ticket for [`Answer::Held`] and the seal that decides about it. Both stay on their thread.
    #[allow(clippy::new_ret_no_self)] // the pair is the point
    pub fn new() -> (Ticket, Seal) {
        let fate = Rc::new(TicketFate {
            decision: Cell::new(Decision::Undecided),
            replacement: Cell::new(None),
            waker: RefCell::new(None),
        });
        (Ticket(fate.clone()), Seal(fate))
    }

    /// Has this answer sent in the place of the response, if it is replaced, and not that of [`Handler::error`].
    #[must_use]
    pub fn or_else(self, replacement: impl FnOnce() -> Response + 'static) -> Ticket {
        self.0.replacement.set(Some(Box::new(replacement)));
        self
    }

    /// Changes the answer that [`Ticket::or_else`] has given, if it is sent.
    #[must_use]
    pub fn map_else(self, change: impl FnOnce(&mut Response) + 'static) -> Ticket {
        let Some(replacement) = self.0.replacement.take() else {
            return self;
        };
        self.or_else(move || {
            let mut response = replacement();
            change(&mut response);
            response
        })
    }

    pub(crate) fn replacement(&self, status: u16, handler: &dyn Handler) -> Response {
        match self.0.replacement.take() {
            Some(replacement) => replacement(),
            None => handler.error(status, None),
        }
    }

    pub(crate) fn decision(&self) -> Decision {
        self.0.decision.get()
    }

    /// Waits for the decision, for an answer that cannot be held as it is.
    ///
    /// # Errors
    /// Another answer with this status is to be sent in its place.
    pub async fn released(self) -> Result<(), u16> {
        match std::future::poll_fn(|cx| self.poll(cx)).await {
            Decision::Replaced(status) => Err(status),
            Decision::Released | Decision::Undecided => Ok(()),
        }
    }

    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<Decision> {
        if self.decision() != Decision::Undecided {
            return Poll::Ready(self.decision());
        }
        let mut waker = self.0.waker.borrow_mut();
        if !waker
            .as_ref()
            .is_some_and(|waker| waker.will_wake(cx.waker()))
        {
            *waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl Seal {
    /// The response is sent as it is.
    pub fn release(self) {
        self.decide(Decision::Released);
    }

    /// The handler's own answer with this status, [`Handler::error`], is sent in its place.
    pub fn replace_by(self, status: u16) {
        self.decide(Decision::Replaced(status));
    }

    /// Reports whether the client has gone, so that the decision is not needed.
    pub fn is_orphaned(&self) -> bool {
        Rc::strong_count(&self.0) == 1
    }

    fn decide(&self, decision: Decision) {
        if self.0.decision.get() == Decision::Undecided {
            self.0.decision.set(decision);
            let waker = self.0.waker.borrow_mut().take();
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

impl Drop for Seal {
    fn drop(&mut self) {
        self.decide(Decision::Replaced(500));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_decides_once_and_dropping_it_fails() {
        let (ticket, seal) = Ticket::new();
        assert_eq!(ticket.decision(), Decision::Undecided);
        seal.release();
        assert_eq!(ticket.decision(), Decision::Released);
        let (ticket, seal) = Ticket::new();
        drop(seal);
        assert_eq!(ticket.decision(), Decision::Replaced(500));
        let (ticket, seal) = Ticket::new();
        drop(ticket);
        assert!(seal.is_orphaned());
    }
}
