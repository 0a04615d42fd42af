//! The threads that hash passwords, one set for the process.
//!
//! A hash takes some ten milliseconds and some megabytes by intent. Few threads bound both, and they run at the lowest
//! priority, so that logins wait for each other, and other requests do not wait for logins.

use crate::limits::{THREADS_MAX, WAITING_MAX};
use argon2::Block;
use sampan_host::{Error, ErrorKind};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard};
use std::thread;
use tokio::sync::oneshot;

/// The memory of one thread, kept while there is work.
pub(crate) type Memory = Vec<Block>;

/// The threads of the process.
pub(crate) static HASHERS: LazyLock<Hashers> = LazyLock::new(|| {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    Hashers {
        // The other cores are for requests, also where the system cares for no priorities.
        threads_max: (cores / 2).clamp(1, THREADS_MAX),
        state: Mutex::default(),
        changed: Condvar::new(),
    }
});

type Job = Box<dyn FnOnce(&mut Memory) + Send>;

/// A set of threads. They start when there is work.
pub(crate) struct Hashers {
    threads_max: usize,
    state: Mutex<HashQueue>,
    /// Tells the threads that there is a job.
    changed: Condvar,
}

#[derive(Default)]
struct HashQueue {
    waiting: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

impl Hashers {
    /// Runs work on a thread. Work whose caller has gone is skipped.
    ///
    /// # Errors
    /// Too much waits already, or that of the work.
    pub(crate) async fn run<T: Send + 'static>(
        &'static self,
        work: impl FnOnce(&mut Memory) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (sender, answer) = oneshot::channel();
        self.submit(Box::new(move |memory| {
            if !sender.is_closed() {
                let _ = sender.send(work(memory));
            }
        }))?;
        answer
            .await
            .unwrap_or_else(|_| Err(Error::new(ErrorKind::Internal, "a password was not hashed")))
    }

    fn submit(&'static self, job: Job) -> Result<(), Error> {
        let mut state = self.lock();
        if state.waiting.len() >= WAITING_MAX {
            return Err(Error::new(
                ErrorKind::Unavailable,
                format!("{WAITING_MAX} passwords wait to be hashed: try again later"),
            ));
        }
        if state.waiting.len() >= state.idle && state.threads < self.threads_max {
            let started = thread::Builder::new()
                .name("sampan-password".to_owned())
                .spawn(|| self.work());
            match started {
                Ok(_) => state.threads += 1,
                Err(_) if state.threads > 0 => {}
                Err(error) => {
                    let text = format!("cannot start a thread for passwords: {error}");
                    return Err(Error::new(ErrorKind::Unavailable, text));
                }
            }
        }
        state.waiting.push_back(job);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    fn work(&'static self) {
        /// The lowest that there is.
        const PRIORITY: i32 = 19;
        // On Linux this is the priority of the calling thread alone. Without it hashing is only less polite.
        let _ = rustix::process::setpriority_process(None, PRIORITY);
        let mut memory = Memory::new();
        loop {
            let job = self.next(&mut memory);
            // A job that panics drops its sender, which notifies the waiting caller.
            let _ = catch_unwind(AssertUnwindSafe(|| job(&mut memory)));
        }
    }

    /// The next job. While there is none, the thread keeps no memory.
    fn next(&self, memory: &mut Memory) -> Job {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.waiting.pop_front() {
                return job;
            }
            *memory = Memory::new();
            state.idle += 1;
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            state.idle -= 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashQueue> {
        // Nothing that can panic runs under the lock.
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_client::wait;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, mpsc};
    use std::task::{Context, Waker};

    /// Threads of a test's own.
    fn hashers(threads_max: usize) -> &'static Hashers {
        Box::leak(Box::new(Hashers {
            threads_max,
            state: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    #[tokio::test]
    async fn no_more_run_at_once_than_there_are_threads() {
        let hashers = hashers(2);
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let jobs: Vec<_> = (0..20)
            .map(|number| {
                let (running, most) = (Arc::clone(&running), Arc::clone(&most));
                tokio::spawn(hashers.run(move |_| {
                    let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(now, Ordering::SeqCst);
                    wait::until("both threads", || most.load(Ordering::SeqCst) == 2);
                    running.fetch_sub(1, Ordering::SeqCst);
                    Ok(number)
                }))
            })
            .collect();
        for (number, job) in jobs.into_iter().enumerate() {
            assert_eq!(job.await.expect("joined").expect("run"), number);
        }
        assert_eq!(most.load(Ordering::SeqCst), 2);
        assert_eq!(hashers.lock().threads, 2);
    }

    #[tokio::test]
    async fn a_full_queue_refuses_and_what_nobody_waits_for_is_left_out() {
        let hashers = hashers(1);
        let (go, gate) = mpsc::channel::<()>();
        let (begun, has_begun) = mpsc::channel();
        let first = tokio::spawn(hashers.run(move |_| {
            begun.send(()).expect("heard");
            gate.recv().expect("told");
            Ok(())
        }));
        tokio::task::yield_now().await;
        has_begun.recv().expect("begun");
        let done = Arc::new(AtomicUsize::new(0));
        let mut cx = Context::from_waker(Waker::noop());
        let mut waiting: Vec<_> = (0..WAITING_MAX)
            .map(|_| {
                let done = Arc::clone(&done);
                let work = move |_: &mut _| Ok(done.fetch_add(1, Ordering::SeqCst));
                let mut run = Box::pin(hashers.run(work));
                assert!(run.as_mut().poll(&mut cx).is_pending());
                run
            })
            .collect();
        let refused = hashers.run(|_| Ok(())).await.expect_err("full");
        assert_eq!(refused.kind(), ErrorKind::Unavailable);
        let last = waiting.pop().expect("one");
        drop(waiting);
        go.send(()).expect("it waits");
        first.await.expect("joined").expect("run");
        last.await.expect("run");
        assert_eq!(done.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_panic_ends_its_job_and_no_other() {
        let hashers = hashers(1);
        let failed = hashers.run(|_| -> Result<(), Error> { panic!("on purpose") });
        assert_eq!(failed.await.expect_err("lost").kind(), ErrorKind::Internal);
        hashers.run(|_| Ok(())).await.expect("the thread goes on");
        assert_eq!(hashers.lock().threads, 1);
    }
}
