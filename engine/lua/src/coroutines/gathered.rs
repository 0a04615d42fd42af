//! The waits of the functions of one `app.gather`, which its handler waits for at the same time.

use sampan_host::{Error, LocalFuture, Value};
use std::cell::{Cell, RefCell};
use std::task::{Context, Poll};

/// The operation that a coroutine waits for.
pub(crate) type Operation = LocalFuture<Result<Value, Error>>;

/// The waits of one `app.gather`. Dropping an operation may run other code, so nothing is borrowed meanwhile.
pub(crate) struct Gathered {
    /// By the place of their functions; `None` where the function does not wait.
    waits: RefCell<Vec<Option<Operation>>>,
    /// The place of the wait that has ended; `None` if none has.
    ended: Cell<Option<usize>>,
    /// The place that is polled first: behind the one that ended last, so that each has its turn.
    first: Cell<usize>,
}

impl Gathered {
    /// Creates the waits of so many functions.
    pub(crate) fn new(count: usize) -> Self {
        Self {
            waits: RefCell::new((0..count).map(|_| None).collect()),
            ended: Cell::default(),
            first: Cell::default(),
        }
    }

    /// Keeps what the function at this place waits for from now on; `None` for nothing.
    pub(crate) fn set(&self, at: usize, operation: Option<Operation>) {
        let replaced = match self.waits.borrow_mut().get_mut(at) {
            Some(wait) => std::mem::replace(wait, operation),
            None => operation,
        };
        drop(replaced);
    }

    /// Forgets which wait has ended. To be called before the waits are polled again.
    pub(crate) fn begin(&self) {
        self.ended.set(None);
    }

    /// Returns the place of the wait that has ended since [`Gathered::begin`].
    pub(crate) fn ended(&self) -> Option<usize> {
        self.ended.get()
    }

    /// Polls the waits until one is ready, whose result this is. `before` is called before each.
    pub(crate) fn poll(
        &self,
        cx: &mut Context<'_>,
        before: impl Fn(),
    ) -> Poll<Result<Value, Error>> {
        let count = self.waits.borrow().len();
        let mut is_empty = true;
        for step in 0..count {
            let at = (self.first.get() + step) % count;
            // Taken out, because the operation may call functions of the script.
            let taken = self.waits.borrow_mut()[at].take();
            let Some(mut operation) = taken else {
                continue;
            };
            is_empty = false;
            before();
            match operation.as_mut().poll(cx) {
                Poll::Pending => self.set(at, Some(operation)),
                Poll::Ready(result) => {
                    self.ended.set(Some(at));
                    self.first.set(at + 1);
                    drop(operation);
                    return Poll::Ready(result);
                }
            }
        }
        if is_empty {
            return Poll::Ready(Err(Error::script("app.gather: no function waits")));
        }
        Poll::Pending
    }
}
