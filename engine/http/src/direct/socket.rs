//! A connection in memory: the handler's end is a task, the other end is a client's.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::JoinHandle;
use tokio::time::Sleep;

use crate::future::LocalFuture;
use crate::upgrade::{Io, Takeover, Upgraded};

/// Above so many bytes that the client has not taken, the handler waits, as it would for a full socket.
const WAITING_BYTES_MAX: usize = 64 * 1024;

/// The bytes on their way to one end.
#[derive(Default)]
struct Pipe {
    bytes: VecDeque<u8>,
    is_ended: bool,
    /// The end that waits for bytes, or for room.
    waiting: Option<Waker>,
}

impl Pipe {
    fn wake(&mut self) {
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }

    fn end(&mut self) {
        self.is_ended = true;
        self.wake();
    }
}

/// A connection that both ends share.
#[derive(Default)]
struct Wires {
    to_handler: RefCell<Pipe>,
    to_client: RefCell<Pipe>,
    /// The time at which the handler's future is to be polled, by its clock.
    wake_at: Cell<Option<u64>>,
    /// The handler, when it waits for the client to take bytes.
    full: RefCell<Option<Waker>>,
}

/// The client's end of a connection. The handler's end sees the connection end when it is dropped.
pub struct DirectSocket {
    wires: Rc<Wires>,
    task: JoinHandle<()>,
}

impl DirectSocket {
    pub(super) fn begin(take: Takeover) -> Self {
        let wires = Rc::new(Wires::default());
        let begun = Instant::now();
        let end = HandlerEnd {
            wires: Rc::clone(&wires),
            begun,
        };
        let task = HandlerTask {
            future: take(Upgraded::new(Vec::new(), Box::pin(end))),
            wires: Rc::clone(&wires),
            begun,
            alarm: None,
        };
        Self {
            wires,
            task: tokio::task::spawn_local(task),
        }
    }

    /// Sends bytes. They are dropped if the handler has ended.
    pub fn send(&self, bytes: &[u8]) {
        let mut pipe = self.wires.to_handler.borrow_mut();
        pipe.bytes.extend(bytes);
        pipe.wake();
    }

    /// Waits for bytes. There are none at the end of the connection.
    pub fn poll_receive(&self, cx: &mut Context<'_>) -> Poll<Vec<u8>> {
        let mut pipe = self.wires.to_client.borrow_mut();
        if pipe.bytes.is_empty() && !pipe.is_ended {
            pipe.waiting = Some(cx.waker().clone());
            return Poll::Pending;
        }
        if let Some(waker) = self.wires.full.take() {
            waker.wake();
        }
        Poll::Ready(pipe.bytes.drain(..).collect())
    }

    /// Ends the client's side of the connection.
    pub fn leave(&self) {
        self.wires.to_handler.borrow_mut().end();
        if let Some(waker) = self.wires.full.take() {
            waker.wake();
        }
    }

    /// Waits until the handler has ended.
    pub fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.task.is_finished() {
            true => Poll::Ready(()),
            false => Pin::new(&mut self.task).poll(cx).map(drop),
        }
    }

    /// Drops the handler's end, wherever it is.
    pub fn abort(&self) {
        self.task.abort();
    }
}

impl Drop for DirectSocket {
    fn drop(&mut self) {
        self.leave();
    }
}

impl std::fmt::Debug for DirectSocket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DirectSocket").finish_non_exhaustive()
    }
}

/// The future that took the connection over, and its alarm.
struct HandlerTask {
    future: LocalFuture<()>,
    wires: Rc<Wires>,
    begun: Instant,
    alarm: Option<(u64, Pin<Box<Sleep>>)>,
}

impl Future for HandlerTask {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        loop {
            if this.future.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            let wanted = this.wires.wake_at.get();
            if this.alarm.as_ref().map(|(at, _)| *at) != wanted {
                let until = |at| this.begun + Duration::from_millis(at);
                let sleep = |at| Box::pin(tokio::time::sleep_until(until(at).into()));
                this.alarm = wanted.map(|at| (at, sleep(at)));
            }
            let Some((_, sleep)) = &mut this.alarm else {
                return Poll::Pending;
            };
            if sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            this.alarm = None;
            this.wires.wake_at.set(None);
        }
    }
}

