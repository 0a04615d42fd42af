//! The work that a request left unfinished: it goes on after its answer, for a while: its transactions, its native
//! objects, what it waits for.

use crate::request::slots::{RequestKey, RequestSlot};
use crate::sys::Failure;
use crate::vm::core::{Core, Cx};
use sampan_host::{Error, HandlerId};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// The longest time that work after an answer may take, in milliseconds.
const BACKGROUND_MILLIS_MAX: u64 = 30_000;

/// The most requests that may have such work at a time.
const BACKGROUND_MAX: usize = 1_024;

/// A handler and its answer have ended. Its request ends when nothing is left that it waits for.
pub(crate) fn ended(core: &Rc<Core>, key: RequestKey) {
    let Some(slot) = core.requests.get(key) else {
        return;
    };
    if !slot.tasks.is_waiting() {
        return forget(core, key);
    }
    if core.background.get() >= BACKGROUND_MAX {
        let text = format!(
            "work after an answer was dropped: there is such work of {BACKGROUND_MAX} requests already"
        );
        (core.contract.report)(Error::script(text));
        slot.tasks.cancel_all();
        return forget(core, key);
    }
    core.background.set(core.background.get() + 1);
    let until = Instant::now() + Duration::from_millis(BACKGROUND_MILLIS_MAX);
    let (kept, weak) = (Rest(Rc::clone(core), key), Rc::downgrade(&slot));
    drop(slot);
    (core.spawn)(Box::pin(async move {
        while let Some(slot) = weak.upgrade() {
            if !is_over(&slot, until).await {
                let text =
                    format!("work after an answer was dropped after {BACKGROUND_MILLIS_MAX} ms");
                (kept.0.contract.report)(Error::script(text));
                slot.tasks.cancel_all();
                break;
            }
            microtasks(&kept.0).await;
            if !slot.tasks.is_waiting() {
                break;
            }
        }
        drop(kept);
    }));
}

/// Waits until the request waits for nothing. False if that took too long.
async fn is_over(slot: &RequestSlot, until: Instant) -> bool {
    poll_fn(|cx| {
        if !slot.tasks.is_waiting() {
            return Poll::Ready(true);
        }
        if Instant::now() >= until {
            return Poll::Ready(false);
        }
        slot.tasks.wake_at_end(cx);
        Poll::Pending
    })
    .await
}

/// Waits until the platform has run its microtasks, which may begin something else.
async fn microtasks(core: &Rc<Core>) {
    let number = core.enter(HandlerId::MAX, None, |cx| {
        let number = cx.call_own("afterMicrotasks", &[]).ok()?;
        cx.number_of(number)
    });
    if let Some(number) = number {
        poll_fn(|cx| match core.poll_wait(number as u32, cx) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }
}

/// Work that goes on; dropping it ends its request.
struct Rest(Rc<Core>, RequestKey);

impl Drop for Rest {
    fn drop(&mut self) {
        self.0.background.set(self.0.background.get() - 1);
        forget(&self.0, self.1);
    }
}

/// Forgets a request that scripts cannot reach any more, with its native objects.
fn forget(core: &Rc<Core>, key: RequestKey) {
    let Some(slot) = core.requests.remove(key) else {
        return;
    };
    slot.tasks.end();
    if !slot.is_watched.get() || crate::sys::has_ended() {
        return;
    }
    // SAFETY: only the environment of this scope makes handles here.
    let scope = unsafe { core.env.scope() };
    let cx = Cx::new(core, scope.env());
    let told = cx.number(key).map_err(Failure::from);
    if told
        .and_then(|key| cx.call_own("requestEnded", &[key]))
        .is_err()
    {
        cx.clear();
    }
}
