//! One connection: a single future that reads, has requests answered, and writes.
//!
//! Its state is here. [`poll`] goes round with it: [`input`] takes requests, [`exchange`] answers them, [`streaming`]
//! moves bodies that come in pieces, [`expiry`] minds the time; [`handshake`] is its beginning over TLS,
//! [`proxied`] that behind a proxy which tells the client's address, [`linger`] and
//! [`takeover`] are its ends. An idle connection may leave its worker, see [`parked`].

mod exchange;
mod expiry;
mod handshake;
mod http2;
mod input;
mod linger;
mod parked;
mod poll;
mod proxied;
mod streaming;
mod takeover;

pub(super) use input::DRAIN_MILLIS_MAX;

use std::collections::VecDeque;
use std::io;
use std::net::TcpStream;
use std::rc::Rc;
use std::sync::Arc;

use socket2::SockRef;

use super::bodies::{Receiving, Streaming};
use super::deadlines::NEVER;
use super::http2::Http2;
use super::local::Local;
use super::observed::Answers;
use super::output::Output;
use super::replies::{Queued, RunningHandler};
use super::runtime::{Runtime, SharedSocket, Socket};
use super::shared::Opening;
use super::shared::unsent::UnsentPart;
use super::transport::Transport;
use crate::peer::{Peer, RemoteEnd};
use crate::request::Request;
use crate::upgrade::Takeover;

/// The state of reading requests. Each but `Busy` has its deadline in `read_by`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Accepted, no byte yet.
    Fresh,
    /// Between two requests.
    Idle,
    Head,
    Body,
    /// A request is being answered; no byte of the next is known.
    Busy,
}

/// The end of a round of work ended with.
enum PollStep {
    /// The next bytes are needed.
    Input,
    /// A future, a stream or a ticket must come first.
    Waiting,
    /// Output must be written first.
    OutputFull,
    /// The turn is over, not the work.
    Yield,
    /// The client speaks HTTP/2.
    Http2,
    /// No further request will be answered.
    Done,
}

pub(super) struct Connection<S: Socket> {
    transport: Transport<S>,
    local: Rc<Local>,
    client: RemoteEnd,
    /// The place in the worker's deadlines, and the deadline set there.
    deadline_key: usize,
    armed: u64,
    socket_key: usize,
    /// True if it is only here to be told 503.
    refused: bool,
    /// True until the proxy at the other end has told the client's address.
    is_proxied: bool,

    /// The receive buffer; none while no byte is in hand. It has no other owner between two requests.
    input: Option<Rc<Request>>,
    phase: Phase,
    read_by: u64,
    /// The time at which it leaves the worker if it is idle until then.
    parks_at: u64,
    /// Body bytes since `read_by` was set.
    progress_bytes: usize,
    /// The client has closed its sending direction.
    eof: bool,
    /// No further request is taken.
    last: bool,

    /// Answers in the order of their requests, from the first undecided ticket on.
    queue: VecDeque<Queued>,
    running: Option<RunningHandler>,
    streaming: Option<Streaming>,
    /// The body that the handler of the last request reads. Only that is taken from the client then.
    receiving: Option<Box<Receiving>>,
    output: Output,
    /// The answers in the output that have an observer.
    observed: Answers,
    write_by: u64,
    /// Bytes written since `write_by` was set.
    written_bytes: usize,
    /// Counts what the client has not read, from a write that left something over.
    unsent: Option<UnsentPart>,

    /// The new owner of the connection, once the output has been sent.
    takeover: Option<Takeover>,
    taken: Option<takeover::Taken>,
    /// The connection as one of HTTP/2, which has its transport then.
    http2: Option<Box<Http2<S>>>,
    /// A request of HTTP/1.1 has come, so that HTTP/2 cannot begin any more.
    has_served: bool,

    /// True if the end must leave the client time to read the last answer: an answer that came before the
    /// whole request was read would be lost, because closing a socket with unread bytes resets it.
    linger: bool,
    /// The time at which lingering ends however much the client still sends; set once it has begun.
    linger_until: Option<u64>,
}

/// The task of each has a multiple of 128 bytes, 768 with these, and very many may be idle.
const _: () = assert!(size_of::<Connection<tokio::net::TcpStream>>() <= 640);

impl<S: Socket> Connection<S> {
    /// Takes over an accepted socket.
    ///
    /// # Errors
    /// When the socket cannot be registered for events; it is closed then.
    pub(super) fn new(
        socket: TcpStream,
        opening: Opening<'_>,
        runtime: &impl Runtime<Socket = S>,
        local: Rc<Local>,
        refused: bool,
    ) -> io::Result<Self> {
        let address = SockRef::from(&socket).peer_addr()?;
        let peer = Peer::of(&address);
        let local_address = || Some(socket.local_addr().ok()?.ip());
        let local_address = opening.tls.and_then(|_| local_address());
        let socket = Arc::new(runtime.socket(socket)?);
        let transport = match opening.tls {
            None => Transport::plain(socket),
            Some(tls) => Transport::secured(socket, tls, local_address)?,
        };
        let read_by = local.now_millis() + local.limits.head_millis_max;
        let mut connection = Self::with(transport, RemoteEnd::plain(peer), read_by, local);
        connection.refused = refused;
        connection.is_proxied = opening.is_proxied;
        Ok(connection)
    }

    /// A connection of which no byte is in hand.
    fn with(transport: Transport<S>, client: RemoteEnd, read_by: u64, local: Rc<Local>) -> Self {
        let socket = Arc::clone(transport.socket());
        Connection {
            client,
            deadline_key: local.deadlines.add(),
            armed: NEVER,
            socket_key: local.shared.add_socket(socket as SharedSocket),
            transport,
            refused: false,
            is_proxied: false,
            input: None,
            phase: Phase::Fresh,
            read_by,
            parks_at: NEVER,
            progress_bytes: 0,
            eof: false,
            last: false,
            queue: VecDeque::new(),
            running: None,
            streaming: None,
            receiving: None,
            output: Output::default(),
            observed: Answers::default(),
            write_by: NEVER,
            written_bytes: 0,
            unsent: None,
            takeover: None,
            taken: None,
            http2: None,
            has_served: false,
            linger: false,
            linger_until: None,
            local,
        }
    }
}

impl<S: Socket> Drop for Connection<S> {
    fn drop(&mut self) {
        self.observed.cut(self.output.sent_bytes());
        if !self.output.is_empty() || self.streaming.is_some() {
            self.transport.cut();
        }
        self.forget_unsent();
        if self.local.has_ended() {
            self.tell_unanswered();
        }
        if let Some(input) = self.input.take() {
            self.local.pool.give_request(input);
        }
        self.local.deadlines.remove(self.deadline_key);
        // Before the socket itself is closed, see `Shared::sockets`.
        self.local.shared.remove_socket(self.socket_key);
        self.local.shared.count_out(self.refused);
        if self.local.draining.get() {
            self.local.shared.notify.notify_one();
        }
    }
}
