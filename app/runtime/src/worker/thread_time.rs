//! The processor time that the kernel has given to a thread, read from another thread.

use procfs::process::{Process, Task};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// The length that the kernel's line of a thread's times cannot reach, in bytes.
const TIMES_BYTES_MAX: usize = 128;

/// A thread of this process.
pub(super) struct ThreadTime {
    /// `None` where the kernel does not tell.
    task: Option<Task>,
    /// Its `schedstat`. It stays open, because it is read often.
    times: Option<File>,
}

impl ThreadTime {
    /// Names the calling thread.
    pub(super) fn of_this_thread() -> Self {
        let number = rustix::thread::gettid().as_raw_nonzero().get();
        let task = Process::myself().and_then(|process| process.task_from_tid(number));
        let times = File::open(format!("/proc/self/task/{number}/schedstat"));
        Self {
            task: task.ok(),
            times: times.ok(),
        }
    }

    /// Returns the time that the thread has had a processor since its start; `None` where the kernel does not tell.
    pub(super) fn processor_time(&self) -> Option<Duration> {
        let mut line = [0; TIMES_BYTES_MAX];
        let length = self.times.as_ref()?.read_at(&mut line, 0).ok()?;
        let line = str::from_utf8(&line[..length]).ok()?;
        let nanos = line.split(' ').next()?.parse().ok()?;
        Some(Duration::from_nanos(nanos))
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
