//! Requests over a connection of HTTP/2, whose frames are the `h2` crate's.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::ops::Deref;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{Reason, RecvStream, SendStream};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::fault::{ClientFault, ClientFaultKind};
use super::http1::{Sight, Unanswered};
use super::pool::Place;
use super::reach::Wire;
use super::request::{ClientBody, SendFault, SendState, Source};
use super::timer::{Timer, Wait};
use signs::Signs;

mod signs;

/// The bytes of one body that a server may send ahead of its reader.
const STREAM_WINDOW_BYTES: u32 = 256 * 1024;

/// The bytes of all bodies of a connection that a server may send ahead of their readers: the largest window (RFC 9113
/// section 6.9.1). Bodies that are not read do not stop the others, and each is limited by the window of its stream.
const CONNECTION_WINDOW_BYTES: u32 = (1 << 31) - 1;

/// The memory of a connection for the frames of unread bodies that have only a few bytes each. Beyond it the connection
/// is closed: windows do not count what such frames take beside their bytes.
const SMALL_FRAMES_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The requests at the same time that a server is taken to allow until it has told its limit: the smallest number that
/// RFC 9113 section 6.5.2 recommends. Those that it refuses all the same are sent again.
const STREAMS_ASSUMED: usize = 100;

/// The time in which a connection that is no longer used must have said its farewell.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(5);

/// A connection of HTTP/2, which many requests share. It is closed when the last of them and the pool let it go.
pub(super) struct Http2 {
    sender: SendRequest<Bytes>,
    is_over: Rc<Cell<bool>>,
    signs: Rc<Signs>,
    /// Dropped with this: then its task ends soon.
    _held: oneshot::Sender<Infallible>,
    /// The requests that have a slot.
    in_use: Cell<usize>,
    /// The end of its last request.
    pub(super) used: Cell<Instant>,
    pub(super) place: Place,
}

impl Http2 {
    /// Begins a connection on which the server has chosen HTTP/2.
    pub(super) async fn begin(
        wire: Wire,
        place: Place,
        head_bytes_max: usize,
    ) -> Result<Self, ClientFault> {
        let mut builder = h2::client::Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .data_frame_budget(SMALL_FRAMES_BYTES_MAX)
            .initial_max_send_streams(STREAMS_ASSUMED)
            .max_header_list_size(head_bytes_max as u32);
        let (sender, mut connection) = builder
            .handshake(wire)
            .await
            .map_err(|error| fault(&error))?;
        let is_over = Rc::new(Cell::new(false));
        let ended = Rc::clone(&is_over);
        let signs = Rc::new(Signs::default());
        let pings = connection.ping_pong();
        let watched = Rc::clone(&signs);
        let (held, released) = oneshot::channel();
        drop(tokio::task::spawn_local(async move {
            tokio::select! {
                // What has arrived is read before the time counts.
                biased;
                _ = connection => {}
                () = watched.silence(pings) => {}
                () = lingered(released) => {}
            }
            ended.set(true);
        }));
        Ok(Self {
            sender,
            is_over,
            signs,
            _held: held,
            in_use: Cell::new(0),
            used: Cell::new(Instant::now()),
            place,
        })
    }

    /// Reports whether it takes further requests.
    pub(super) fn is_alive(&self) -> bool {
        !self.is_over.get()
    }

    /// Reports whether it has no requests.
    pub(super) fn is_idle(&self) -> bool {
        self.in_use.get() == 0
    }

    /// Reports whether the server takes one more request at the same time (RFC 9113 section 5.1.2).
    pub(super) fn has_room(&self) -> bool {
        self.is_alive() && self.in_use.get() < self.sender.current_max_send_streams()
    }

    /// Waits until the server allows for one more request. A connection that fails takes no further ones.
    pub(super) async fn ready(&self) -> Result<SendRequest<Bytes>, ClientFault> {
        let ready = self.sender.clone().ready().await;
        ready.map_err(|error| {
            self.is_over.set(true);
            fault(&error)
        })
    }
}

