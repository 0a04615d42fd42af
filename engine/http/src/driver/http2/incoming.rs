//! The body of a request on its way to the handler. The client may send a window's worth of bytes ahead; more only once
//! those have been taken.

use std::rc::Rc;
use std::task::{Context, Poll};

use h2::RecvStream;

use super::budget::BodyShare;
use crate::codec::fault::{Exceeded, Fault};
use crate::driver::deadlines::NEVER;
use crate::driver::local::Local;
use crate::request::Request;
use crate::request_body::{ReadError, RequestBody};

/// The receiving direction of a stream; there from the head to the answer.
pub(super) struct Incoming {
    stream: RecvStream,
    /// The reader, where the handler takes the body as it comes.
    reader: Option<Rc<RequestBody>>,
    /// The client waits to be told that it may send.
    pub(super) owes_continue: bool,
    bytes_max: usize,
    bytes: usize,
    /// The time at which the next progress is due, and the time left for it while that does not run.
    by: u64,
    idle_left: u64,
    progress_bytes: usize,
    has_ended: bool,
}

/// The result of waiting for a body that is collected.
pub(super) enum Collected {
    Whole,
    /// The client has reset the stream, or has gone.
    Gone,
    Refused(Fault),
}

impl Incoming {
    pub(super) fn new(stream: RecvStream, bytes_max: usize, local: &Local) -> Self {
        let idle = local.limits.body_idle_millis_max;
        Self {
            stream,
            reader: None,
            owes_continue: false,
            bytes_max,
            bytes: 0,
            by: local.now_millis() + idle,
            idle_left: idle,
            progress_bytes: 0,
            has_ended: false,
        }
    }

    /// Gives the body to a reader.
    pub(super) fn read_by(&mut self, reader: Rc<RequestBody>) {
        self.reader = Some(reader);
        self.by = NEVER;
    }

    /// Returns the time at which the client is too late.
    pub(super) fn deadline(&self) -> u64 {
        self.by
    }

    /// Reports whether the handler waits for its client to send.
    pub(super) fn is_awaited(&self) -> bool {
        let reader = self.reader.as_ref();
        !self.has_ended && reader.is_some_and(|reader| reader.is_wanted())
    }

    /// Takes what has come of a body that is collected.
    pub(super) fn collect(
        &mut self,
        cx: &mut Context<'_>,
        request: &mut Request,
        share: &mut BodyShare,
        local: &Local,
    ) -> Poll<Collected> {
        let waited = share.waits();
        loop {
            let bytes = match self.stream.poll_data(cx) {
                Poll::Pending => {
                    self.open_window(share, waited, local);
                    return Poll::Pending;
                }
                Poll::Ready(None) => {
                    self.release(share.take_all());
                    return Poll::Ready(Collected::Whole);
                }
                Poll::Ready(Some(Err(_))) => return Poll::Ready(Collected::Gone),
                Poll::Ready(Some(Ok(bytes))) => bytes,
            };
            share.add(bytes.len());
            if let Err(fault) = self.count(bytes.len()) {
                self.release(share.take_all());
                return Poll::Ready(Collected::Refused(fault));
            }
            let uncounted_max = share.uncounted_bytes_max();
            if let Some(capacity) = request.decoder.growth_by(bytes.len(), uncounted_max)
                && let Err(limit) = request.grow(capacity, &local.shared.clients.received)
            {
                self.release(share.take_all());
                let Exceeded { name, max } = limit;
                let fault = Fault::above(503, "no memory for the body", name, max);
                return Poll::Ready(Collected::Refused(fault));
            }
            request.decoder.add_body(&bytes);
            self.progress_bytes += bytes.len();
            if self.progress_bytes >= local.limits.progress_bytes_min {
                self.progress_bytes = 0;
                self.by = local.now_millis() + local.limits.body_idle_millis_max;
            }
        }
    }

    /// Lets the client send as many bytes again as have been taken, unless other bodies come first. Until they have,
    /// the client has all the time.
    fn open_window(&mut self, share: &mut BodyShare, waited: bool, local: &Local) {
        let bytes = share.take_withheld();
        if share.waits() {
            self.by = NEVER;
        } else if waited {
            self.by = local.now_millis() + local.limits.body_idle_millis_max;
        }
        self.release(bytes);
    }

    /// Gives the client a new window for bytes that have come.
    fn release(&mut self, bytes: usize) {
        if bytes > 0 {
            // Fails only where the stream has ended already.
            let _ = self.stream.flow_control().release_capacity(bytes);
        }
    }

    /// Hands what has come to the reader. True if there is something to do now.
    pub(super) fn pass_on(&mut self, cx: &mut Context<'_>, local: &Local) -> bool {
        if !self.is_awaited() {
            return false;
        }
        let Some(reader) = self.reader.clone() else {
            return false;
        };
        let now = local.now_millis();
        loop {
            match self.stream.poll_data(cx) {
                Poll::Pending => {
                    if self.by == NEVER {
                        self.by = now + self.idle_left;
                    }
                    return false;
                }
                Poll::Ready(None) => {
                    self.has_ended = true;
                    reader.end(Some(cx));
                }
                Poll::Ready(Some(Err(_))) => {
                    self.fail(Fault::bad("the client left before the end of the body"));
                }
                Poll::Ready(Some(Ok(bytes))) if bytes.is_empty() => continue,
                Poll::Ready(Some(Ok(bytes))) => {
                    self.release(bytes.len());
                    self.note_progress(bytes.len(), now, local);
                    match self.count(bytes.len()) {
                        Ok(()) => reader.give(Vec::from(bytes), Some(cx)),
                        Err(fault) => self.fail(fault),
                    }
                }
            }
            self.by = NEVER;
            return true;
        }
    }

    fn count(&mut self, bytes: usize) -> Result<(), Fault> {
        self.bytes += bytes;
        if self.bytes > self.bytes_max {
            let max = self.bytes_max as u64;
            return Err(Fault::above(413, "body too large", "body_bytes_max", max));
        }
        Ok(())
    }

    /// The time for the next bytes stands still until the reader waits again. Few bytes are no progress.
    fn note_progress(&mut self, bytes: usize, now: u64, local: &Local) {
        self.progress_bytes += bytes;
        if self.progress_bytes >= local.limits.progress_bytes_min {
            self.progress_bytes = 0;
            self.idle_left = local.limits.body_idle_millis_max;
        } else if self.by != NEVER {
            self.idle_left = self.by.saturating_sub(now);
        }
    }

    /// The body will not be read to its end; its reader is told why.
    pub(super) fn fail(&mut self, fault: Fault) {
        self.has_ended = true;
        self.by = NEVER;
        if let Some(reader) = &self.reader {
            reader.fail(ReadError::Fault(fault));
        }
    }

    /// Has the reader wake the stream while that is not running.
    pub(super) fn park(&self, cx: &Context<'_>) {
        if let Some(reader) = self.reader.as_ref().filter(|_| !self.has_ended) {
            reader.park(cx);
        }
    }

    /// The opposite.
    pub(super) fn unpark(&self) {
        if let Some(reader) = &self.reader {
            reader.unpark();
        }
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Some(reader) = &self.reader {
            reader.close();
        }
    }
}
