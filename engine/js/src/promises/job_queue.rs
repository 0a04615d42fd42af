//! The runtime's queue of jobs, so that those of others wait while a bracket is open.
//!
//! QuickJS runs jobs in order and does not tell what is in its queue. The queue is a list whose ends stand in `JSRuntime`; the places
//! are those of QuickJS's sources, which are a part of the build, and a probe makes sure of them when an isolate is made (see
//! [`JobQueue::find`]).

use crate::promises::class_calls::{ClassCalls, words};
use crate::vm::sys::{Cx, Raw, Thrown, UNDEFINED, Val, address, class_id, is_object};
use rquickjs::qjs;
use std::collections::HashMap;
use std::ffi::c_int;
use std::ptr::NonNull;

/// What a job runs: it gets the context, and the number and place of its arguments.
pub(crate) type Job = unsafe extern "C" fn(*mut qjs::JSContext, c_int, *mut Raw) -> Raw;

/// `struct list_head`
#[repr(C)]
struct Link {
    previous: *mut Link,
    next: *mut Link,
}

/// `JSJobEntry`, up to its arguments.
#[repr(C)]
struct Entry {
    link: Link,
    context: *mut qjs::JSContext,
    job: Job,
    count: c_int,
    arguments: [Raw; 0],
}

/// Arguments of the job that calls who waits for a promise: the functions that settle the next promise, the handler, whether it was
/// rejected, and the value.
const REACTION_ARGUMENTS: c_int = 5;
const REACTION_SETTLES: usize = 0;
const REACTION_HANDLER: usize = 2;

/// Where the queue stands, and what is known of those in it.
#[derive(Clone, Copy)]
pub(crate) struct JobQueue {
    /// Where its ends stand, counted in words of eight bytes from the start of the runtime.
    head: usize,
    /// The class of the functions that go on with an async function, and where among its data the function stands that fulfils its
    /// promise, in words of eight bytes.
    resume_class: qjs::JSClassID,
    resume_settles: usize,
}

/// Jobs that wait until a bracket is over, in order.
pub(crate) struct Parked(Vec<NonNull<Entry>>);

impl JobQueue {
    /// Looks for the queue, which must be empty: its ends are the only words that point to themselves and, when there is a job, to
    /// that. `None` where anything is not as expected.
    pub(crate) fn find(cx: Cx<'_>, calls: ClassCalls) -> Result<Option<Self>, Thrown> {
        let own = cx.runtime() as usize;
        let place = |head: usize| own + head * size_of::<usize>();
        let points_to_itself = |words: &[usize], head: usize| {
            words[head] == place(head) && words[head + 1] == place(head)
        };
        let before: Vec<usize> = words(cx);
        let empty = (0..before.len() - 1).filter(|head| points_to_itself(&before, *head));
        let empty: Vec<usize> = empty.collect();
        let mut argument = UNDEFINED;
        // SAFETY: the context is alive; the job does nothing.
        if unsafe { qjs::JS_EnqueueJob(cx.raw(), Some(nothing), 1, &raw mut argument) } < 0 {
            return Err(Thrown);
        }
        let after: Vec<usize> = words(cx);
        let holds_job = |head: &&usize| {
            let (first, last) = (after[**head + 1], after[**head]);
            // SAFETY: what a list begins with is a live entry, larger than what is read; only that of a job is ours.
            first == last
                && first != place(**head)
                && unsafe {
                    let entry = first as *const Entry;
                    (*entry).link.next as usize == place(**head)
                        && (*entry).context == cx.raw()
                        && (*entry).job as usize == nothing as *const () as usize
                        && (*entry).count == 1
                }
        };
        let found = empty.iter().find(holds_job).copied();
        cx.core().drain(cx);
        let Some(head) = found else { return Ok(None) };
        let queue = Self {
            head,
            resume_class: 0,
            resume_settles: 0,
        };
        queue.find_resume(cx, calls)
    }

    /// Looks at an async function that waits for a job.
    fn find_resume(mut self, cx: Cx<'_>, calls: ClassCalls) -> Result<Option<Self>, Thrown> {
        let promise = cx.eval(c"(async () => { await 0; })()", c"<probe>")?;
        let found = self.entries(cx).first().copied().and_then(|entry| {
            // SAFETY: the entry is in the queue, and nothing runs meanwhile.
            let handler = unsafe { argument(entry, REACTION_HANDLER) }
                .filter(|handler| is_object(*handler))?;
            self.resume_class = class_id(handler);
            // SAFETY: the data of such a function are a block of QuickJS's own, as long as it says and zeroed when it was made; each
            // value in it is alive.
            unsafe {
                let data = qjs::JS_GetOpaque(handler, self.resume_class).cast::<usize>();
                let bytes = qjs::js_malloc_usable_size(cx.raw(), data.cast()) as usize;
                let count = (bytes / size_of::<usize>()).min(8);
                (0..count.saturating_sub(1)).find(|at| {
                    let value = data.add(*at).cast::<Raw>().read();
                    is_object(value)
                        && class_id(value) == calls.fulfils()
                        && address(calls.promise_of(value)) == address(promise.raw())
                })
            }
        });
        cx.core().drain(cx);
        Ok(found.map(|at| Self {
            resume_settles: at,
            ..self
        }))
    }

