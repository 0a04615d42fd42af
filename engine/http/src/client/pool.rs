//! The connections of one worker to other servers: those in use, those that are kept, and the requests that wait.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::{Rc, Weak};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use self::sweep::sweep;
use super::fault::{ClientFault, ClientFaultKind};
use super::http1::Http1;
use super::http2::{Http2, Http2Slot};
use super::origin::Origin;
use super::settings::ClientLimits;

mod sweep;

/// The connections of one worker. Clones are the same.
#[derive(Clone)]
pub(super) struct Pool(Rc<PoolState>);

struct PoolState {
    connections_max: usize,
    per_host_max: usize,
    waiting_max: usize,
    offers_http2: bool,
    kept_time: Duration,
    inner: RefCell<Connections>,
}

#[derive(Default)]
struct Connections {
    hosts: HashMap<Origin, Host, foldhash::fast::RandomState>,
    open: usize,
    /// The requests that wait, the oldest first.
    waiting: VecDeque<(Origin, oneshot::Sender<Lent>)>,
    /// True while these are served: what is given back meanwhile is served in the same turn.
    is_serving: bool,
    is_swept: bool,
}

#[derive(Default)]
struct Host {
    open: usize,
    /// The connections of HTTP/2, each of which takes as many requests at once as the server allows.
    http2: Vec<Rc<Http2>>,
    /// True while a connection is made that others wait for: the first one, which tells whether the server speaks
    /// HTTP/2, or a further one of HTTP/2.
    is_probed: bool,
    /// Connections without a request, the one that was used last at the end.
    kept: Vec<(Instant, Http1)>,
}

/// The place of one connection. Another may be opened when it is dropped.
pub(super) struct Place {
    origin: Origin,
    pool: Weak<PoolState>,
    is_probe: Cell<bool>,
}

/// The place of a request among those that wait. If the request is given up with a connection that it has not seen
/// yet, that goes to the next.
struct QueuedRequest<'a> {
    pool: &'a Pool,
    given: oneshot::Receiver<Lent>,
}

/// The result of asking for a connection.
pub(super) enum Lent {
    /// One that was used before, and that the server had not closed a moment ago.
    Used(Http1),
    /// A slot of a connection that may have other requests.
    Shared(Http2Slot),
    /// The place for a new one.
    Place(Place),
}

impl Pool {
    pub(super) fn new(limits: &ClientLimits, offers_http2: bool) -> Self {
        Self(Rc::new(PoolState {
            connections_max: limits.connections_max.max(1),
            per_host_max: limits.connections_per_host_max.max(1),
            waiting_max: limits.waiting_max,
            offers_http2,
            kept_time: Duration::from_millis(limits.kept_millis_max),
            inner: RefCell::default(),
        }))
    }

    /// Returns a kept connection to a server, or the place for a new one; waits for one of them. The request that has
    /// waited the longest gets the next.
    ///
    /// # Errors
    /// More requests wait than may.
    pub(super) async fn lend(&self, origin: &Origin) -> Result<Lent, ClientFault> {
        // Nothing is free that one of those could have who wait, see `serve`.
        if let Some(lent) = self.try_lend(origin) {
            return Ok(lent);
        }
        let mut place = self.last_place(origin)?;
        loop {
            let mut kept = match (&mut place.given).await {
                Ok(Lent::Used(kept)) => kept,
                Ok(lent) => return Ok(lent),
                Err(_) => {
                    let text = "the client of this worker has ended";
                    return Err(ClientFault::new(ClientFaultKind::Closed, text));
                }
            };
            if kept.is_alive() {
                return Ok(Lent::Used(kept));
            }
            // The server has closed it since it was given: what it leaves is for this request.
            place = self.first_place(origin);
            drop(kept);
        }
    }

    /// Returns a connection of HTTP/1.1 to a server that is kept, if there is one.
    pub(super) fn lend_kept(&self, origin: &Origin) -> Option<Http1> {
        while let Some(mut kept) = self.take_kept(origin) {
            if kept.is_alive() {
                return Some(kept);
            }
        }
        None
    }

