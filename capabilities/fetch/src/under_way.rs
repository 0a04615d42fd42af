//! The requests to other servers that a client's request has under way: their count, and the bodies of their answers.

use crate::body::AnswerBody;
use crate::limits::CALLS_MAX;
use sampan_host::fetch::FetchFault;
use sampan_host::{Context, CurrentRun, Error, RunOwner};
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
