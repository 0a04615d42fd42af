//! Streamed bodies under way: that of an answer, and that of a request.

use std::rc::Rc;

use crate::codec::body::BodyDecoder;
use crate::codec::encoder::Length;
use crate::request_body::RequestBody;
use crate::response::BodyStream;

/// A streamed body under way.
pub(super) struct Streaming {
    pub(super) stream: Box<dyn BodyStream>,
    pub(super) length: Length,
    /// The time at which it is given up unless a chunk comes before.
    pub(super) by: u64,
    /// The time at which it wants to be polled though nothing has woken it.
    pub(super) poll_at: u64,
}

/// The body of a request whose handler reads it as it comes; there from the end of the head to the end of the answer.
pub(super) struct Receiving {
    pub(super) body: Rc<RequestBody>,
    pub(super) decoder: BodyDecoder,
    pub(super) state: ReceiveState,
    /// The client waits to be told that it may send.
    pub(super) owes_continue: bool,
    /// The time left for the next progress is left, and the bytes of it so far. It runs while the reader waits.
    pub(super) idle_left: u64,
    pub(super) progress_bytes: usize,
    /// The bytes after the body, before it can go to the next request.
    pub(super) rest: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReceiveState {
    Reading,
    /// The end has come.
    Whole,
    /// The body failed: the connection cannot be used any more.
    Failed,
}

impl Receiving {
    /// A body of which these bytes have come with the head.
    pub(super) fn new(
        body: Rc<RequestBody>,
        decoder: BodyDecoder,
        owes_continue: bool,
        idle_millis_max: u64,
    ) -> Receiving {
        Receiving {
            body,
            decoder,
            state: ReceiveState::Reading,
            owes_continue,
            idle_left: idle_millis_max,
            progress_bytes: 0,
            rest: Vec::new(),
        }
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        self.body.close();
    }
}