    /// Has a request wait behind all others.
    fn last_place(&self, origin: &Origin) -> Result<QueuedRequest<'_>, ClientFault> {
        let mut inner = self.0.inner.borrow_mut();
        inner.waiting.retain(|(_, waiter)| !waiter.is_closed());
        if inner.waiting.len() >= self.0.waiting_max {
            let max = self.0.waiting_max;
            let text =
                format!("more requests wait for a connection than may (waiting_max is {max})");
            return Err(ClientFault::new(ClientFaultKind::Busy, text));
        }
        let (waiter, given) = oneshot::channel();
        inner.waiting.push_back((origin.clone(), waiter));
        Ok(QueuedRequest { pool: self, given })
    }

    /// Has a request wait before all others.
    fn first_place(&self, origin: &Origin) -> QueuedRequest<'_> {
        let (waiter, given) = oneshot::channel();
        let mut inner = self.0.inner.borrow_mut();
        inner.waiting.push_front((origin.clone(), waiter));
        QueuedRequest { pool: self, given }
    }

    /// Gives connections and places to those who wait, the oldest first. It follows each change by which one of them
    /// may get something, so that at other times nothing is free that they could have.
    fn serve(&self) {
        let mut inner = self.0.inner.borrow_mut();
        if inner.waiting.is_empty() || std::mem::replace(&mut inner.is_serving, true) {
            return;
        }
        while let Some(at) = inner.first_to_serve(&self.0) {
            let Some((origin, waiter)) = inner.waiting.remove(at) else {
                break;
            };
            if waiter.is_closed() {
                continue;
            }
            // Connections that are closed meanwhile give their places back, so no borrow is held.
            drop(inner);
            let lent = self.try_lend(&origin);
            let unused = match lent {
                Some(lent) => waiter.send(lent).err(),
                // The connections for it were closed, and their places may be for an older request.
                None => {
                    let mut inner = self.0.inner.borrow_mut();
                    inner.waiting.insert(at, (origin, waiter));
                    None
                }
            };
            unused.into_iter().for_each(|lent| self.take_back(lent));
            inner = self.0.inner.borrow_mut();
        }
        inner.is_serving = false;
    }

    /// Takes back what a request was given and has not used.
    fn take_back(&self, lent: Lent) {
        match lent {
            Lent::Used(kept) => self.keep(kept),
            Lent::Place(_) | Lent::Shared(_) => drop(lent),
        }
    }

    fn try_lend(&self, origin: &Origin) -> Option<Lent> {
        if let Some(shared) = self.shared(origin) {
            return Some(Lent::Shared(shared));
        }
        if let Some(kept) = self.lend_kept(origin) {
            return Some(Lent::Used(kept));
        }
        let state = &self.0;
        if !state.inner.borrow().has_room(origin, state) {
            return None;
        }
        // It gives its place back, so no borrow is held. Those who wait may take that.
        drop(self.take_oldest());
        let mut inner = state.inner.borrow_mut();
        if inner.open >= state.connections_max || !inner.has_room(origin, state) {
            return None;
        }
        let host = inner.hosts.entry(origin.clone()).or_default();
        let may_be_shared = host.open == 0 || !host.http2.is_empty();
        let is_probe = state.offers_http2 && origin.is_https && may_be_shared;
        host.is_probed = is_probe;
        host.open += 1;
        inner.open += 1;
        Some(Lent::Place(Place {
            origin: origin.clone(),
            pool: Rc::downgrade(state),
            is_probe: Cell::new(is_probe),
        }))
    }

    fn shared(&self, origin: &Origin) -> Option<Http2Slot> {
        let mut inner = self.0.inner.borrow_mut();
        let host = inner.hosts.get_mut(origin)?;
        let is_over = |shared: &mut Rc<Http2>| !shared.is_alive();
        let over: Vec<_> = host.http2.extract_if(.., is_over).collect();
        let shared = host.http2.iter().find(|shared| shared.has_room());
        let slot = shared.map(Http2Slot::of);
        // Their places are given back when no borrow is held.
        drop(inner);
        drop(over);
        slot
    }

    /// Shares a connection of HTTP/2 with other requests to its server.
    pub(super) fn share(&self, connection: &Rc<Http2>) {
        let mut inner = self.0.inner.borrow_mut();
        if let Some(host) = inner.hosts.get_mut(connection.place.origin()) {
            host.http2.push(Rc::clone(connection));
        }
        self.begin_sweep(&mut inner);
        drop(inner);
        self.serve();
    }

    fn begin_sweep(&self, inner: &mut Connections) {
        if !std::mem::replace(&mut inner.is_swept, true) {
            let sweep = sweep(Rc::downgrade(&self.0), self.0.kept_time);
            drop(tokio::task::spawn_local(sweep));
        }
    }

    fn take_kept(&self, origin: &Origin) -> Option<Http1> {
        let mut inner = self.0.inner.borrow_mut();
        let (_, kept) = inner.hosts.get_mut(origin)?.kept.pop()?;
        Some(kept)
    }

    /// Takes the connection that was kept for the longest time, where all places are in use.
    fn take_oldest(&self) -> Option<Http1> {
        let mut inner = self.0.inner.borrow_mut();
        if inner.open < self.0.connections_max {
            return None;
        }
        let hosts = inner.hosts.values_mut();
        let oldest = hosts.filter(|host| !host.kept.is_empty());
        let oldest = oldest.min_by_key(|host| host.kept[0].0)?;
        Some(oldest.kept.remove(0).1)
    }

    /// Keeps a connection for the next request.
    pub(super) fn keep(&self, connection: Http1) {
        let mut inner = self.0.inner.borrow_mut();
        let origin = connection.origin();
        let Some(host) = inner.hosts.get_mut(origin) else {
            return;
        };
        if self.0.kept_time.is_zero() {
            drop(inner);
            return drop(connection);
        }
        host.kept.push((Instant::now(), connection));
        self.begin_sweep(&mut inner);
        drop(inner);
        self.serve();
    }

    /// Returns the numbers of open and of kept connections.
    pub(super) fn counts(&self) -> (usize, usize) {
        let inner = self.0.inner.borrow();
        let kept = |host: &Host| {
            let shared = host.http2.iter();
            host.kept.len() + shared.filter(|shared| shared.is_idle()).count()
        };
        let kept = inner.hosts.values().map(kept).sum();
        (inner.open, kept)
    }
}

