//! One server: a listener, a worker of the HTTP engine on a pump, and what JavaScript asks of it.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sampan_http::{
    Accepting, Acceptor, Answer, Body, Handler, Limits, Pump, Response, Turn, Upgrade,
    WorkerHandle, Workers,
};

use super::exchanges::{Exchange, Exchanges, Key};
use super::handler::ServeHandler;
use super::routes::RouteSet;
use super::sockets::Sockets;
use super::streams::{CutStream, Streams, Written};
use super::tls::{self, TlsTexts};
use super::wire::{AnswerRecord, BatchWriter, Event, More, put_headers};
use crate::doorbell::Doorbell;

/// The longest time that one turn may run tasks before JavaScript gets to run.
const TURN_TIME_MAX: Duration = Duration::from_millis(2);

/// The time that the server sleeps while requests gather. Linux adds 50 µs to this value.
const NAP: Duration = Duration::from_micros(1);
/// One that took longer was not a nap: the processor is busy, or its clock is coarse.
const NAP_MAX: Duration = Duration::from_micros(300);
/// A turn that brings fewer requests is worth a nap, if many come.
const FEW: u64 = 8;
/// A nap in which at least so many come was worth it; but not where half of the clients came, which have nothing to do
/// but to wait.
const MANY: usize = 4;
/// So many requests lie between naps while many come in each; and so many before it is tried again, where few did.
const BETWEEN_NAPS: u64 = 16;
const BETWEEN_TRIES: u64 = 512;

/// The options of a server's start.
pub(super) struct ServeOptions {
    pub(super) hostname: String,
    pub(super) port: u16,
    pub(super) limits: Limits,
    pub(super) tls: Option<TlsTexts>,
}

pub(super) struct Server {
    pump: Pump,
    worker: WorkerHandle,
    handler: Rc<ServeHandler>,
    streams: Rc<Streams>,
    sockets: Rc<Sockets>,
    address: SocketAddr,
    accepting: RefCell<Option<Accepting>>,
    doorbell: Doorbell,
    /// True if the worker has ended.
    has_ended: Rc<Cell<bool>>,
    /// Events for which the last batch had no room.
    left_over: RefCell<[Vec<Key>; 3]>,
    /// The number of requests that had come by the end of the last nap, and how many must come before the next one.
    napped_at: Cell<u64>,
    between: Cell<u64>,
}