    fn head(self, cx: Cx<'_>) -> *mut Link {
        // SAFETY: the place lies in the runtime.
        unsafe { cx.runtime().cast::<usize>().add(self.head).cast() }
    }

    /// All jobs, in order.
    fn entries(self, cx: Cx<'_>) -> Vec<NonNull<Entry>> {
        let head = self.head(cx);
        let mut entries = Vec::new();
        // SAFETY: the list is whole, and nothing of QuickJS runs meanwhile.
        unsafe {
            let mut link = (*head).next;
            while link != head {
                entries.extend(NonNull::new(link.cast::<Entry>()));
                link = (*link).next;
            }
        }
        entries
    }

    /// How many jobs there are.
    pub(crate) fn len(self, cx: Cx<'_>) -> usize {
        self.entries(cx).len()
    }

    /// Takes out all jobs but the first `kept`.
    pub(crate) fn park(self, cx: Cx<'_>, kept: usize) -> Parked {
        let parked = self.entries(cx).split_off(kept);
        for entry in &parked {
            // SAFETY: the entry is in the list; who takes it out keeps it.
            unsafe {
                let link = entry.as_ptr().cast::<Link>();
                let (previous, next) = ((*link).previous, (*link).next);
                (*previous).next = next;
                (*next).previous = previous;
            }
        }
        Parked(parked)
    }

    /// Puts jobs back, in front of all others.
    pub(crate) fn put_back(self, cx: Cx<'_>, parked: Parked) {
        let head = self.head(cx);
        for entry in parked.0.into_iter().rev() {
            let link = entry.as_ptr().cast::<Link>();
            // SAFETY: the entry is in no list and alive; the list is whole.
            unsafe {
                let first = (*head).next;
                link.write(Link {
                    previous: head,
                    next: first,
                });
                (*first).previous = link;
                (*head).next = link;
            }
        }
    }

    /// Has all jobs run through `instead`; gives the places of their arguments, by which it knows them, and what they were to run.
    pub(crate) fn divert(self, cx: Cx<'_>, instead: Job) -> Vec<(usize, Job)> {
        let entries = self.entries(cx).into_iter();
        entries.filter_map(|entry| divert(entry, instead)).collect()
    }

    /// The same for the next job, if it goes on with an async function whose promise is one of these, or settles one of them.
    pub(crate) fn divert_next_of(
        self,
        cx: Cx<'_>,
        calls: ClassCalls,
        promises: &HashMap<usize, Val>,
        instead: Job,
    ) -> Option<(usize, Job)> {
        // SAFETY: the list is whole.
        let first = unsafe { (*self.head(cx)).next };
        if first == self.head(cx) {
            return None;
        }
        let entry = NonNull::new(first.cast::<Entry>())?;
        // SAFETY: the entry is in the queue, and nothing runs meanwhile.
        let argument = |at| unsafe { argument(entry, at) };
        let settles = argument(REACTION_SETTLES).filter(|value| calls.settles(*value));
        let settles = settles.or_else(|| {
            let handler = argument(REACTION_HANDLER)
                .filter(|handler| is_object(*handler) && self.resumes(*handler))?;
            // SAFETY: the data of such a function hold this one there for as long as it lives.
            unsafe {
                let data = qjs::JS_GetOpaque(handler, class_id(handler)).cast::<usize>();
                Some(data.add(self.resume_settles).cast::<Raw>().read())
            }
            .filter(|value| calls.settles(*value))
        })?;
        let promise = address(calls.promise_of(settles)) as usize;
        promises
            .contains_key(&promise)
            .then(|| divert(entry, instead))?
    }

    /// Whether it is a function that goes on with an async one, after what it waited for was fulfilled or rejected.
    fn resumes(self, handler: Raw) -> bool {
        let class = class_id(handler);
        class == self.resume_class || class == self.resume_class + 1
    }
}

impl Parked {
    /// Adds others behind them.
    pub(crate) fn append(&mut self, mut later: Self) {
        self.0.append(&mut later.0);
    }
}

/// An argument of a job that calls who waits for a promise; `None` for other jobs.
///
/// # Safety
/// The entry must be alive.
unsafe fn argument(entry: NonNull<Entry>, at: usize) -> Option<Raw> {
    // SAFETY: a job has as many arguments as it says, behind it.
    unsafe {
        let entry = entry.as_ptr();
        ((*entry).count == REACTION_ARGUMENTS)
            .then(|| (&raw const (*entry).arguments).cast::<Raw>().add(at).read())
    }
}

/// Has a job run through `instead`. `None` if it does already.
fn divert(mut entry: NonNull<Entry>, instead: Job) -> Option<(usize, Job)> {
    // SAFETY: the entry is alive, and nothing else looks at it now.
    let entry = unsafe { entry.as_mut() };
    let original = std::mem::replace(&mut entry.job, instead);
    let is_new = original as *const () != instead as *const ();
    is_new.then_some(((&raw const entry.arguments) as usize, original))
}

/// A job that does nothing.
unsafe extern "C" fn nothing(_: *mut qjs::JSContext, _: c_int, _: *mut Raw) -> Raw {
    UNDEFINED
}
