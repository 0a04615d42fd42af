//! Streamed bodies: chunks of an answer on their way into the output, pieces of a request on their way to its handler.

use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::SockRef;

use super::{Connection, Phase};
use crate::codec::encoder::{
    CONTINUE, COPIED_BYTES_MAX, Length, encode_chunk, encode_chunk_size, encode_last_chunk,
};
use crate::codec::fault::{Exceeded, Fault};
use crate::driver::bodies::{ReceiveState, Receiving};
use crate::driver::deadlines::NEVER;
use crate::driver::output::Tail;
use crate::driver::panic::panic_text;
use crate::driver::runtime::Socket;
use crate::request_body::ReadError;
use crate::response::{BodyError, Chunk};

/// The most that is read of a request's body at once.
const PIECE_BYTES: usize = 64 * 1024;

/// A piece that fills less of its memory than this part is moved to memory of its size.
const SPARSE_PART: usize = 4;

/// The next result of a stream when it is ready.
type NextChunk = Option<Result<Chunk, BodyError>>;

impl<S: Socket> Connection<S> {
    /// Frames what a stream gave, or ends the connection where it failed.
    pub(super) fn take_chunk(&mut self, polled: std::thread::Result<Poll<NextChunk>>) -> Poll<()> {
        let chunked = self
            .streaming
            .as_ref()
            .is_some_and(|streaming| streaming.length == Length::Chunked);
        match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(Some(Ok(chunk)))) => {
                let out = self.output.buffer(&self.local.pool);
                let bytes = chunk.as_ref();
                if bytes.len() > COPIED_BYTES_MAX {
                    // Sent from where it is.
                    let end: &[u8] = if chunked {
                        encode_chunk_size(out, bytes.len());
                        b"\r\n"
                    } else {
                        b""
                    };
                    let tail = match chunk {
                        Chunk::Bytes(bytes) => Tail::Bytes(bytes),
                        Chunk::Lent(lender) => Tail::Lent(lender),
                        Chunk::LentBriefly(lender) => Tail::LentBriefly(lender),
                    };
                    self.output.set_tail(tail, end);
                    if self.running.is_some() {
                        // It is polled before this is sent.
                        self.output.keep_tail();
                    }
                } else if chunked {
                    encode_chunk(out, bytes);
                } else {
                    out.extend_from_slice(bytes);
                }
                let by = self.local.now_millis() + self.local.limits.stream_idle_millis_max;
                if let Some(streaming) = &mut self.streaming {
                    streaming.by = by;
                }
                return Poll::Ready(());
            }
            Ok(Poll::Ready(None)) => {
                if chunked {
                    encode_last_chunk(self.output.buffer(&self.local.pool));
                }
                self.streaming = None;
                self.end_body();
                if !self.observed.is_empty() {
                    let end = self.output.total_bytes();
                    self.observed.end_stream(end);
                    // The last bytes may have been sent before the end was known.
                    self.observed.sent(self.output.sent_bytes());
                }
                self.restart_reading();
                return Poll::Ready(());
            }
            Ok(Poll::Ready(Some(Err(_)))) => {}
            Err(panic) => self.local.handler().panicked(panic_text(&*panic)),
        }
        self.abort_stream();
        Poll::Ready(())
    }

    /// Ends the connection after what is in the output, so that the client sees that the body is not whole.
    /// Without a final chunk, or with fewer bytes than declared, it does. A body that only the connection's end
    /// delimits needs a reset instead of an orderly end.
    pub(super) fn abort_stream(&mut self) {
        self.last = true;
        self.linger = false;
        self.queue.clear();
        self.running = None;
        self.receiving = None;
        self.transport.cut();
        if self
            .streaming
            .take()
            .is_some_and(|streaming| streaming.length == Length::UntilClose)
        {
            // Fails only on a socket that is closed already.
            let _ = SockRef::from(&**self.transport.socket()).set_linger(Some(Duration::ZERO));
        }
    }

    /// Tells the stream that it is cut.
    pub(super) fn tell_stream(&mut self, name: &'static str, max: u64) {
        if let Some(streaming) = &mut self.streaming {
            streaming.stream.cut(Exceeded { name, max });
        }
    }
}

impl<S: Socket> Connection<S> {
    /// The request's body, while its next bytes are awaited from the socket or not wanted yet.
    fn reading(&self) -> Option<&Receiving> {
        let receiving = self.receiving.as_deref();
        receiving.filter(|receiving| receiving.state == ReceiveState::Reading)
    }

    /// Reports whether the coming bytes belong to a body that the handler reads.
    pub(super) fn reads_body(&self) -> bool {
        let receiving = self.receiving.as_ref();
        receiving.is_some_and(|receiving| receiving.state != ReceiveState::Whole)
    }

    /// Reports whether the handler waits for its client to send.
    pub(super) fn awaits_body(&self) -> bool {
        self.reading()
            .is_some_and(|receiving| receiving.body.is_wanted())
    }

