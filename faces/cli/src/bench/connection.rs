//! One connection: connects, sends a request, reads its answer, without ever waiting.

use super::answer::{AnswerReader, Answered};
use super::wire::{TlsTarget, Wire};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use socket2::{Domain, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The connection is down, and is tried again at that time.
    Down(u64),
    Connecting,
    /// The connection can send.
    Idle,
    /// The connection sends, or waits for an answer.
    Busy,
}

/// The reason why a request got no answer, or a connection did not come about.
#[derive(Debug)]
pub(super) enum Failure {
    Connect(io::Error),
    /// The server ended the connection before the answer was complete.
    Closed,
    /// Sending or receiving failed: as a rule the server reset the connection.
    Broken,
    /// The bytes are not an HTTP/1 answer.
    Malformed,
    Timeout,
}

/// The names of failures in reports, in their order.
pub(super) const FAILURES: [&str; 5] = ["connect", "closed", "broken", "malformed", "timeout"];

impl Failure {
    /// Returns its place in [`FAILURES`].
    pub(super) fn index(&self) -> usize {
        match self {
            Self::Connect(_) => 0,
            Self::Closed => 1,
            Self::Broken => 2,
            Self::Malformed => 3,
            Self::Timeout => 4,
        }
    }
}

/// The result of reading.
pub(super) enum Received {
    /// The answer is not complete.
    Part,
    Answer(Answered),
    /// An idle connection was closed, which is not a failure.
    IdleEnd,
}

/// The place that a connection goes to.
#[derive(Clone, Copy)]
pub(super) struct Server<'a> {
    pub(super) address: SocketAddr,
    pub(super) tls: Option<&'a TlsTarget>,
    /// The address of this machine that it comes from; any if there is none.
    pub(super) from: Option<IpAddr>,
}

pub(super) struct Connection {
    stream: Option<Wire>,
    reader: AnswerReader,
    /// The number of its request in the target's.
    pub(super) request: usize,
    /// Bytes of the request that are sent.
    written: usize,
    pub(super) phase: Phase,
    /// The time at which its request was due, in nanoseconds from the start: latencies count from here.
    pub(super) due: u64,
    /// The time at which its request was sent, or its connection begun: timeouts count from here.
    pub(super) since: u64,
}

impl Connection {
    pub(super) fn new() -> Self {
        Self {
            stream: None,
            reader: AnswerReader::default(),
            request: 0,
            written: 0,
            phase: Phase::Down(0),
            due: 0,
            since: 0,
        }
    }

    /// Begins to connect. `at` is its number in the events of `poll`.
    pub(super) fn connect(
        &mut self,
        server: Server<'_>,
        poll: &OwnedFd,
        at: usize,
        now: u64,
    ) -> Result<(), Failure> {
        let begin = || -> io::Result<Wire> {
            let Server { address, tls, from } = server;
            let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
            socket.set_nonblocking(true)?;
            socket.set_tcp_nodelay(true)?;
            if let Some(from) = from {
                socket.bind(&SocketAddr::new(from, 0).into())?;
            }
            match socket.connect(&address.into()) {
                Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => {
                    return Err(error);
                }
                _ => {}
            }
            epoll::add(
                poll,
                &socket,
                EventData::new_u64(at as u64),
                EventFlags::OUT,
            )?;
            Wire::new(TcpStream::from(socket), tls)
        };
        self.reader.reset();
        self.stream = Some(begin().map_err(Failure::Connect)?);
        self.phase = Phase::Connecting;
        self.since = now;
        Ok(())
    }

    /// The connection is there, or has failed.
    pub(super) fn connected(&mut self, poll: &OwnedFd, at: usize) -> Result<(), Failure> {
        if let Some(stream) = &self.stream {
            if let Some(error) = stream.socket().take_error().map_err(Failure::Connect)? {
                return Err(Failure::Connect(error));
            }
            watch(poll, stream.socket(), at, EventFlags::IN).map_err(Failure::Connect)?;
        }
        self.phase = Phase::Idle;
        Ok(())
    }

