//! The way of a connection's future. Each poll goes round: send what is decided, run what is running, take the next
//! requests, write, read, until only an event can bring it further.
//!
//! At steady state that is one read and one write for each request (or batch of pipelined requests): what has been read
//! short needs no second look, because the system reports new bytes. Answers keep the order of their requests. While
//! output waits for a slow client nothing is read from it, so it costs its limits and no more.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::expiry::Expired;
use super::{Connection, Phase, PollStep};
use crate::codec::encoder::Exchange;
use crate::codec::fault::Exceeded;
use crate::driver::clock::process_millis;
use crate::driver::deadlines::NEVER;
use crate::driver::replies::Queued;
use crate::driver::runtime::{SharedSocket, Socket};
use crate::driver::shared::unsent::{COUNTED_BYTES_MIN, UnsentPart};

/// Requests answered in one poll; then other connections get their turn.
const TURN_REQUESTS_MAX: u32 = 64;

/// The interval at which one poll fills the output, for a client that takes it as fast as it is made.
const TURN_OUTPUTS_MAX: u32 = 16;

/// The number of bytes that one poll sends at most; then other connections get their turn.
const TURN_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The interval at which one poll reads for the reader of a body, for a client that sends as fast as that reads.
const TURN_PIECES_MAX: u32 = 16;

impl<S: Socket> Connection<S> {
    fn say_overloaded(&mut self) {
        let limit = Exceeded {
            name: "connections_max",
            max: self.local.limits.connections_max as u64,
        };
        let response = self.local.refusal(503, Some(limit));
        let observed = self.observe(None);
        self.end_with(response, Exchange::UNKNOWN, observed);
    }

