//! The processor time that the kernel has given to a thread, read from another thread.

use nix::time::{ClockId, clock_gettime};
use procfs::process::{Process, Task};
use std::time::Duration;

/// A thread of this process.
pub(super) struct ThreadTime {
    /// `None` where the kernel does not tell.
    task: Option<Task>,
    /// The clock of its processor time. Unlike the kernel's files it is exact while the thread runs.
    clock: ClockId,
}

/// Returns the clock of the processor time of a thread, as `pthread_getcpuclockid` does: the kernel reads the number of
/// the thread from it, inverted, above three bits (`CPUCLOCK_SCHED` of a thread, `linux/posix-timers.h`).
fn clock_of(thread: i32) -> ClockId {
    ClockId::from_raw((!thread << 3) | 0b110)
}

impl ThreadTime {
    /// Names the calling thread.
    pub(super) fn of_this_thread() -> Self {
        let number = rustix::thread::gettid().as_raw_nonzero().get();
        let task = Process::myself().and_then(|process| process.task_from_tid(number));
        Self {
            task: task.ok(),
            clock: clock_of(number),
        }
    }

    /// Returns the time that the thread has had a processor since its start; `None` where the kernel does not tell.
    pub(super) fn processor_time(&self) -> Option<Duration> {
        clock_gettime(self.clock).ok().map(Duration::from)
    }

    /// Reports whether the thread runs or waits for a processor. False where the kernel does not tell.
    pub(super) fn wants_processor(&self) -> bool {
        let stat = self.task.as_ref().and_then(|task| task.stat().ok());
        stat.is_some_and(|stat| stat.state == 'R')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::Instant;

    #[test]
    fn a_thread_that_computes_is_told_from_one_that_waits() {
        let (sender, receiver) = channel();
        let (over, wait) = channel::<()>();
        let waiting = std::thread::spawn(move || {
            sender.send(ThreadTime::of_this_thread()).unwrap();
            wait.recv().unwrap_err();
        });
        let other = receiver.recv().unwrap();
        let this = ThreadTime::of_this_thread();
        let before = this.processor_time().expect("the kernel tells");
        let until = Instant::now() + Duration::from_secs(10);
        while this.processor_time().unwrap() - before < Duration::from_millis(20) {
            assert!(Instant::now() < until, "a thread that computes uses time");
        }
        assert!(this.wants_processor());
        while other.wants_processor() {
            assert!(Instant::now() < until, "it gets the processor and waits");
            std::thread::yield_now();
        }
        assert!(other.processor_time().unwrap() < Duration::from_millis(20));
        drop(over);
        waiting.join().unwrap();
    }
}
