//! The task of a connection: writes what was asked for, reads the answers, and ends when either side does.

use super::answers;
use super::messages;
use super::state::{Connection, ConnectionState};
use super::wire::Wire;
use crate::limits::{MESSAGE_BYTES_MAX, READ_BYTES, TURN_BYTES_MAX};
use bytes::{Buf, BytesMut};
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Starts the task of a connection that is logged in, on this thread.
pub(crate) fn start(wire: Box<dyn Wire>, state: ConnectionState) -> Rc<Connection> {
    let state = Rc::new(RefCell::new(state));
    drop(tokio::task::spawn_local(Driver {
        state: Rc::clone(&state),
        wire,
        input: vec![0; READ_BYTES],
        begin: 0,
        end: 0,
        out: BytesMut::new(),
        encoded: 0,
        written: 0,
        timer: None,
    }));
    Rc::new(Connection(state))
}

/// The task of a connection.
struct Driver {
    state: Rc<RefCell<ConnectionState>>,
    wire: Box<dyn Wire>,
    input: Vec<u8>,
    /// The bytes that were read and not taken in lie between these.
    begin: usize,
    end: usize,
    out: BytesMut,
    /// The bytes that were ever put into `out`, and taken from it.
    encoded: u64,
    written: u64,
    /// Set while answers are awaited, and a little longer.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let ended = loop {
            this.encode();
            if let Poll::Ready(why) = this.write(cx) {
                break why;
            }
            match this.read(cx) {
                Poll::Ready(Some(why)) => break why,
                Poll::Ready(None) => {}
                Poll::Pending => {}
            }
            let mut state = this.state.borrow_mut();
            if state.is_closing && state.sent.is_empty() && state.unsent.is_empty() {
                drop(state);
                let mut last = BytesMut::new();
                messages::terminate(&mut last);
                // The server notices the end of the connection too.
                let _ = Pin::new(&mut this.wire).poll_write(cx, &last);
                break "it was closed".to_owned();
            }
            if let Some(cancel) = state.due_cancel() {
                let shared = Rc::clone(&this.state);
                drop(tokio::task::spawn_local(async move {
                    cancel.await;
                    shared.borrow_mut().cancelled();
                }));
            }
            if !state.unsent.is_empty() && !state.is_held() {
                continue;
            }
            if let Some(why) = wait(&mut state, &mut this.timer, cx) {
                break why;
            }
            match &mut state.waker {
                Some(waker) => waker.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
            return Poll::Pending;
        };
        this.end(&ended);
        Poll::Ready(())
    }
}

/// Counts time while answers are awaited. Returns the reason for which the server is given up, if it is.
fn wait(
    state: &mut ConnectionState,
    timer: &mut Option<Pin<Box<Sleep>>>,
    cx: &mut Context<'_>,
) -> Option<String> {
    if state.sent.is_empty() && timer.is_none() {
        return None;
    }
    let tick = state.patience.tick()?;
    let sleep = timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(tick)));
    while sleep.as_mut().poll(cx).is_ready() {
        // It goes on from one statement to the next, and ends when a whole tick has passed without any.
        if state.sent.is_empty() {
            *timer = None;
            return None;
        }
        sleep.as_mut().reset(Instant::now() + tick);
        if let Some(why) = state.count_tick() {
            return Some(why);
        }
        // What is late now is to be stopped.
        cx.waker().wake_by_ref();
    }
    None
}

impl Drop for Driver {
    fn drop(&mut self) {
        // The runtime ends, or a fault of ours has ended the task.
        self.end("its task has ended");
    }
}

impl Driver {
    /// Ends what is under way. Only the first call has an effect.
    fn end(&mut self, why: &str) {
        let Ok(mut state) = self.state.try_borrow_mut() else {
            return;
        };
        let ends = state.end(why, self.written);
        drop(state);
        for (exchange, failure) in ends {
            exchange.finish(Some(failure));
        }
    }

    fn encode(&mut self) {
        let mut state = self.state.borrow_mut();
        if state.is_held() {
            return;
        }
        while let Some(exchange) = state.unsent.pop_front() {
            // Nothing of it has left, so nothing has to be undone.
            if exchange.state.borrow().is_abandoned {
                exchange.finish(None);
                continue;
            }
            let before = self.out.len();
            state.encode(&exchange, &mut self.out);
            let start = self.encoded;
            self.encoded += (self.out.len() - before) as u64;
            state.sent.push_back((exchange, start));
        }
    }

    /// Writes as much as the socket takes. Ready with the reason if that is over.
    fn write(&mut self, cx: &mut Context<'_>) -> Poll<String> {
        while !self.out.is_empty() {
            match Pin::new(&mut self.wire).poll_write(cx, &self.out) {
                Poll::Ready(Ok(0)) => return Poll::Ready("it takes no more bytes".to_owned()),
                Poll::Ready(Ok(len)) => {
                    self.out.advance(len);
                    self.written += len as u64;
                }
                // The server may have said why before it closed the connection.
                Poll::Ready(Err(error)) => {
                    while let Poll::Ready(None) = self.read(cx) {}
                    return Poll::Ready(error.to_string());
                }
                Poll::Pending => return Poll::Pending,
            }
        }
        if self.out.capacity() > TURN_BYTES_MAX {
            self.out = BytesMut::new();
        }
        match Pin::new(&mut self.wire).poll_flush(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(error.to_string()),
            _ => Poll::Pending,
        }
    }

    /// Reads what is there. `Some` is the reason if that is over; `None` if there may be more.
    fn read(&mut self, cx: &mut Context<'_>) -> Poll<Option<String>> {
        let mut taken = 0;
        loop {
            self.make_room();
            let mut space = ReadBuf::new(&mut self.input[self.end..]);
            let read = ready!(Pin::new(&mut self.wire).poll_read(cx, &mut space));
            let len = space.filled().len();
            match read {
                Err(error) => return Poll::Ready(Some(error.to_string())),
                Ok(()) if len == 0 => {
                    return Poll::Ready(Some("the server closed it".to_owned()));
                }
                Ok(()) => self.end += len,
            }
            if let Err(why) = self.take() {
                return Poll::Ready(Some(why));
            }
            taken += len;
            if taken >= TURN_BYTES_MAX {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
    }

    /// Moves what is left to the beginning where the room behind it is small, and makes more where a message needs it.
    fn make_room(&mut self) {
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
            if self.input.len() > 16 * READ_BYTES {
                self.input = vec![0; READ_BYTES];
            }
        }
        if self.input.len() - self.end >= READ_BYTES / 4 {
            return;
        }
        self.input.copy_within(self.begin..self.end, 0);
        (self.begin, self.end) = (0, self.end - self.begin);
        if self.input.len() - self.end < READ_BYTES / 4 {
            let larger = self.input.len() * 2;
            self.input.resize(larger, 0);
        }
    }

    /// Takes in all messages that have come whole.
    fn take(&mut self) -> Result<(), String> {
        let mut state = self.state.borrow_mut();
        while let Some(head) = self.input[self.begin..self.end].first_chunk::<5>() {
            let len = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            if !(4..=MESSAGE_BYTES_MAX).contains(&len) {
                return Err("a message has an impossible length".to_owned());
            }
            if self.end - self.begin < 1 + len {
                break;
            }
            let body = self.begin + 5..self.begin + 1 + len;
            let tag = head[0];
            self.begin = body.end;
            answers::take(&mut state, tag, &self.input[body])?;
        }
        Ok(())
    }
}
