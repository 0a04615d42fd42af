//! Requests on their way through JavaScript: from the connection that received one to the answer that it waits for.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use sampan_http::{Answer, Request, Response};
use sampan_serve::routing::spans::Spans;
use slab::Slab;

/// Names a thing that JavaScript knows by two numbers: its place, and a serial number that no other thing in that place
/// has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) place: u32,
    pub(crate) serial: u32,
}

/// One request that JavaScript is to answer.
pub(crate) struct Exchange {
    pub(crate) key: Key,
    pub(crate) request: Rc<Request>,
    /// The generation of routes in which it has found its handler.
    pub(crate) generation: u32,
    /// The index of the handler; `None` for `fetch`.
    pub(crate) route: Option<u32>,
    pub(crate) params: Spans,
    /// True if JavaScript has been told of it.
    is_delivered: Cell<bool>,
    answer: Cell<Option<Answer>>,
    waker: Cell<Option<Waker>>,
}

impl Exchange {
    /// Method and path, as messages name a request.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.request.method_str(), self.request.path())
    }
}

/// Those of one server.
#[derive(Default)]
pub(crate) struct Exchanges {
    open: RefCell<Slab<Rc<Exchange>>>,
    /// Those that JavaScript has not been told of, in their order.
    fresh: RefCell<VecDeque<Rc<Exchange>>>,
    /// Those whose client left, of which JavaScript has not been told.
    left: RefCell<Vec<Key>>,
    /// Those whose time was up, of which JavaScript has not been told: their method and path.
    late: RefCell<Vec<(Key, String)>>,
    /// True if the engine has just decided that a request's time is up, and drops what waits for its answer next.
    ends_late: Cell<bool>,
    last_serial: Cell<u32>,
}

impl Exchanges {
    /// Takes up a request; the future gives its answer.
    pub(crate) fn begin(
        self: &Rc<Self>,
        request: &Rc<Request>,
        generation: u32,
        route: Option<u32>,
        params: Spans,
    ) -> Awaited {
        let serial = self.last_serial.get().wrapping_add(1) & i32::MAX as u32;
        self.last_serial.set(serial);
        let mut open = self.open.borrow_mut();
        let entry = open.vacant_entry();
        let exchange = Rc::new(Exchange {
            key: Key {
                place: entry.key() as u32,
                serial,
            },
            request: Rc::clone(request),
            generation,
            route,
            params,
            is_delivered: Cell::default(),
            answer: Cell::default(),
            waker: Cell::default(),
        });
        entry.insert(Rc::clone(&exchange));
        self.fresh.borrow_mut().push_back(Rc::clone(&exchange));
        Awaited {
            exchange,
            exchanges: Rc::clone(self),
        }
    }

    /// The next one that JavaScript has not been told of; `false` from `take` leaves it.
    pub(crate) fn deliver(&self, mut take: impl FnMut(&Exchange) -> bool) {
        let mut fresh = self.fresh.borrow_mut();
        while let Some(next) = fresh.front() {
            if self.find(next.key).is_some() {
                if !take(next) {
                    return;
                }
                next.is_delivered.set(true);
            }
            fresh.pop_front();
        }
    }

    /// Reports whether some wait to be told.
    pub(crate) fn has_fresh(&self) -> bool {
        !self.fresh.borrow().is_empty()
    }

    /// The requests whose client left since the last time.
    pub(crate) fn take_left(&self) -> Vec<Key> {
        self.left.take()
    }

    /// The time of a request is up: the next one that is dropped without an answer is it.
    pub(crate) fn expect_late(&self) {
        self.ends_late.set(true);
    }

    /// The requests whose time was up since the last time, with their method and path.
    pub(crate) fn take_late(&self) -> Vec<(Key, String)> {
        self.late.take()
    }

    /// Reports whether there are such.
    pub(crate) fn has_late(&self) -> bool {
        !self.late.borrow().is_empty()
    }

    /// An open one; `None` if it was answered, its time was up, or its client has left.
    pub(crate) fn find(&self, key: Key) -> Option<Rc<Exchange>> {
        let open = self.open.borrow();
        let exchange = open.get(key.place as usize)?;
        (exchange.key.serial == key.serial).then(|| Rc::clone(exchange))
    }

    /// Answers one. False if its client has gone.
    pub(crate) fn answer(&self, key: Key, response: Response) -> bool {
        self.decide(key, Answer::Now(response))
    }

    /// Answers one in any way. False if its client has gone.
    pub(crate) fn decide(&self, key: Key, answer: Answer) -> bool {
        let Some(exchange) = self.find(key) else {
            return false;
        };
        self.open.borrow_mut().remove(key.place as usize);
        exchange.answer.set(Some(answer));
        if let Some(waker) = exchange.waker.take() {
            waker.wake();
        }
        true
    }

    /// Returns the number of open exchanges.
    pub(crate) fn len(&self) -> usize {
        self.open.borrow().len()
    }
}

/// The answer of one request. Dropped before there is one: its time is up, or the client has left.
pub(crate) struct Awaited {
    exchange: Rc<Exchange>,
    exchanges: Rc<Exchanges>,
}

impl Future for Awaited {
    type Output = Answer;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer> {
        if let Some(answer) = self.exchange.answer.take() {
            return Poll::Ready(answer);
        }
        self.exchange.waker.set(Some(cx.waker().clone()));
        Poll::Pending
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        let key = self.exchange.key;
        let is_late = self.exchanges.ends_late.take();
        if self.exchanges.find(key).is_some() {
            let removed = self.exchanges.open.borrow_mut().remove(key.place as usize);
            if is_late {
                let title = removed.title();
                self.exchanges.late.borrow_mut().push((key, title));
            } else if removed.is_delivered.get() {
                self.exchanges.left.borrow_mut().push(key);
            }
        }
    }
}