    /// Sends a request. What the socket does not take now is sent by [`Connection::send_rest`].
    pub(super) fn send(
        &mut self,
        request: &[u8],
        poll: &OwnedFd,
        at: usize,
        (due, now): (u64, u64),
    ) -> Result<(), Failure> {
        (self.due, self.since) = (due, now);
        self.written = 0;
        self.phase = Phase::Busy;
        match self.write(request)? {
            true => Ok(()),
            false => self.watch(poll, at, self.interest()),
        }
    }

    /// Returns the events that bring the rest of a request further.
    fn interest(&self) -> EventFlags {
        match &self.stream {
            // The handshake waits for the server as long as it has nothing to say.
            Some(stream) if stream.is_handshaking() && !stream.wants_write() => EventFlags::IN,
            _ => EventFlags::IN | EventFlags::OUT,
        }
    }

    /// Reports whether an event of this kind lets the rest of a request go, if there is one.
    pub(super) fn may_send(&self, request: &[u8], flags: EventFlags) -> bool {
        let is_handshaking = (self.stream.as_ref()).is_some_and(Wire::is_handshaking);
        flags.contains(EventFlags::OUT) || (is_handshaking && self.written < request.len())
    }

    /// The socket takes more, if anything is left to be sent.
    pub(super) fn send_rest(
        &mut self,
        request: &[u8],
        poll: &OwnedFd,
        at: usize,
    ) -> Result<(), Failure> {
        match self.write(request)? {
            true => self.watch(poll, at, EventFlags::IN),
            false => self.watch(poll, at, self.interest()),
        }
    }

    /// Reports whether all of the request is sent.
    fn write(&mut self, request: &[u8]) -> Result<bool, Failure> {
        let Some(stream) = &mut self.stream else {
            return Err(Failure::Broken);
        };
        while self.written < request.len() {
            match stream.write(&request[self.written..]) {
                Ok(length) => self.written += length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if stream.is_handshaking() => return Err(Failure::Connect(error)),
                Err(_) => return Err(Failure::Broken),
            }
        }
        match stream.flush() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            flushed => flushed.map(|()| true).map_err(|_| Failure::Broken),
        }
    }

    fn watch(&self, poll: &OwnedFd, at: usize, flags: EventFlags) -> Result<(), Failure> {
        let Some(stream) = &self.stream else {
            return Err(Failure::Broken);
        };
        watch(poll, stream.socket(), at, flags).map_err(|_| Failure::Broken)
    }

    /// Reads what is there. `received` counts its bytes.
    pub(super) fn receive(
        &mut self,
        buffer: &mut [u8],
        is_head: bool,
        received: &mut u64,
    ) -> Result<Received, Failure> {
        let is_idle = self.phase == Phase::Idle;
        let Some(stream) = &mut self.stream else {
            return Ok(Received::Part);
        };
        loop {
            let length = match stream.read(buffer) {
                Ok(0) if is_idle => return Ok(Received::IdleEnd),
                Ok(0) => {
                    return self
                        .reader
                        .closed()
                        .map(Received::Answer)
                        .ok_or(Failure::Closed);
                }
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Received::Part);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) if is_idle => return Ok(Received::IdleEnd),
                Err(_) => return Err(Failure::Broken),
            };
            *received += length as u64;
            if is_idle {
                // There was no request.
                return Err(Failure::Malformed);
            }
            let taken = self.reader.take(&buffer[..length], is_head);
            if let Some(answered) = taken.map_err(|_| Failure::Malformed)? {
                return Ok(Received::Answer(answered));
            }
            // A read that does not fill the buffer has emptied the socket; what comes later is told.
            if length < buffer.len() && !stream.keeps_bytes() {
                return Ok(Received::Part);
            }
        }
    }

    /// Closes it, to be opened again at that time.
    pub(super) fn close(&mut self, again_at: u64) {
        self.stream = None;
        self.phase = Phase::Down(again_at);
    }
}

fn watch(poll: &OwnedFd, stream: &TcpStream, at: usize, flags: EventFlags) -> io::Result<()> {
    Ok(epoll::modify(
        poll,
        stream,
        EventData::new_u64(at as u64),
        flags,
    )?)
}
