//! A request body that its handler reads as it comes: one piece between the connection, which receives, and one reader.
//!
//! The connection reads from its socket only while the reader waits, so a slow reader slows its client down.

use std::cell::{Cell, RefCell};
use std::task::{Context, Poll, Waker};

use crate::codec::fault::Fault;

/// The reason why a body cannot be read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadError {
    /// A body that is malformed, too large, or did not arrive.
    Fault(Fault),
    /// The request has been answered.
    Over,
}

/// The end of a body.
#[derive(Clone, Copy)]
enum BodyEnd {
    Whole,
    Failed(ReadError),
}

/// The state shared by the connection and the reader share.
#[derive(Default)]
pub(crate) struct RequestBody {
    /// A piece that the reader has not taken.
    piece: RefCell<Option<Vec<u8>>>,
    end: Cell<Option<BodyEnd>>,
    /// The reader waits for the next piece.
    is_wanted: Cell<bool>,
    reader: RefCell<Option<Waker>>,
    /// The connection, while it is not running.
    connection: RefCell<Option<Waker>>,
}

impl RequestBody {
    /// The reader's side, see [`Request::poll_body`](crate::Request::poll_body).
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<Option<Result<Vec<u8>, ReadError>>> {
        if let Some(piece) = self.piece.take() {
            return Poll::Ready(Some(Ok(piece)));
        }
        match self.end.get() {
            Some(BodyEnd::Whole) => return Poll::Ready(None),
            Some(BodyEnd::Failed(error)) => return Poll::Ready(Some(Err(error))),
            None => {}
        }
        let mut reader = self.reader.borrow_mut();
        if !reader
            .as_ref()
            .is_some_and(|known| known.will_wake(cx.waker()))
        {
            *reader = Some(cx.waker().clone());
        }
        if !self.is_wanted.replace(true)
            && let Some(connection) = self.connection.take()
        {
            connection.wake();
        }
        Poll::Pending
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.is_wanted.get()
    }

    /// The connection runs, and looks itself whether the reader waits.
    pub(crate) fn unpark(&self) {
        self.connection.take();
    }

    /// The connection stops running; it is to be woken when the reader begins to wait.
    pub(crate) fn park(&self, cx: &Context<'_>) {
        *self.connection.borrow_mut() = Some(cx.waker().clone());
    }

    /// Hands the next piece over. `cx` is that of the connection: what it polls itself is not woken for that.
    pub(crate) fn give(&self, piece: Vec<u8>, cx: Option<&Context<'_>>) {
        *self.piece.borrow_mut() = Some(piece);
        self.wake_reader(cx);
    }

    /// The last piece has been handed over.
    pub(crate) fn end(&self, cx: Option<&Context<'_>>) {
        self.end.set(Some(BodyEnd::Whole));
        self.wake_reader(cx);
    }

    /// Ends the body with an error: nothing more comes.
    pub(crate) fn fail(&self, error: ReadError) {
        self.end.set(Some(BodyEnd::Failed(error)));
        self.wake_reader(None);
    }

    /// The request has been answered: not even what has come is given any more.
    pub(crate) fn close(&self) {
        self.piece.take();
        self.fail(ReadError::Over);
    }

    fn wake_reader(&self, cx: Option<&Context<'_>>) {
        self.is_wanted.set(false);
        let Some(reader) = self.reader.take() else {
            return;
        };
        if !cx.is_some_and(|cx| reader.will_wake(cx.waker())) {
            reader.wake();
        }
    }
}
