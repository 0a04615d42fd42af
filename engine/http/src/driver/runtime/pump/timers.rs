//! The sleeps of a pump.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// By their time; the number tells those of one time apart.
type TimerQueue = RefCell<BTreeMap<(Instant, u64), Waker>>;

#[derive(Default)]
pub(super) struct Timers {
    waiting: Rc<TimerQueue>,
    last: Cell<u64>,
}

impl Timers {
    pub(super) fn sleep(&self, time: Duration) -> Sleep {
        let number = self.last.get() + 1;
        self.last.set(number);
        Sleep {
            key: (Instant::now() + time, number),
            waiting: Rc::clone(&self.waiting),
        }
    }

    /// Wakes those whose time has come.
    pub(super) fn fire(&self, now: Instant) {
        loop {
            let mut waiting = self.waiting.borrow_mut();
            match waiting.first_entry() {
                Some(first) if first.key().0 <= now => {
                    let waker = first.remove();
                    drop(waiting);
                    waker.wake();
                }
                _ => return,
            }
        }
    }

    /// The next time at which one ends.
    pub(super) fn earliest(&self) -> Option<Instant> {
        self.waiting
            .borrow()
            .first_key_value()
            .map(|(key, _)| key.0)
    }
}

pub(super) struct Sleep {
    key: (Instant, u64),
    waiting: Rc<TimerQueue>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.key.0 <= Instant::now() {
            return Poll::Ready(());
        }
        let mut waiting = self.waiting.borrow_mut();
        waiting.insert(self.key, cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        let waker = self.waiting.borrow_mut().remove(&self.key);
        drop(waker);
    }
}
