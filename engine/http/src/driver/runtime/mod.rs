//! The services that the driver needs: sockets that say when they are ready, tasks, and time. Tokio gives them to
//! `sampan run`, a
//! [`Pump`](pump::Pump) to a program with a loop of its own.

pub(super) mod pump;
pub(super) mod readiness;

use std::future::Future;
use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::Interest;

/// The direction in which a socket is to be ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To be read, or at its end.
    Read,
    /// To be written.
    Write,
}

/// A socket that does not block. Events are edge-triggered: one that was ready stays so until [`Socket::try_io`] has
/// seen "would block".
pub trait Socket: AsFd + Send + Sync + Sized + 'static {
    /// Ready if the socket may be, or has failed. Else the task is woken when that changes; one task has both
    /// directions of a socket.
    fn poll_ready(&self, direction: Direction, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Runs `operation` if the socket may be ready, and forgets that it was where `operation` fails with "would block".
    ///
    /// # Errors
    /// Those of `operation`; "would block" where the socket is known not to be ready.
    fn try_io<T>(
        &self,
        direction: Direction,
        operation: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T>;
}

/// An open socket, in any runtime.
pub(super) type SharedSocket = Arc<dyn AsFd + Send + Sync>;

/// Runs the tasks of one thread.
pub trait Runtime: Clone + 'static {
    /// The type of its sockets.
    type Socket: Socket;

    /// Takes over a socket that does not block.
    ///
    /// # Errors
    /// The system has no room for it.
    fn socket(&self, socket: TcpStream) -> io::Result<Self::Socket>;

    /// Runs a task on this thread.
    fn spawn(&self, task: impl Future<Output = ()> + 'static);

    /// Waits.
    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + 'static;
}

/// A tokio current-thread runtime with I/O and time enabled, inside of a `LocalSet`.
#[derive(Clone, Copy, Debug)]
pub struct Tokio;

impl Runtime for Tokio {
    type Socket = tokio::net::TcpStream;

    fn socket(&self, socket: TcpStream) -> io::Result<Self::Socket> {
        tokio::net::TcpStream::from_std(socket)
    }

    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        drop(tokio::task::spawn_local(task));
    }

    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + 'static {
        tokio::time::sleep(time)
    }
}

impl Socket for tokio::net::TcpStream {
    fn poll_ready(&self, direction: Direction, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match direction {
            Direction::Read => self.poll_read_ready(cx),
            Direction::Write => self.poll_write_ready(cx),
        }
    }

    fn try_io<T>(
        &self,
        direction: Direction,
        operation: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let interest = match direction {
            Direction::Read => Interest::READABLE,
            Direction::Write => Interest::WRITABLE,
        };
        tokio::net::TcpStream::try_io(self, interest, operation)
    }
}
