//! Connections that leave HTTP: after 101 a handler has the socket for itself (RFC 9110 section 7.8). Over HTTP/2 it
//! has one stream, after the answer 200 to an extended CONNECT (RFC 8441).

use std::fmt;
use std::io::{self, Cursor};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use http::header::HeaderMap;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::codec::fields::is_field_value;
use crate::codec::http2::fields_of;
use crate::future::LocalFuture;
use crate::limits::Limits;
use crate::received::MessageRoom;
use crate::response::{HeaderError, Response};

/// The rest of a connection's life: gets the socket, and is polled as part of the connection until it is ready.
pub(crate) type Takeover = Box<dyn FnOnce(Upgraded) -> LocalFuture<()>>;

/// The answer 101, or 200 to an extended CONNECT, and who takes the connection over after it. See
/// [`Answer::Upgrade`](crate::Answer::Upgrade).
pub struct Upgrade {
    protocol: String,
    fields: Response,
    pub(crate) take: Takeover,
}

impl Upgrade {
    /// Switches to `protocol`, as the request's `Upgrade` field names it: `websocket`.
    ///
    /// # Errors
    /// The name cannot stand in a field.
    pub fn new(
        protocol: &str,
        take: impl FnOnce(Upgraded) -> LocalFuture<()> + 'static,
    ) -> Result<Self, HeaderError> {
        if !is_field_value(protocol.as_bytes()) {
            return Err(HeaderError::InvalidValue);
        }
        Ok(Self {
            protocol: protocol.to_owned(),
            fields: Response::new(200),
            take: Box::new(take),
        })
    }

    /// Adds a field to the answer.
    ///
    /// # Errors
    /// As [`Response::header`].
    pub fn header(&mut self, name: &[u8], value: &[u8]) -> Result<(), HeaderError> {
        self.fields.header(name, value)
    }

    /// Returns the fields of the answer as HTTP/2 has them, and who takes the stream over.
    pub(crate) fn into_http2(self) -> (HeaderMap, Takeover) {
        let mut fields = HeaderMap::new();
        fields_of(&self.fields.into_parts().0.fields, &mut fields);
        (fields, self.take)
    }

    /// Appends the head of the answer.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, date: &[u8]) {
        out.extend_from_slice(b"HTTP/1.1 101 Switching Protocols\r\nDate: ");
        out.extend_from_slice(date);
        out.extend_from_slice(b"\r\nConnection: Upgrade\r\nUpgrade: ");
        out.extend_from_slice(self.protocol.as_bytes());
        out.extend_from_slice(b"\r\n");
        for (name, value) in self.fields.headers() {
            for part in [name, b": ", value, b"\r\n"] {
                out.extend_from_slice(part);
            }
        }
        out.extend_from_slice(b"\r\n");
    }
}

impl fmt::Debug for Upgrade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upgrade")
            .field("fields", &self.fields)
            .finish_non_exhaustive()
    }
}

/// A socket of any runtime, and what its worker knows.
pub(crate) trait Io: AsyncRead + AsyncWrite {
    /// Waits until a read would give something, without a buffer.
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Waits until a write would take something, as far as that can be told.
    fn poll_writable(&self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Returns the time of the worker's clock, in milliseconds.
    fn now_millis(&self) -> u64;

    /// Has the connection polled at this time; `u64::MAX` for never.
    fn wake_at(&self, millis: u64);

    /// Reports whether the connection is to end, because its worker does.
    fn is_draining(&self) -> bool;

    /// Returns the longest time in which a client may take nothing of what waits for it, in milliseconds.
    fn write_idle_millis_max(&self) -> u64 {
        Limits::DEFAULT.write_idle_millis_max
    }

    /// Returns the most control frames that a client may send within a second.
    fn control_frames_max(&self) -> usize {
        Limits::DEFAULT.control_frames_max
    }

    /// Returns the room for a message that arrives. See [`Upgraded::message_room`].
    fn message_room(&self) -> Option<MessageRoom> {
        None
    }

    /// Returns the pace that a client must keep. See [`Upgraded::body_pace`].
    fn body_pace(&self) -> (u64, usize) {
        let limits = &Limits::DEFAULT;
        (limits.body_idle_millis_max, limits.progress_bytes_min)
    }

    /// Counts bytes that wait for the client. See [`Upgraded::note_unsent`].
    fn note_unsent(&self, _bytes: usize, _has_moved: bool) {}

    /// Returns a counter. See [`Upgraded::unsent_counter`].
    fn unsent_counter(&self) -> Option<Rc<dyn Fn(usize)>> {
        None
    }
}

/// A socket after 101. What the client sent right behind its request is read first. The limits of HTTP no longer hold
/// on it; it is closed when it is dropped, and when its worker has ended.
pub struct Upgraded {
    /// Bytes that are not read yet. Few connections have any, so they have no place of their own in it.
    early: Option<Box<Cursor<Vec<u8>>>>,
    socket: Pin<Box<dyn Io>>,
}

impl Upgraded {
    pub(crate) fn new(early: Vec<u8>, socket: Pin<Box<dyn Io>>) -> Self {
        let is_early = !early.is_empty();
        let early = is_early.then(|| Box::new(Cursor::new(early)));
        Self { early, socket }
    }
}

impl Upgraded {
    /// Waits until a read would give something. So a connection needs no buffer while its client is silent.
    ///
    /// # Errors
    /// The connection has failed.
    pub fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.early {
            None => self.socket.poll_readable(cx),
            Some(_) => Poll::Ready(Ok(())),
        }
    }