    fn drive(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.local.has_ended() {
            return Poll::Ready(());
        }
        self.local.touch();
        if self.taken.is_some() {
            return self.poll_taken(cx);
        }
        if self.http2.is_some() {
            return self.poll_http2(cx);
        }
        if self.is_proxied {
            match self.learn_client(cx) {
                Poll::Ready(true) => {}
                Poll::Ready(false) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
        if !self.last && self.transport.is_handshaking() {
            match self.shake_hands(cx) {
                Poll::Ready(true) if self.has_agreed_on_http2() => {
                    self.begin_http2(Vec::new());
                    return self.poll_http2(cx);
                }
                Poll::Ready(true) => {}
                Poll::Ready(false) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
        if self.refused && !self.last {
            self.say_overloaded();
        }
        let mut turn = TURN_REQUESTS_MAX;
        loop {
            if let Some(until) = self.linger_until {
                return self.poll_linger(cx, until);
            }
            let step = self.work(cx, &mut turn);
            let Ok(written) = self.flush(cx) else {
                return Poll::Ready(());
            };
            match step {
                PollStep::Http2 => {
                    let early = self.take_early();
                    self.begin_http2(early);
                    return self.poll_http2(cx);
                }
                PollStep::Yield => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                PollStep::OutputFull if written && turn > 0 => {
                    turn = turn.saturating_sub(TURN_REQUESTS_MAX / TURN_OUTPUTS_MAX);
                    continue;
                }
                PollStep::OutputFull if written => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                PollStep::Done if written => {
                    if self.takeover.is_none() && self.transport.close() {
                        continue;
                    }
                    if let Some(take) = self.takeover.take() {
                        self.hand_over(take);
                        return self.poll_taken(cx);
                    }
                    if !self.linger {
                        return Poll::Ready(());
                    }
                    self.begin_linger();
                    continue;
                }
                PollStep::Waiting if self.reads_body() => {
                    if turn == 0 {
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    if self.receive_body(cx) {
                        turn = turn.saturating_sub(TURN_REQUESTS_MAX / TURN_PIECES_MAX);
                        continue;
                    }
                }
                // While a future or a stream is under way its client is watched, so that work for a client
                // that has gone is dropped.
                PollStep::Waiting if self.running.is_some() || self.streaming.is_some() => {
                    match self.receive(cx, true) {
                        Received::Bytes => continue,
                        Received::Nothing | Received::Full(_) => {}
                        Received::End | Received::Gone => return Poll::Ready(()),
                    }
                }
                PollStep::Input if written => match self.receive(cx, false) {
                    Received::Bytes => continue,
                    Received::Nothing => {}
                    Received::End => {
                        self.last = true;
                        continue;
                    }
                    Received::Full(limit) => {
                        self.fail(503, Some(limit));
                        continue;
                    }
                    Received::Gone => return Poll::Ready(()),
                },
                PollStep::Waiting | PollStep::Input | PollStep::OutputFull | PollStep::Done => {}
            }
            // Only an event or the time can bring it further.
            if !self.may_have_expired() {
                self.arm(cx);
                return Poll::Pending;
            }
            match self.expire() {
                Expired::Nothing if self.park() => return Poll::Ready(()),
                Expired::Nothing => {
                    self.arm(cx);
                    return Poll::Pending;
                }
                Expired::Answered => {}
                Expired::Gone => return Poll::Ready(()),
            }
        }
    }

    /// Writes what there is. True if nothing is left.
    fn flush(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        let mut turn = 0;
        while !self.output.is_empty() || self.transport.is_sending() {
            let polled = if turn < TURN_BYTES_MAX {
                let pool = &self.local.pool;
                self.transport.poll_write(cx, pool, &self.output)
            } else {
                cx.waker().wake_by_ref();
                Poll::Pending
            };
            let Poll::Ready(written) = polled else {
                self.output.keep_tail();
                if self.write_by == NEVER {
                    self.write_by =
                        self.local.now_millis() + self.local.limits.write_idle_millis_max;
                    self.written_bytes = 0;
                }
                self.note_unsent(turn > 0);
                return Ok(false);
            };
            let moved = written?;
            self.output.consume(moved.output);
            turn += moved.socket;
            if !self.observed.is_empty() {
                self.observed.sent(self.output.sent_bytes());
            }
            self.written_bytes += moved.socket;
            if self.written_bytes >= self.local.limits.progress_bytes_min {
                self.write_by = NEVER;
            }
        }
        self.output.release(&self.local.pool);
        self.forget_unsent();
        if self.write_by != NEVER {
            self.write_by = NEVER;
            // Nothing was read from the client while it took its time to read.
            self.restart_reading();
        }
        Ok(true)
    }

    /// Ends the count: everything has been sent, or the connection ends.
    pub(super) fn forget_unsent(&mut self) {
        if let Some(part) = self.unsent.take() {
            self.local.note_freed(part.bytes());
        }
    }

    /// Counts what is left over, which may close this connection or slower ones.
    fn note_unsent(&mut self, has_moved: bool) {
        let queued: usize = self.queue.iter().map(Queued::held_bytes).sum();
        let bytes = self.output.held_bytes() + self.transport.held_bytes() + queued;
        if self.unsent.is_none() && bytes < COUNTED_BYTES_MIN {
            return;
        }
        let part = self.unsent.get_or_insert_with(|| {
            let socket = Arc::clone(self.transport.socket()) as SharedSocket;
            let peer = self.client.peer;
            UnsentPart::new(Arc::clone(&self.local.shared.clients), peer, socket)
        });
        part.grew_to(bytes);
        for closed in part.set(bytes, has_moved, process_millis()) {
            self.local.handler().closed_unread(&closed);
        }
    }

    /// Reads once. `ahead` is for reading while a request is being answered: to see the end, within a limit.
    fn receive(&mut self, cx: &mut Context<'_>, ahead: bool) -> Received {
        if self.eof {
            return Received::Nothing;
        }
        // Asked first, so that an idle connection needs no buffer to wait.
        match self.transport.poll_readable(cx) {
            Poll::Pending => return Received::Nothing,
            Poll::Ready(Err(_)) => return Received::Gone,
            Poll::Ready(Ok(())) => {}
        }
        let input = self
            .input
            .get_or_insert_with(|| self.local.pool.request(&self.client));
        let request = Rc::get_mut(input).expect("shared requests are replaced when they are");
        if let Some(capacity) = request.decoder.large_growth()
            && let Err(limit) = request.grow(capacity, &self.local.shared.clients.received)
        {
            return Received::Full(limit);
        }
        let decoder = &mut request.decoder;
        if ahead && decoder.buffered() >= self.local.limits.pipeline_bytes_max {
            return Received::Nothing;
        }
        let pool = &self.local.pool;
        match self.transport.poll_read_into(cx, pool, decoder.buffer()) {
            Poll::Pending => {
                self.release_input();
                Received::Nothing
            }
            Poll::Ready(Ok(0)) => {
                self.eof = true;
                Received::End
            }
            Poll::Ready(Ok(len)) => {
                if self.phase == Phase::Body {
                    self.note_body_progress(len);
                }
                Received::Bytes
            }
            Poll::Ready(Err(_)) => Received::Gone,
        }
    }
}

/// The result of reading once.
enum Received {
    Bytes,
    Nothing,
    /// The client has closed its sending direction.
    End,
    /// The memory for bodies has no room for the next bytes.
    Full(Exceeded),
    Gone,
}

impl<S: Socket> Future for Connection<S> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let connection = self.get_mut();
        connection.unpark_body();
        let polled = connection.drive(cx);
        if polled.is_pending() {
            connection.park_body(cx);
        }
        polled
    }
}
