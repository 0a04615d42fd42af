//! The threads that derive keys from passwords, one set for the process.
//!
//! PBKDF2 takes long by intent. Few threads of the lowest priority bound that, so that other requests do not wait.

use crate::limits::{DERIVATION_THREADS_MAX, DERIVATIONS_WAITING_MAX};
use sampan_host::{Error, ErrorKind};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard};
use std::thread;
use tokio::sync::oneshot;

/// The threads of the process.
pub(super) static DERIVERS: LazyLock<Derivers> = LazyLock::new(|| {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    Derivers {
        // The other cores are for requests, also where the system knows no priorities of threads.
        threads_max: (cores / 2).clamp(1, DERIVATION_THREADS_MAX),
        state: Mutex::default(),
        changed: Condvar::new(),
    }
});

/// Work that waits for a thread.
struct Derivation {
    work: Box<dyn FnOnce() -> Vec<u8> + Send>,
    /// Is closed once the caller has gone.
    answer: oneshot::Sender<Vec<u8>>,
}

impl Derivation {
    fn run(self) {
        if !self.answer.is_closed() {
            let _ = self.answer.send((self.work)());
        }
    }
}

/// A set of threads. They start when there is work.
pub(super) struct Derivers {
    threads_max: usize,
    state: Mutex<DerivationQueue>,
    /// Tells the threads that there is work.
    changed: Condvar,
}

#[derive(Default)]
struct DerivationQueue {
    waiting: VecDeque<Derivation>,
    threads: usize,
    idle: usize,
}

impl Derivers {
    /// Runs work on a thread. Work whose caller has gone is skipped.
    ///
    /// # Errors
    /// Too much waits already.
    pub(super) async fn run(
        &'static self,
        work: impl FnOnce() -> Vec<u8> + Send + 'static,
    ) -> Result<Vec<u8>, Error> {
        let (sender, answer) = oneshot::channel();
        self.submit(Derivation {
            work: Box::new(work),
            answer: sender,
        })?;
        answer
            .await
            .map_err(|_| Error::new(ErrorKind::Internal, "a key was not derived"))
    }

    fn submit(&'static self, work: Derivation) -> Result<(), Error> {
        let mut state = self.lock();
        if state.waiting.len() >= DERIVATIONS_WAITING_MAX {
            // Clients that have left take no places from others.
            state.waiting.retain(|one| !one.answer.is_closed());
        }
        if state.waiting.len() >= DERIVATIONS_WAITING_MAX {
            return Err(Error::new(
                ErrorKind::Unavailable,
                format!("{DERIVATIONS_WAITING_MAX} keys wait to be derived: try again later"),
            ));
        }
        if state.waiting.len() >= state.idle && state.threads < self.threads_max {
            let started = thread::Builder::new()
                .name("sampan-derive".to_owned())
                .spawn(|| self.work());
            match started {
                Ok(_) => state.threads += 1,
                Err(_) if state.threads > 0 => {}
                Err(error) => {
                    let text = format!("cannot start a thread to derive keys: {error}");
                    return Err(Error::new(ErrorKind::Unavailable, text));
                }
            }
        }
        state.waiting.push_back(work);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    fn work(&'static self) {
        /// The lowest that there is.
        const PRIORITY: i32 = 19;
        // On Linux this is the priority of the calling thread alone. Without it the work is only less polite.
        let _ = rustix::process::setpriority_process(None, PRIORITY);
        loop {
            let work = self.next();
            // Work that panics drops its sender, which notifies the waiting caller.
            let _ = catch_unwind(AssertUnwindSafe(|| work.run()));
        }
    }

    fn next(&self) -> Derivation {
        let mut state = self.lock();
        loop {
            if let Some(work) = state.waiting.pop_front() {
                return work;
            }
            state.idle += 1;
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            state.idle -= 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, DerivationQueue> {
        // Nothing that can panic runs under the lock.
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::task::{Context, Waker};

    /// Threads of a test's own.
    fn derivers() -> &'static Derivers {
        Box::leak(Box::new(Derivers {
            threads_max: 1,
            state: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    #[tokio::test]
    async fn a_full_queue_refuses_and_work_without_a_caller_is_skipped() {
        let derivers = derivers();
        let (go, gate) = mpsc::channel::<()>();
        let (begun, has_begun) = mpsc::channel();
        let mut cx = Context::from_waker(Waker::noop());
        let mut first = Box::pin(derivers.run(move || {
            begun.send(()).expect("heard");
            gate.recv().expect("told");
            vec![1]
        }));
        assert!(first.as_mut().poll(&mut cx).is_pending());
        has_begun.recv().expect("begun");
        let mut waiting: Vec<_> = (0..DERIVATIONS_WAITING_MAX)
            .map(|number| {
                let mut run = Box::pin(derivers.run(move || match number {
                    0 => vec![2],
                    _ => panic!("its caller has gone"),
                }));
                assert!(run.as_mut().poll(&mut cx).is_pending());
                run
            })
            .collect();
        let refused = derivers.run(Vec::new).await.expect_err("full");
        assert_eq!(refused.kind(), ErrorKind::Unavailable);
        waiting.truncate(1);
        // Those whose callers have gone keep no places, though no thread has come to them yet.
        let mut third = Box::pin(derivers.run(|| vec![3]));
        assert!(third.as_mut().poll(&mut cx).is_pending());
        assert_eq!(derivers.lock().waiting.len(), 2);
        go.send(()).expect("it waits");
        assert_eq!(first.await.expect("run"), [1]);
        let second = waiting.pop().expect("one");
        assert_eq!(second.await.expect("run"), [2]);
        assert_eq!(third.await.expect("run"), [3]);
    }

    #[tokio::test]
    async fn a_panic_ends_its_work_and_no_other() {
        let derivers = derivers();
        let failed = derivers.run(|| panic!("on purpose")).await;
        assert_eq!(failed.expect_err("lost").kind(), ErrorKind::Internal);
        assert_eq!(derivers.run(|| vec![7]).await.expect("run"), [7]);
        assert_eq!(derivers.lock().threads, 1);
    }
}
