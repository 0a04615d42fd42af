//! Threads of the lowest priority, for single functions of capabilities that take long by intent.
//!
//! Few threads bound the processor time and the memory of such work, so that callers of it wait for each other, and
//! other requests do not wait for them.

use crate::error::{Error, ErrorKind};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use tokio::sync::oneshot;

/// The work of one set of threads.
#[derive(Clone, Copy, Debug)]
pub struct LongWork {
    /// The name of the threads.
    pub name: &'static str,
    /// The most threads; half as many as there are cores if that is less.
    pub threads_max: usize,
    /// The most calls that may wait for a thread.
    pub waiting_max: usize,
    /// A text such as `keys wait to be derived`, for the error of a call too many.
    pub waiting: &'static str,
    /// A text such as `a key was not derived`, for the error of a call that has panicked.
    pub lost: &'static str,
}

/// A set of threads, which start when there is work. Each has a memory of type `M`, which it drops while there is none.
pub struct LowPriorityThreads<M> {
    work: LongWork,
    state: Mutex<ThreadQueue<M>>,
    /// Tells the threads that there is work.
    changed: Condvar,
}

struct ThreadQueue<M> {
    waiting: VecDeque<Box<dyn WaitingCall<M>>>,
    threads: usize,
    idle: usize,
}

/// A call that waits for a thread.
trait WaitingCall<M>: Send {
    /// Reports whether its caller still waits for the result.
    fn is_wanted(&self) -> bool;

    fn run(self: Box<Self>, memory: &mut M);
}

struct CallOf<F, T> {
    function: F,
    /// Is closed once the caller has gone.
    answer: oneshot::Sender<Result<T, Error>>,
}

impl<M, F, T> WaitingCall<M> for CallOf<F, T>
where
    F: FnOnce(&mut M) -> Result<T, Error> + Send,
    T: Send,
{
    fn is_wanted(&self) -> bool {
        !self.answer.is_closed()
    }

    fn run(self: Box<Self>, memory: &mut M) {
        if self.is_wanted() {
            let _ = self.answer.send((self.function)(memory));
        }
    }
}