struct HandlerEnd {
    wires: Rc<Wires>,
    begun: Instant,
}

impl Drop for HandlerEnd {
    fn drop(&mut self) {
        self.wires.to_client.borrow_mut().end();
    }
}

impl Io for HandlerEnd {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut pipe = self.wires.to_handler.borrow_mut();
        if pipe.bytes.is_empty() && !pipe.is_ended {
            pipe.waiting = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }

    fn now_millis(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64
    }

    fn wake_at(&self, millis: u64) {
        self.wires
            .wake_at
            .set((millis != u64::MAX).then_some(millis));
    }

    fn is_draining(&self) -> bool {
        false
    }
}

impl AsyncRead for HandlerEnd {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        std::task::ready!(self.poll_readable(cx))?;
        let mut pipe = self.wires.to_handler.borrow_mut();
        let len = pipe.bytes.len().min(buf.remaining());
        for byte in pipe.bytes.drain(..len) {
            buf.put_slice(&[byte]);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for HandlerEnd {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.wires.to_handler.borrow().is_ended {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let mut pipe = self.wires.to_client.borrow_mut();
        let room = WAITING_BYTES_MAX.saturating_sub(pipe.bytes.len());
        if room == 0 {
            self.wires.full.replace(Some(cx.waker().clone()));
            return Poll::Pending;
        }
        let len = room.min(bytes.len());
        pipe.bytes.extend(&bytes[..len]);
        pipe.wake();
        Poll::Ready(Ok(len))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.wires.to_client.borrow_mut().end();
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    fn run(test: impl Future<Output = ()>) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().build().expect("a runtime");
        tokio::task::LocalSet::new().block_on(&runtime, test);
    }

    fn begin<F: Future<Output = ()> + 'static>(
        handler: impl FnOnce(Upgraded) -> F + 'static,
    ) -> DirectSocket {
        DirectSocket::begin(Box::new(move |stream| Box::pin(handler(stream))))
    }

    async fn receive(socket: &DirectSocket) -> Vec<u8> {
        poll_fn(|cx| socket.poll_receive(cx)).await
    }

    #[test]
    fn bytes_go_both_ways_until_either_end_leaves() {
        run(async {
            let mut socket = begin(|mut stream| async move {
                let mut room = [0; 3];
                stream.read_exact(&mut room).await.expect("three bytes");
                stream.write_all(&room).await.expect("written");
                assert_eq!(stream.read(&mut room).await.expect("the end"), 0);
            });
            socket.send(b"ab");
            socket.send(b"c");
            assert_eq!(receive(&socket).await, b"abc");
            socket.leave();
            poll_fn(|cx| socket.poll_ended(cx)).await;
            assert_eq!(receive(&socket).await, b"");
        });
    }

    #[test]
    fn a_handler_waits_for_a_client_that_does_not_read() {
        run(async {
            let socket = begin(|mut stream| async move {
                let piece = vec![1; WAITING_BYTES_MAX + 1];
                stream.write_all(&piece).await.expect("written");
            });
            let mut socket = socket;
            tokio::task::yield_now().await;
            assert!(!socket.task.is_finished());
            assert_eq!(receive(&socket).await.len(), WAITING_BYTES_MAX);
            assert_eq!(receive(&socket).await.len(), 1);
            poll_fn(|cx| socket.poll_ended(cx)).await;
        });
    }

    #[test]
    fn a_handler_is_polled_when_it_wants_to_be() {
        run(async {
            let mut socket = begin(|stream| async move {
                stream.wake_at(5);
                poll_fn(|_| match stream.now_millis() {
                    0..5 => Poll::Pending,
                    _ => Poll::Ready(()),
                })
                .await;
            });
            poll_fn(|cx| socket.poll_ended(cx)).await;
        });
    }
}