/// The slot of one request on a connection. Another request may have it when this is dropped.
pub(super) struct Http2Slot(Rc<Http2>);

impl Http2Slot {
    /// Takes a slot, be there room or not.
    pub(super) fn of(connection: &Rc<Http2>) -> Self {
        connection.in_use.update(|count| count + 1);
        Self(Rc::clone(connection))
    }

    /// Sends a request.
    pub(super) fn send(
        self,
        mut sender: SendRequest<Bytes>,
        request: http::Request<()>,
        body: ClientBody,
    ) -> Result<Http2Exchange, Unanswered> {
        let (pending, source) = match body {
            ClientBody::None => (Bytes::new(), Source::Nothing),
            ClientBody::Bytes(bytes) => (bytes, Source::Nothing),
            ClientBody::Stream(stream, left) => (Bytes::new(), Source::Stream { stream, left }),
        };
        let is_done = pending.is_empty() && matches!(source, Source::Nothing);
        let sent = sender.send_request(request, is_done);
        let (answer, stream) = sent.map_err(|error| unanswered(&error))?;
        Ok(Http2Exchange {
            answer,
            sending: Http2Sending {
                stream,
                pending,
                source,
                is_done,
                writes: 0,
            },
            connection: self,
        })
    }
}

impl Deref for Http2Slot {
    type Target = Http2;

    fn deref(&self) -> &Http2 {
        &self.0
    }
}

impl Drop for Http2Slot {
    fn drop(&mut self) {
        self.in_use.update(|count| count - 1);
        self.used.set(Instant::now());
        self.place.serve_others();
    }
}

/// Waits until a connection has not been used for so long that it must have ended.
async fn lingered(released: oneshot::Receiver<Infallible>) {
    let _ = released.await;
    tokio::time::sleep(CLOSE_TIME_MAX).await;
}

/// The wait for an answer. If that does not come, the connection is doubted.
struct Awaited {
    signs: Rc<Signs>,
    is_here: bool,
}

impl Drop for Awaited {
    fn drop(&mut self) {
        if !self.is_here {
            self.signs.doubt();
        }
    }
}

/// The body of a request on its way.
struct Http2Sending {
    stream: SendStream<Bytes>,
    pending: Bytes,
    source: Source,
    is_done: bool,
    writes: u64,
}

impl Http2Sending {
    fn poll(&mut self, cx: &mut Context<'_>) -> Result<SendState, SendFault> {
        let broken = || SendFault::Wire(std::io::ErrorKind::BrokenPipe.into());
        while !self.is_done {
            if !self.pending.is_empty() {
                self.stream.reserve_capacity(self.pending.len());
                let room = match self.stream.poll_capacity(cx) {
                    Poll::Pending => return Ok(SendState::Full),
                    Poll::Ready(Some(Ok(room))) => room.min(self.pending.len()),
                    Poll::Ready(_) => return Err(broken()),
                };
                let piece = self.pending.split_to(room);
                self.stream.send_data(piece, false).map_err(|_| broken())?;
                self.writes += 1;
                continue;
            }
            match self.source.poll_piece(cx) {
                Poll::Pending => return Ok(SendState::Starved),
                Poll::Ready(Err(fault)) => {
                    self.stream.send_reset(Reason::CANCEL);
                    return Err(SendFault::Body(fault));
                }
                Poll::Ready(Ok(Some(crate::response::Chunk::Bytes(piece)))) => {
                    self.pending = piece.into();
                }
                Poll::Ready(Ok(Some(piece))) => {
                    self.pending = Bytes::copy_from_slice(piece.as_ref())
                }
                Poll::Ready(Ok(None)) => {
                    self.stream
                        .send_data(Bytes::new(), true)
                        .map_err(|_| broken())?;
                    self.is_done = true;
                }
            }
        }
        Ok(SendState::Done)
    }
}

/// A request on its way, until the head of its answer is there.
pub(super) struct Http2Exchange {
    answer: ResponseFuture,
    sending: Http2Sending,
    connection: Http2Slot,
}