impl Connections {
    /// Reports whether a server may have one more connection, as far as that depends on its own.
    fn has_room(&self, origin: &Origin, state: &PoolState) -> bool {
        let host = self.hosts.get(origin);
        host.is_none_or(|host| !host.is_probed && host.open < state.per_host_max)
    }

    /// Returns the index of the oldest request that can have a connection or a place now.
    fn first_to_serve(&self, state: &PoolState) -> Option<usize> {
        let (hosts, open) = (&self.hosts, self.open);
        let has_kept = hosts.values().any(|host| !host.kept.is_empty());
        let can_have = |origin: &Origin| match hosts.get(origin) {
            Some(host) if host.can_lend() => true,
            _ if !self.has_room(origin, state) => false,
            _ => open < state.connections_max || has_kept,
        };
        let mut waiting = self.waiting.iter();
        waiting.position(|(origin, _)| can_have(origin))
    }
}

impl Host {
    /// Reports whether there may be a connection for a further request. One that is over makes room for another.
    fn can_lend(&self) -> bool {
        let mut shared = self.http2.iter();
        !self.kept.is_empty() || shared.any(|shared| shared.has_room() || !shared.is_alive())
    }
}

impl Drop for QueuedRequest<'_> {
    fn drop(&mut self) {
        if let Ok(lent) = self.given.try_recv() {
            self.pool.take_back(lent);
        }
    }
}

impl Place {
    pub(super) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Serves those who wait, after the connection has room for one of them.
    pub(super) fn serve_others(&self) {
        if let Some(pool) = self.pool.upgrade() {
            Pool(pool).serve();
        }
    }

    /// Takes note that the connection is there: others need not wait to know what it speaks.
    pub(super) fn connected(&self) {
        if self.is_probe.replace(false)
            && let Some(pool) = self.pool.upgrade()
        {
            let mut inner = pool.inner.borrow_mut();
            if let Some(host) = inner.hosts.get_mut(&self.origin) {
                host.is_probed = false;
            }
            drop(inner);
            Pool(pool).serve();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(pool) = self.pool.upgrade() else {
            return;
        };
        let mut inner = pool.inner.borrow_mut();
        inner.open -= 1;
        if let Some(host) = inner.hosts.get_mut(&self.origin) {
            if self.is_probe.get() {
                host.is_probed = false;
            }
            host.open -= 1;
            if host.open == 0 {
                inner.hosts.remove(&self.origin);
            }
        }
        drop(inner);
        Pool(pool).serve();
    }
}

#[cfg(test)]
mod tests;