impl Server {
    /// Binds and begins to accept. `ring` is called from another thread when [`Server::turn`] has something to do, once
    /// each time that it was [armed](Server::arm).
    pub(super) fn start(
        options: ServeOptions,
        ring: impl Fn() + Send + 'static,
    ) -> Result<Self, String> {
        let ServeOptions {
            hostname,
            port,
            limits,
            tls,
        } = options;
        limits.check()?;
        let limits = Arc::new(limits);
        let fault = |error: io::Error| format!("{hostname}:{port}: {error}");
        let mut addresses = (hostname.as_str(), port).to_socket_addrs().map_err(fault)?;
        let address = addresses
            .next()
            .ok_or_else(|| format!("{hostname}: no address"))?;
        let tls = tls.as_ref().map(tls::read).transpose()?;
        let mut acceptor = Acceptor::bind(address, &limits).map_err(fault)?;
        if let Some((tls, warnings)) = tls {
            for warning in warnings {
                eprintln!("sampan: {warning}");
            }
            acceptor = acceptor.with_tls(tls);
        }
        let address = acceptor.local_addr().map_err(fault)?;
        let pump = Pump::new().map_err(fault)?;
        let doorbell = Doorbell::start(&pump, ring).map_err(fault)?;
        let handler = Rc::new(ServeHandler {
            exchanges: Rc::default(),
            routes: RefCell::default(),
            has_fetch: Cell::default(),
            generation: Cell::default(),
        });
        let (handle, worker) = sampan_http::worker(Arc::clone(&limits));
        let has_ended = Rc::new(Cell::new(false));
        let (ended, served) = (
            Rc::clone(&has_ended),
            worker.run_on(pump.clone(), Rc::clone(&handler)),
        );
        sampan_http::Runtime::spawn(&pump, async move {
            served.await;
            ended.set(true);
        });
        let workers = Workers::new(vec![handle.clone()], &limits);
        let accepting = acceptor
            .start(workers, |note| eprintln!("sampan: {note}"))
            .map_err(fault)?;
        Ok(Self {
            pump,
            worker: handle,
            handler,
            streams: Rc::default(),
            sockets: Rc::default(),
            address,
            accepting: RefCell::new(Some(accepting)),
            doorbell,
            has_ended,
            left_over: RefCell::default(),
            napped_at: Cell::new(0),
            between: Cell::new(BETWEEN_TRIES),
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Puts other routes in place, for all requests to come. Returns which generation they are.
    pub(super) fn set_routes(&self, routes: RouteSet, has_fetch: bool) -> u32 {
        self.handler.routes.replace(routes);
        self.handler.has_fetch.set(has_fetch);
        let generation = (self.handler.generation.get() + 1) & i32::MAX as u32;
        self.handler.generation.set(generation);
        generation
    }

    fn exchanges(&self) -> &Rc<Exchanges> {
        &self.handler.exchanges
    }

    /// Gives the answers of a batch to their connections. Calls `faulty` for those that cannot be sent; their clients
    /// get 500.
    pub(super) fn take_answers(
        &self,
        numbers: &[i32],
        bytes: &[u8],
        count: usize,
        mut faulty: impl FnMut(String),
    ) {
        for record in AnswerRecord::all(numbers, bytes, count) {
            let response = record.response().unwrap_or_else(|fault| {
                let title = self.find(record.key).map(|exchange| exchange.title());
                faulty(format!("{}: {fault}", title.unwrap_or_default()));
                self.handler.error(500, None)
            });
            self.exchanges().answer(record.key, response);
        }
    }

    /// Sends what is decided, receives what has come, and writes the next batch. Returns how many requests it has.
    pub(super) fn turn(&self, numbers: &mut [i32], bytes: &mut [u8]) -> io::Result<usize> {
        let turn = self.receive()?;
        let mut batch = BatchWriter::new(numbers, bytes);
        batch.requests(self.exchanges());
        let mut left_over = self.left_over.borrow_mut();
        let [left, drained, streams_left] = &mut *left_over;
        left.extend(self.exchanges().take_left());
        drained.extend(self.streams.take_drained());
        streams_left.extend(self.streams.take_left());
        let mut has_more = turn == Turn::Unfinished || self.exchanges().has_fresh();
        for (event, keys) in [
            (Event::ClientLeft, left),
            (Event::Drained, drained),
            (Event::StreamLeft, streams_left),
        ] {
            *keys = batch.events(event, std::mem::take(keys));
            has_more |= !keys.is_empty();
        }
        for (event, has_such) in [
            (Event::TimeUp, self.exchanges().has_late()),
            (Event::StreamsCut, self.streams.has_cut()),
        ] {
            if has_such {
                // They stay until JavaScript takes them, also where this batch has no room for the event.
                let nobody = Key {
                    place: 0,
                    serial: 0,
                };
                has_more |= !batch.events(event, vec![nobody]).is_empty();
            }
        }
        batch.tell_sockets(self.sockets.has_events());
        let more = match (has_more, turn) {
            (true, _) => More::Now,
            (false, Turn::Idle) => More::Nothing,
            (false, _) => More::Perhaps,
        };
        Ok(batch.finish(more))
    }

    /// The requests whose time was up since the last time, with their method and path.
    pub(super) fn take_late(&self) -> Vec<(Key, String)> {
        self.exchanges().take_late()
    }

    /// The streams that were cut since the last time.
    pub(super) fn take_cut(&self) -> Vec<CutStream> {
        self.streams.take_cut()
    }

    /// Sends and receives. Under load a turn that brings few requests is followed by a nap, in which more of them
    /// gather: those that are answered together cost less than each alone. A network card that holds back its
    /// interrupts does the same.
    fn receive(&self) -> io::Result<Turn> {
        let before = self.worker.requests();
        let turn = self.pump.turn(TURN_TIME_MAX)?;
        let all = self.worker.requests();
        if turn == Turn::Unfinished
            || all - before >= FEW
            || all - self.napped_at.get() < self.between.get()
        {
            return Ok(turn);
        }
        let begun = Instant::now();
        std::thread::sleep(NAP);
        let is_short = begun.elapsed() < NAP_MAX;
        let turn = self.pump.turn(TURN_TIME_MAX)?;
        self.napped_at.set(self.worker.requests());
        let gathered = (self.napped_at.get() - all) as usize;
        let is_worth_it = is_short && gathered >= MANY && 2 * gathered < self.worker.connections();
        self.between.set(match is_worth_it {
            true => BETWEEN_NAPS,
            false => BETWEEN_TRIES,
        });
        Ok(turn)
    }

    pub(super) fn arm(&self) -> io::Result<()> {
        self.doorbell.arm()
    }

    pub(super) fn find(&self, key: Key) -> Option<Rc<Exchange>> {
        self.exchanges().find(key)
    }

    /// Answers one request at once. False if its client has gone.
    ///
    /// # Errors
    /// A header field that cannot be sent.
    pub(super) fn answer(
        &self,
        key: Key,
        status: u16,
        headers: &[u8],
        body: Vec<u8>,
    ) -> Result<bool, String> {
        let mut response = Response::new(status);
        put_headers(&mut response, headers)?;
        if !body.is_empty() {
            response.set_body(Body::Bytes(body));
        }
        Ok(self.exchanges().answer(key, response))
    }

    /// Answers one request with a body that comes piece by piece. `None` if its client has gone.
    ///
    /// # Errors
    /// As [`Server::answer`].
    pub(super) fn begin_stream(
        &self,
        key: Key,
        status: u16,
        headers: &[u8],
    ) -> Result<Option<Key>, String> {
        let mut response = Response::new(status);
        put_headers(&mut response, headers)?;
        let Some(exchange) = self.find(key) else {
            return Ok(None);
        };
        let declared = response.declared_length();
        let (stream, body) = self.streams.begin(exchange.title(), declared);
        response.set_body(Body::Stream(body));
        self.exchanges().answer(key, response);
        Ok(Some(stream))
    }

    pub(super) fn sockets(&self) -> &Rc<Sockets> {
        &self.sockets
    }

    /// Answers one request by 101, and gives its connection away.
    pub(super) fn upgrade(&self, key: Key, upgrade: Upgrade) {
        let answer = Answer::Upgrade(Box::new(upgrade));
        self.exchanges().decide(key, answer);
    }

    pub(super) fn write(&self, stream: Key, piece: &[u8]) -> Written {
        self.streams.write(stream, piece)
    }

    pub(super) fn end_stream(&self, stream: Key, is_whole: bool) {
        self.streams.end(stream, is_whole);
    }

    /// Stops accepting. Requests in flight are finished, or cut at once.
    pub(super) fn stop(&self, is_forced: bool) {
        drop(self.accepting.take());
        match is_forced {
            true => self.worker.abandon(),
            false => self.worker.shutdown(),
        }
    }

    /// Reports whether everything has ended after [`Server::stop`].
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.get()
    }

    /// Requests that wait for JavaScript.
    pub(super) fn pending(&self) -> usize {
        self.exchanges().len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.accepting.take());
        self.worker.abandon();
        // Connections hold the pump, and the pump holds them.
        self.pump.clear();
    }
}