impl Http2Exchange {
    /// Waits for the head of the answer.
    pub(super) async fn answered(
        mut self,
        timer: &mut Timer,
    ) -> Result<(http::response::Parts, Http2Body), Unanswered> {
        let mut awaited = Awaited {
            signs: Rc::clone(&self.connection.signs),
            is_here: false,
        };
        let mut is_broken = false;
        let answer = poll_fn(|cx| {
            let state = match is_broken {
                true => SendState::Done,
                false => match self.sending.poll(cx) {
                    Ok(state) => state,
                    Err(SendFault::Body(fault)) => return Poll::Ready(Err(fault.into())),
                    // The server may have answered.
                    Err(SendFault::Wire(_)) => {
                        is_broken = true;
                        SendState::Done
                    }
                },
            };
            match Pin::new(&mut self.answer).poll(cx) {
                Poll::Ready(answer) => Poll::Ready(answer.map_err(|error| unanswered(&error))),
                Poll::Pending => {
                    let wait = match state {
                        SendState::Full => Wait::Progress,
                        SendState::Starved => Wait::Free,
                        SendState::Done => Wait::Head,
                    };
                    let late = timer.poll(wait, self.sending.writes, cx);
                    late.map(|fault| Err(fault.into()))
                }
            }
        });
        let (parts, stream) = answer.await?.into_parts();
        awaited.is_here = true;
        self.connection.signs.hear();
        timer.progressed();
        self.sending.is_done |= is_broken;
        let body = Http2Body {
            stream,
            sending: self.sending,
            connection: self.connection,
            reads: 0,
        };
        Ok((parts, body))
    }
}

/// The body of an answer, as it comes. The stream is reset when it is dropped before its end.
pub(super) struct Http2Body {
    stream: RecvStream,
    sending: Http2Sending,
    /// Given back last: then the server knows that the stream has ended.
    connection: Http2Slot,
    reads: u64,
}

impl Http2Body {
    /// Polls for the next piece; `None` at the end.
    pub(super) fn poll_piece(
        &mut self,
        timer: &mut Timer,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Vec<u8>>, ClientFault>> {
        let mut wait = Wait::Progress;
        match self.sending.poll(cx) {
            Ok(SendState::Starved) => wait = Wait::Free,
            Ok(_) => {}
            Err(SendFault::Body(fault)) => return Poll::Ready(Err(fault)),
            Err(SendFault::Wire(_)) => self.sending.is_done = true,
        }
        loop {
            let Poll::Ready(piece) = self.stream.poll_data(cx) else {
                let progress = self.reads + self.sending.writes;
                let late = timer.poll(wait, progress, cx);
                if late.is_ready() {
                    self.connection.signs.doubt();
                }
                return late.map(Err);
            };
            self.reads += 1;
            self.connection.signs.hear();
            let Some(piece) = piece.transpose().map_err(|error| fault(&error))? else {
                return Poll::Ready(Ok(None));
            };
            // The server may send as much again.
            let _ = self.stream.flow_control().release_capacity(piece.len());
            if !piece.is_empty() {
                return Poll::Ready(Ok(Some(piece.to_vec())));
            }
        }
    }
}

fn unanswered(error: &h2::Error) -> Unanswered {
    // Of the streams of a connection, `h2` fails those with the server's GOAWAY that are above its last stream id.
    let is_beyond = error.is_go_away() && error.is_remote();
    let is_refused = error.is_reset() && error.is_remote();
    let is_refused = is_refused && error.reason() == Some(Reason::REFUSED_STREAM);
    let sight = match is_beyond || is_refused {
        true => Sight::Refused,
        false if error.is_go_away() || error.is_io() => Sight::Unknown,
        false => Sight::Seen,
    };
    let fault = fault(error);
    Unanswered { fault, sight }
}

fn fault(error: &h2::Error) -> ClientFault {
    let kind = match error.is_io() || error.is_remote() {
        true => ClientFaultKind::Closed,
        false => ClientFaultKind::Answer,
    };
    ClientFault::new(kind, format!("HTTP/2: {error}"))
}