    /// Reads once for a reader that waits. True if there is something to do now.
    pub(super) fn receive_body(&mut self, cx: &mut Context<'_>) -> bool {
        loop {
            if !self.awaits_body() {
                return false;
            }
            let now = self.local.now_millis();
            let Some(receiving) = &mut self.receiving else {
                return false;
            };
            if receiving.owes_continue {
                // It must not overtake an answer that is held, and has no place within one.
                if !self.queue.is_empty() {
                    return false;
                }
                receiving.owes_continue = false;
                if self.streaming.is_none() {
                    let out = self.output.buffer(&self.local.pool);
                    out.extend_from_slice(CONTINUE);
                    return true;
                }
            }
            if self.phase != Phase::Body {
                self.phase = Phase::Body;
                self.read_by = now + receiving.idle_left;
            }
            // Asked first, so that a reader that waits owns no buffer.
            if self.transport.poll_readable(cx).is_pending() {
                return false;
            }
            let mut bytes = Vec::with_capacity(receiving.decoder.wanted(PIECE_BYTES));
            let pool = &self.local.pool;
            match self.transport.poll_read_into(cx, pool, &mut bytes) {
                Poll::Pending => return false,
                Poll::Ready(Ok(len)) if len > 0 => {
                    self.note_body_bytes(len, now);
                    match self.take_body_bytes(bytes, Some(cx)) {
                        Ok(()) => self.pass_rest_on(),
                        Err(fault) => self.fail_body(fault),
                    }
                }
                Poll::Ready(end) => {
                    self.eof |= end.is_ok();
                    self.fail_body(Fault::bad("the client left before the end of the body"));
                }
            }
            if !self.awaits_body() {
                return true;
            }
        }
    }

    /// The time for the next bytes stands still until the reader waits again. Few bytes are no progress.
    fn note_body_bytes(&mut self, len: usize, now: u64) {
        let limits = &self.local.limits;
        let Some(receiving) = &mut self.receiving else {
            return;
        };
        receiving.progress_bytes += len;
        if receiving.progress_bytes >= limits.progress_bytes_min {
            receiving.progress_bytes = 0;
            receiving.idle_left = limits.body_idle_millis_max;
        } else {
            receiving.idle_left = self.read_by.saturating_sub(now);
        }
    }

    /// Takes bytes as they were received: those of the body go to its reader.
    pub(super) fn take_body_bytes(
        &mut self,
        mut bytes: Vec<u8>,
        cx: Option<&Context<'_>>,
    ) -> Result<(), Fault> {
        let Some(receiving) = &mut self.receiving else {
            return Ok(());
        };
        let piece = receiving.decoder.decode(&mut bytes, &self.local.limits)?;
        if piece.is_last {
            receiving.state = ReceiveState::Whole;
            receiving.rest.extend_from_slice(&bytes[piece.read..]);
        }
        bytes.truncate(piece.data);
        if piece.data < bytes.capacity() / SPARSE_PART {
            bytes.shrink_to_fit();
        }
        if !bytes.is_empty() {
            receiving.body.give(bytes, cx);
        }
        if piece.is_last {
            receiving.body.end(cx);
        }
        if piece.is_last || piece.data > 0 {
            self.pause_body_clock();
        }
        Ok(())
    }

    /// The reader has been given something: the time is its own from now on.
    fn pause_body_clock(&mut self) {
        self.phase = Phase::Busy;
        self.read_by = NEVER;
        let by = self.local.now_millis() + self.local.limits.handler_millis_max;
        if let Some(running) = &mut self.running {
            running.by = by;
        }
    }

    /// The body will not be read to its end; its reader is told why.
    pub(super) fn fail_body(&mut self, fault: Fault) {
        if let Some(receiving) = &mut self.receiving {
            receiving.state = ReceiveState::Failed;
            receiving.body.fail(ReadError::Fault(fault));
        }
        self.pause_body_clock();
    }

    /// Hands what came behind a body to the next request.
    pub(super) fn pass_rest_on(&mut self) {
        let Some(receiving) = &mut self.receiving else {
            return;
        };
        if receiving.state != ReceiveState::Whole || receiving.rest.is_empty() {
            return;
        }
        let rest = std::mem::take(&mut receiving.rest);
        let local = &self.local;
        let input = self
            .input
            .get_or_insert_with(|| local.pool.request(&self.client));
        if let Some(request) = Rc::get_mut(input) {
            request.decoder.feed(&rest);
        }
    }

    /// Ends the body of a request that has been answered. What is left of it is thrown away with the connection.
    pub(super) fn end_body(&mut self) {
        if self.reads_body() {
            self.last = true;
            self.linger = true;
        }
        self.receiving = None;
    }

    /// Has the reader wake the connection while that is not running.
    pub(super) fn park_body(&self, cx: &Context<'_>) {
        if let Some(receiving) = self.reading() {
            receiving.body.park(cx);
        }
    }

    /// The opposite.
    pub(super) fn unpark_body(&self) {
        if let Some(receiving) = self.reading() {
            receiving.body.unpark();
        }
    }
}
