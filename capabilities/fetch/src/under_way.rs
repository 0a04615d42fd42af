//! The requests to other servers that a client's request has under way: their count, and the bodies of their answers.

use crate::body::AnswerBody;
use crate::limits::CALLS_MAX;
use sampan_host::fetch::FetchFault;
use sampan_host::{Context, CurrentRun, Error, RunOwner, ScriptLimits};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

/// Counts the requests of one request of a client, or of one run without a client.
#[derive(Default)]
struct CallCount(Cell<usize>);

/// A place among the requests of a run, for as long as this is there.
pub(crate) struct CallPlace(Option<Rc<CallCount>>);

impl CallPlace {
    /// Takes a place among those of the run at hand.
    ///
    /// # Errors
    /// All are taken.
    pub(crate) fn take(context: &Context) -> Result<Self, Error> {
        let owner = context
            .get::<CurrentRun>()
            .and_then(|current| current.owner());
        let Some(owner) = owner else {
            return Ok(Self(None));
        };
        let store = owner.store();
        let count = store.get::<CallCount>();
        let count = count.unwrap_or_else(|| store.put(CallCount::default()));
        if count.0.get() >= CALLS_MAX {
            return Err(FetchFault::Busy.error(format!(
                "{CALLS_MAX} requests to other servers are under way already: wait for some of them, and read or \
                 cancel the bodies of their answers"
            )));
        }
        count.0.set(count.0.get() + 1);
        Ok(Self(Some(count)))
    }
}

impl Drop for CallPlace {
    fn drop(&mut self) {
        if let Some(count) = &self.0 {
            count.0.set(count.0.get() - 1);
        }
    }
}

/// Counts the bytes of the bodies that are read as a whole for one isolate.
#[derive(Default)]
struct WholeBytes(Cell<usize>);

/// The part of one body in them, for as long as this is there.
pub(crate) struct WholePart {
    all: Rc<WholeBytes>,
    own: usize,
    max: usize,
}

impl WholePart {
    /// Begins with nothing. All bodies together may have as many bytes as the isolate may use.
    pub(crate) fn new(context: &Context) -> Self {
        let limits = context.get::<ScriptLimits>();
        let max = limits.map_or_else(
            || ScriptLimits::default().memory_bytes_max,
            |limits| limits.memory_bytes_max,
        );
        if context.get::<WholeBytes>().is_none() {
            context.put(WholeBytes::default());
        }
        let all = context.get().unwrap_or_default();
        Self { all, own: 0, max }
    }

    /// Returns the bytes that this body may have.
    pub(crate) fn room(&self) -> usize {
        self.max.saturating_sub(self.all.0.get() - self.own)
    }

    /// Notes how many bytes of it are there.
    pub(crate) fn set(&mut self, bytes: usize) {
        self.all.0.set(self.all.0.get() - self.own + bytes);
        self.own = bytes;
    }

    /// Returns the error for a body that has no room.
    #[cold]
    pub(crate) fn too_large(&self) -> Error {
        let max = self.max;
        FetchFault::TooLarge.error(format!(
            "the answers that are read now are larger than memory_bytes_max ({max} bytes): read them as streams"
        ))
    }
}

impl Drop for WholePart {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// The bodies of a run, which are given up with it: a script in Lua may have forgotten them long before the collector
/// finds them.
#[derive(Default)]
struct OpenBodies(RefCell<Vec<Weak<AnswerBody>>>);

impl Drop for OpenBodies {
    fn drop(&mut self) {
        for body in self.0.take() {
            if let Some(body) = body.upgrade() {
                body.cancel();
            }
        }
    }
}

/// Gives a body up when the run ends that owns it.
pub(crate) fn end_with(owner: &RunOwner, body: &Rc<AnswerBody>) {
    let store = owner.store();
    let open = store.get::<OpenBodies>();
    let open = open.unwrap_or_else(|| store.put(OpenBodies::default()));
    let mut open = open.0.borrow_mut();
    open.retain(|body| body.strong_count() > 0);
    open.push(Rc::downgrade(body));
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::BackgroundRun;

    #[test]
    fn whole_bodies_share_the_memory_of_an_isolate() {
        let context = Context::default();
        let limits = ScriptLimits {
            memory_bytes_max: 10,
            ..ScriptLimits::default()
        };
        context.put(limits);
        let (mut one, other) = (WholePart::new(&context), WholePart::new(&context));
        one.set(7);
        assert_eq!((one.room(), other.room()), (10, 3));
        one.set(12);
        assert_eq!((one.room(), other.room()), (10, 0));
        drop(one);
        assert_eq!(other.room(), 10);
    }

    #[test]
    fn a_run_has_so_many_under_way_at_a_time() {
        let (context, current) = (Context::default(), CurrentRun::default());
        context.put(current.clone());
        drop(CallPlace::take(&context).expect("outside of any run there is no count"));
        current.set_background(Some(Rc::new(BackgroundRun::default())));
        let mut places: Vec<_> = (0..CALLS_MAX)
            .map(|_| CallPlace::take(&context).expect("a place"))
            .collect();
        let refused = CallPlace::take(&context).err().expect("all are taken");
        assert!(refused.message().contains("are under way already"));
        places.pop();
        CallPlace::take(&context).expect("one is free again");
    }
}