    /// Waits until a write would take something. So nothing is put together for a client that does not read. It may be
    /// ready though a write would wait.
    ///
    /// # Errors
    /// The connection has failed.
    pub fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_writable(cx)
    }

    /// Returns the time of the worker's clock, in milliseconds. It is as coarse as the worker's deadlines.
    pub fn now_millis(&self) -> u64 {
        self.socket.now_millis()
    }

    /// Has the future polled at this time of that clock, in place of an earlier wish; `u64::MAX` for never.
    pub fn wake_at(&self, millis: u64) {
        self.socket.wake_at(millis);
    }

    /// Reports whether the connection is to end, because the worker does. The future is polled at that moment, which is
    /// another for each connection: a worker that ends lets go of them one after the other, within `drain_millis`.
    pub fn is_draining(&self) -> bool {
        self.socket.is_draining()
    }

    /// Returns [`Limits::write_idle_millis_max`]: the longest time in which a client may take nothing of what waits for
    /// it. The future minds it.
    pub fn write_idle_millis_max(&self) -> u64 {
        self.socket.write_idle_millis_max()
    }

    /// Returns [`Limits::control_frames_max`]: the most control frames that a client may send within a second. The
    /// future minds it.
    pub fn control_frames_max(&self) -> usize {
        self.socket.control_frames_max()
    }

    /// Returns the room for a message that arrives: its part in [`Limits::received_bytes_max`]. Nothing where the
    /// connection counts none. The future minds it.
    pub fn message_room(&self) -> Option<MessageRoom> {
        self.socket.message_room()
    }

    /// Returns [`Limits::body_idle_millis_max`] and [`Limits::progress_bytes_min`]: the time, in milliseconds, in which
    /// so many bytes of a message must come that has begun. The future minds it.
    pub fn body_pace(&self) -> (u64, usize) {
        self.socket.body_pace()
    }

    /// Notes how many bytes the future holds that its client has not taken, for [`Limits::unsent_bytes_max`].
    /// `has_moved` says that the client has just taken some. Over a limit, connections whose clients read slowest are
    /// closed, which may be this one. Those of HTTP/2 are closed with all their streams.
    pub fn note_unsent(&self, bytes: usize, has_moved: bool) {
        self.socket.note_unsent(bytes, has_moved);
    }

    /// Returns what does the same for bytes that are added while the client takes none, without a turn of the future.
    /// It holds until bytes are next noted to be none. Nothing as long as none are counted, or where the connection
    /// counts the bytes in turns of its own, as that of HTTP/2 does.
    pub fn unsent_counter(&self) -> Option<Rc<dyn Fn(usize)>> {
        self.socket.unsent_counter()
    }
}

impl fmt::Debug for Upgraded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upgraded").finish_non_exhaustive()
    }
}

impl AsyncRead for Upgraded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let Some(early) = &mut this.early else {
            return this.socket.as_mut().poll_read(cx, buf);
        };
        let at = early.position() as usize;
        let rest = &early.get_ref()[at..];
        let len = rest.len().min(buf.remaining());
        buf.put_slice(&rest[..len]);
        if len == rest.len() {
            this.early = None;
        } else {
            early.set_position((at + len) as u64);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Upgraded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.socket.as_mut().poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.as_mut().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.as_mut().poll_shutdown(cx)
    }
}
