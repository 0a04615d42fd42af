//! The thread that writes: a reader that does not read must not stop the server.
//!
//! Lines wait in a queue that is bounded in lines and in bytes. What finds it full is dropped, and the next line that
//! finds room is preceded by one that says how many were lost.

use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel,
};
use std::time::{Duration, Instant};

/// The number of lines that wait at most.
const QUEUE_LINES_MAX: usize = 4096;
/// The number of bytes that wait at most.
const QUEUE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Lines that wait together are written together, up to this size.
const WRITE_BYTES_MAX: usize = 64 * 1024;

/// The stream of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogStream {
    /// Standard error: the log.
    Error,
    /// Standard output: the access log.
    Output,
}

/// Something to be called at a time.
type Later = Box<dyn FnOnce() + Send>;

enum LogJob {
    Line(LogStream, String),
    /// Called when its time has come. It may queue lines.
    At(Instant, Later),
    /// Answered when everything before it has been written.
    Flush(Sender<()>),
}

/// The number of lines that found the queue full since the last one that did not.
static LOST: AtomicU64 = AtomicU64::new(0);
/// The number of bytes that wait.
static QUEUED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// The queue; `None` where no thread could be started.
fn queue() -> Option<&'static SyncSender<LogJob>> {
    static QUEUE: OnceLock<Option<SyncSender<LogJob>>> = OnceLock::new();
    let made = QUEUE.get_or_init(|| {
        let (sender, receiver) = sync_channel(QUEUE_LINES_MAX);
        let thread = std::thread::Builder::new().name("sampan-log".into());
        thread.spawn(move || run(&receiver)).ok().map(|_| sender)
    });
    made.as_ref()
}

fn run(jobs: &Receiver<LogJob>) {
    let mut later: Vec<(Instant, Later)> = Vec::new();
    let mut batch = LineBatch::default();
    loop {
        let job = match jobs.try_recv() {
            Ok(job) => job,
            // Nothing more waits: what is in hand is written before this thread does.
            Err(_) => {
                batch.write();
                let job = match later.iter().map(|(due, _)| *due).min() {
                    None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
                    Some(due) => jobs.recv_timeout(due.saturating_duration_since(Instant::now())),
                };
                match job {
                    Ok(job) => job,
                    Err(RecvTimeoutError::Timeout) => {
                        call_due(&mut later);
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        match job {
            LogJob::Line(stream, line) => {
                QUEUED_BYTES.fetch_sub(line.len(), Ordering::Relaxed);
                batch.add(stream, &line);
                // A flood must not keep what is due from being told.
                call_due(&mut later);
            }
            LogJob::At(due, call) => later.push((due, call)),
            LogJob::Flush(done) => {
                batch.write();
                // If this fails, the waiting thread has gone.
                let _ = done.send(());
            }
        }
    }
}

fn call_due(later: &mut Vec<(Instant, Later)>) {
    if later.is_empty() {
        return;
    }
    let now = Instant::now();
    let mut due = Vec::new();
    let mut index = 0;
    while index < later.len() {
        if later[index].0 <= now {
            due.push(later.swap_remove(index));
        } else {
            index += 1;
        }
    }
    due.into_iter().for_each(|(_, call)| call());
}

/// Lines for one stream that are written at once.
struct LineBatch {
    stream: LogStream,
    bytes: Vec<u8>,
}

impl Default for LineBatch {
    fn default() -> Self {
        Self {
            stream: LogStream::Error,
            bytes: Vec::new(),
        }
    }
}

impl LineBatch {
    fn add(&mut self, stream: LogStream, line: &str) {
        if self.stream != stream || self.bytes.len() + line.len() > WRITE_BYTES_MAX {
            self.write();
        }
        self.stream = stream;
        self.bytes.extend_from_slice(line.as_bytes());
    }

    fn write(&mut self) {
        if !self.bytes.is_empty() {
            write(self.stream, &self.bytes);
            self.bytes.clear();
            self.bytes.shrink_to(WRITE_BYTES_MAX);
        }
    }
}

/// A closed stream is not a reason to fail anything.
fn write(stream: LogStream, bytes: &[u8]) {
    match stream {
        LogStream::Error => drop(std::io::stderr().lock().write_all(bytes)),
        LogStream::Output => {
            let mut output = std::io::stdout().lock();
            drop(output.write_all(bytes).and_then(|()| output.flush()));
        }
    }
}

/// Queues a line. Never waits. `lost_line` makes the line that tells of lines that were lost.
pub(crate) fn put(stream: LogStream, line: String, lost_line: impl FnOnce(u64) -> String) {
    let Some(queue) = queue() else {
        return write(stream, line.as_bytes());
    };
    let size = line.len();
    if QUEUED_BYTES.fetch_add(size, Ordering::Relaxed) + size > QUEUE_BYTES_MAX {
        QUEUED_BYTES.fetch_sub(size, Ordering::Relaxed);
        LOST.fetch_add(1, Ordering::Relaxed);
        return;
    }
    tell_lost(queue, lost_line);
    if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
        queue.try_send(LogJob::Line(stream, line))
    {
        QUEUED_BYTES.fetch_sub(size, Ordering::Relaxed);
        LOST.fetch_add(1, Ordering::Relaxed);
    }
}

fn tell_lost(queue: &SyncSender<LogJob>, lost_line: impl FnOnce(u64) -> String) {
    if LOST.load(Ordering::Relaxed) == 0 {
        return;
    }
    let lost = LOST.swap(0, Ordering::Relaxed);
    let line = lost_line(lost);
    let size = line.len();
    QUEUED_BYTES.fetch_add(size, Ordering::Relaxed);
    if queue
        .try_send(LogJob::Line(LogStream::Error, line))
        .is_err()
    {
        QUEUED_BYTES.fetch_sub(size, Ordering::Relaxed);
        LOST.fetch_add(lost, Ordering::Relaxed);
    }
}

/// Has something called at a time, from the thread that writes. False if that cannot be promised.
pub(crate) fn at(due: Instant, call: Later) -> bool {
    queue().is_some_and(|queue| queue.try_send(LogJob::At(due, call)).is_ok())
}

/// Waits until everything queued so far has been written, but no longer than `patience`.
pub(crate) fn flush(patience: Duration) {
    let (done, written) = channel();
    let Some(queue) = queue() else { return };
    let deadline = Instant::now() + patience;
    let mut job = LogJob::Flush(done);
    // A queue that is full now may have room before the time is up.
    while let Err(TrySendError::Full(back)) = queue.try_send(job) {
        if Instant::now() >= deadline {
            return;
        }
        job = back;
        std::thread::sleep(Duration::from_millis(2));
    }
    match written.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Ok(()) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
    }
}
