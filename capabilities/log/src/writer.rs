//! Standard error, written by a thread of its own: a reader that does not read must not stop the server.
//!
//! Lines wait in a queue of bounded size. What finds it full is dropped, and the next line that finds room is preceded by one
//! that says how many were lost.

use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel,
};
use std::time::Duration;

/// How many messages wait at most.
const QUEUE_MAX: usize = 4096;

enum Job {
    Text(String),
    /// Answered when everything before it has been written.
    Flush(Sender<()>),
}

/// How many messages found the queue full since the last one that did not.
static LOST: AtomicU64 = AtomicU64::new(0);

/// The queue; `None` where no thread could be started.
fn queue() -> Option<&'static SyncSender<Job>> {
    static QUEUE: OnceLock<Option<SyncSender<Job>>> = OnceLock::new();
    let made = QUEUE.get_or_init(|| {
        let (sender, receiver) = sync_channel(QUEUE_MAX);
        let thread = std::thread::Builder::new().name("sampan-log".into());
        thread.spawn(move || run(&receiver)).ok().map(|_| sender)
    });
    made.as_ref()
}

fn run(jobs: &Receiver<Job>) {
    for job in jobs {
        match job {
            // A closed standard error is no reason to fail anything.
            Job::Text(text) => drop(std::io::stderr().lock().write_all(text.as_bytes())),
            Job::Flush(done) => drop(done.send(())),
        }
    }
}

/// Queues a message. Never waits.
pub(crate) fn put(text: &str) {
    let Some(queue) = queue() else {
        return drop(std::io::stderr().lock().write_all(text.as_bytes()));
    };
    let lost = LOST.swap(0, Ordering::Relaxed);
    let message = match lost {
        0 => text.to_owned(),
        lost => {
            format!("({lost} messages were lost: standard error is not read fast enough)\n{text}")
        }
    };
    if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
        queue.try_send(Job::Text(message))
    {
        LOST.fetch_add(lost + 1, Ordering::Relaxed);
    }
}

/// Waits until everything queued so far has been written, but no longer than `patience`.
pub(crate) fn flush(patience: Duration) {
    let (done, written) = channel();
    let Some(queue) = queue() else { return };
    if queue.try_send(Job::Flush(done)).is_ok() {
        match written.recv_timeout(patience) {
            Ok(()) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    }
}