impl<M: Default + 'static> LowPriorityThreads<M> {
    /// Creates a set without threads.
    pub fn new(mut work: LongWork) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        // The other cores are for requests, also where the system knows no priorities of threads.
        work.threads_max = (cores / 2).clamp(1, work.threads_max);
        Self::of_threads(work)
    }

    /// Creates a set of up to so many threads, however many cores there are.
    fn of_threads(work: LongWork) -> Self {
        let state = ThreadQueue {
            waiting: VecDeque::new(),
            threads: 0,
            idle: 0,
        };
        Self {
            work,
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// Runs a function on a thread. One whose caller has gone is skipped.
    ///
    /// # Errors
    /// Too many wait already, or that of the function.
    pub async fn run<T: Send + 'static>(
        &'static self,
        function: impl FnOnce(&mut M) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (sender, answer) = oneshot::channel();
        self.submit(Box::new(CallOf {
            function,
            answer: sender,
        }))?;
        answer
            .await
            .unwrap_or_else(|_| Err(Error::new(ErrorKind::Internal, self.work.lost)))
    }

    fn submit(&'static self, call: Box<dyn WaitingCall<M>>) -> Result<(), Error> {
        let LongWork {
            name,
            threads_max,
            waiting_max,
            waiting,
            ..
        } = self.work;
        let mut state = self.lock();
        if state.waiting.len() >= waiting_max {
            // Clients that have left take no places from others.
            state.waiting.retain(|call| call.is_wanted());
        }
        if state.waiting.len() >= waiting_max {
            let text = format!("{waiting_max} {waiting}: try again later");
            return Err(Error::new(ErrorKind::Unavailable, text));
        }
        if state.waiting.len() >= state.idle && state.threads < threads_max {
            let started = thread::Builder::new()
                .name(name.to_owned())
                .spawn(|| self.work());
            match started {
                Ok(_) => state.threads += 1,
                Err(_) if state.threads > 0 => {}
                Err(error) => {
                    let text = format!("cannot start a thread ({name}): {error}");
                    return Err(Error::new(ErrorKind::Unavailable, text));
                }
            }
        }
        state.waiting.push_back(call);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    fn work(&'static self) {
        /// The lowest that there is.
        const PRIORITY: i32 = 19;
        // On Linux this is the priority of the calling thread alone. Without it the work is only less polite.
        let _ = rustix::process::setpriority_process(None, PRIORITY);
        let mut memory = M::default();
        loop {
            let call = self.next(&mut memory);
            // A call that panics drops its sender, which notifies the waiting caller.
            let _ = catch_unwind(AssertUnwindSafe(|| call.run(&mut memory)));
        }
    }

    /// Returns the next call. While there is none, the thread keeps no memory.
    fn next(&self, memory: &mut M) -> Box<dyn WaitingCall<M>> {
        let mut state = self.lock();
        loop {
            if let Some(call) = state.waiting.pop_front() {
                return call;
            }
            *memory = M::default();
            state.idle += 1;
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, ThreadQueue<M>> {
        // Nothing that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Barrier, mpsc};
    use std::task::{Context, Waker};

    const WAITING_MAX: usize = 100;

    /// Threads of a test's own.
    fn threads<M: Default + 'static>(threads_max: usize) -> &'static LowPriorityThreads<M> {
        let work = LongWork {
            name: "test",
            threads_max,
            waiting_max: WAITING_MAX,
            waiting: "calls wait",
            lost: "a call is lost",
        };
        Box::leak(Box::new(LowPriorityThreads::of_threads(work)))
    }

    #[tokio::test]
    async fn no_more_run_at_once_than_there_are_threads() {
        let threads = threads::<()>(2);
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let both = Arc::new(Barrier::new(2));
        let calls: Vec<_> = (0..20)
            .map(|number| {
                let (running, most) = (Arc::clone(&running), Arc::clone(&most));
                let both = Arc::clone(&both);
                tokio::spawn(threads.run(move |()| {
                    let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(now, Ordering::SeqCst);
                    both.wait();
                    running.fetch_sub(1, Ordering::SeqCst);
                    Ok(number)
                }))
            })
            .collect();
        for (number, call) in calls.into_iter().enumerate() {
            assert_eq!(call.await.expect("joined").expect("run"), number);
        }
        assert_eq!(most.load(Ordering::SeqCst), 2);
        assert_eq!(threads.lock().threads, 2);
    }

    #[tokio::test]
    async fn a_full_queue_refuses_and_calls_whose_callers_have_gone_are_skipped() {
        let threads = threads::<()>(1);
        let (go, gate) = mpsc::channel::<()>();
        let (begun, has_begun) = mpsc::channel();
        let mut cx = Context::from_waker(Waker::noop());
        let mut first = Box::pin(threads.run(move |()| {
            begun.send(()).expect("heard");
            gate.recv().expect("told");
            Ok(1)
        }));
        assert!(first.as_mut().poll(&mut cx).is_pending());
        has_begun.recv().expect("begun");
        let mut waiting: Vec<_> = (0..WAITING_MAX)
            .map(|number| {
                let mut run = Box::pin(threads.run(move |()| match number {
                    0 => Ok(2),
                    _ => panic!("its caller has gone"),
                }));
                assert!(run.as_mut().poll(&mut cx).is_pending());
                run
            })
            .collect();
        let refused = threads.run(|()| Ok(())).await.expect_err("full");
        assert_eq!(refused.kind(), ErrorKind::Unavailable);
        assert_eq!(refused.message(), "100 calls wait: try again later");
        waiting.truncate(1);
        // Those whose callers have gone keep no places, though no thread has come to them yet.
        let mut third = Box::pin(threads.run(|()| Ok(3)));
        assert!(third.as_mut().poll(&mut cx).is_pending());
        assert_eq!(threads.lock().waiting.len(), 2);
        go.send(()).expect("it waits");
        assert_eq!(first.await.expect("run"), 1);
        let second = waiting.pop().expect("one");
        assert_eq!(second.await.expect("run"), 2);
        assert_eq!(third.await.expect("run"), 3);
    }

    #[tokio::test]
    async fn a_panic_ends_its_call_and_no_other() {
        let threads = threads::<()>(1);
        let failed = threads.run(|()| -> Result<(), Error> { panic!("on purpose") });
        let lost = failed.await.expect_err("lost");
        assert_eq!(
            (lost.kind(), lost.message()),
            (ErrorKind::Internal, "a call is lost")
        );
        threads.run(|()| Ok(())).await.expect("the thread goes on");
        assert_eq!(threads.lock().threads, 1);
    }
}
