//! The side of the server: hears callers, and does what they ask for.

use super::wire::{DONE, RELOAD, REPLACED, UPGRADE, prefix, read_until};
use crate::reload::requests::ReloadRequests;
use crate::upgrade::old_process::UpgradeRequests;
use rustix::net::sockopt::socket_peercred;
use rustix::process::{Uid, geteuid};
use sampan_host::log::Level;
use sampan_log::Logger;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The longest time that a caller may take to say what it wants.
const READ_TIME_MAX: Duration = Duration::from_secs(2);
/// The interval at which the end of the process looks whether callers have their answers.
const PAUSE: Duration = Duration::from_millis(5);
/// The longest that a caller may say, in bytes.
const LINE_BYTES_MAX: u64 = 64;
/// The most callers that are answered at the same time.
const CALLERS_MAX: usize = 32;

/// The answer to a caller that has no place.
const TOO_MANY: &[u8] = b"it has too many requests of this kind: try again\n";

/// The requests that a server can carry out.
#[derive(Clone)]
pub struct Control {
    /// Loads the project anew.
    pub reloads: ReloadRequests,
    /// Starts the executable again; `None` where that makes no sense.
    pub upgrades: Option<UpgradeRequests>,
}

/// The answers that are being made to callers.
#[derive(Clone, Default)]
pub struct ControlAnswers(Arc<AtomicUsize>);

/// One of these answers, until this is dropped.
struct PendingAnswer(Arc<AtomicUsize>);

impl Drop for PendingAnswer {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl ControlAnswers {
    /// Reports whether as many are being made as may be.
    fn is_full(&self) -> bool {
        self.0.load(Ordering::Acquire) >= CALLERS_MAX
    }

    /// Takes note of an answer that is being made.
    fn begin(&self) -> PendingAnswer {
        self.0.fetch_add(1, Ordering::AcqRel);
        PendingAnswer(Arc::clone(&self.0))
    }

    /// Waits until all of them have been sent, for a time.
    pub(crate) fn wait_until_sent(&self, time_max: Duration) {
        let deadline = Instant::now() + time_max;
        while self.0.load(Ordering::Acquire) > 0 && Instant::now() < deadline {
            std::thread::sleep(PAUSE);
        }
    }
}

/// The callers that have not said yet what they want, the oldest first.
#[derive(Clone, Default)]
struct SilentCallers(Arc<Mutex<VecDeque<Arc<UnixStream>>>>);

impl SilentCallers {
    fn callers(&self) -> MutexGuard<'_, VecDeque<Arc<UnixStream>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, caller: &Arc<UnixStream>) {
        self.callers().push_back(Arc::clone(caller));
    }

    /// Removes a caller that has said something, or has gone. False if it was let go before.
    fn remove(&self, caller: &Arc<UnixStream>) -> bool {
        let mut callers = self.callers();
        let found = callers.iter().position(|one| Arc::ptr_eq(one, caller));
        found.and_then(|at| callers.remove(at)).is_some()
    }

    /// Refuses the oldest of them. False if there is none.
    fn let_oldest_go(&self) -> bool {
        let Some(oldest) = self.callers().pop_front() else {
            return false;
        };
        // It may have gone by itself.
        drop((&*oldest).write_all(TOO_MANY));
        drop(oldest.shutdown(Shutdown::Both));
        true
    }
}

/// Hears callers from now on, on a thread of its own. Where that cannot be the log is told, and the server goes on
/// without.
pub fn listen(root: &Path, control: Control, logger: &Logger) -> ControlAnswers {
    let answers = ControlAnswers::default();
    if let Err(error) = try_listen(root, control, answers.clone(), READ_TIME_MAX) {
        let text = format!("sampan reload and sampan upgrade cannot reach this server: {error}");
        logger.text(Level::Warn, text);
    }
    answers
}

fn try_listen(
    root: &Path,
    control: Control,
    answers: ControlAnswers,
    read_time_max: Duration,
) -> io::Result<()> {
    let name = format!("{}{}", prefix(root), std::process::id());
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
    let silent = SilentCallers::default();
    let body = move || {
        for caller in listener.incoming() {
            match caller {
                // A caller that has gone misses nothing.
                Ok(caller) => drop(serve(caller, &control, &answers, &silent, read_time_max)),
                Err(_) => std::thread::sleep(READ_TIME_MAX),
            }
        }
    };
    start_thread(body)
}

/// Starts a thread that mostly waits.
fn start_thread(body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("sampan-control".into());
    thread.stack_size(256 * 1024).spawn(body).map(drop)
}

/// Answers a caller on a thread of its own. One that is too many takes the place of the oldest that says nothing.
fn serve(
    mut caller: UnixStream,
    control: &Control,
    answers: &ControlAnswers,
    silent: &SilentCallers,
    read_time_max: Duration,
) -> io::Result<()> {
    let who = socket_peercred(&caller)?.uid;
    // Its socket has room for a line, so this does not wait.
    if who != geteuid() && who != Uid::ROOT {
        return caller.write_all(b"only the user of the server and root may do that\n");
    }
    if answers.is_full() && !silent.let_oldest_go() {
        return caller.write_all(TOO_MANY);
    }
    let (control, pending) = (control.clone(), answers.begin());
    let (caller, heard) = (Arc::new(caller), silent.clone());
    silent.add(&caller);
    let started = start_thread({
        let caller = Arc::clone(&caller);
        move || {
            let _pending = pending;
            drop(answer(&caller, &control, &heard, read_time_max));
        }
    });
    if started.is_err() {
        silent.remove(&caller);
    }
    started
}

fn answer(
    caller: &Arc<UnixStream>,
    control: &Control,
    silent: &SilentCallers,
    read_time_max: Duration,
) -> io::Result<()> {
    let is_line = |said: &[u8]| said.contains(&b'\n');
    let line = read_until(is_line, caller, LINE_BYTES_MAX, Some(read_time_max));
    if !silent.remove(caller) {
        return Ok(());
    }
    let line = line?;
    let outcome = match (line.trim_end(), &control.upgrades) {
        (RELOAD, _) => control.reloads.ask_and_wait(),
        (UPGRADE, Some(upgrades)) => upgrades.ask_and_wait(),
        (UPGRADE, None) => {
            Err("only sampan run can be upgraded, and this is another command".to_owned())
        }
        (other, _) => Err(format!("{other:?} is nothing that this server knows")),
    };
    let replaced_by = control.upgrades.as_ref();
    let replaced_by = replaced_by.and_then(UpgradeRequests::replaced_by);
    let told = match (outcome, replaced_by) {
        (Ok(done), _) => format!("{DONE}{done}"),
        (Err(_), Some(pid)) => format!("{REPLACED}process {pid} has its place, and it ends"),
        (Err(fault), None) => fault,
    };
    (&**caller).write_all(told.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_client::wait;

    /// Says a line, if any, and reads the answer.
    fn asked(mut caller: UnixStream, line: &str) -> String {
        caller.write_all(line.as_bytes()).expect("sent");
        read_until(|_| false, &caller, 1_000, None).expect("an answer")
    }

    #[test]
    fn a_caller_that_says_nothing_keeps_no_other_waiting() {
        let folder = tempfile::tempdir().expect("a folder");
        let (reloads, _inbox) = ReloadRequests::new();
        let control = Control {
            reloads,
            upgrades: None,
        };
        let answers = ControlAnswers::default();
        let patience = Duration::from_secs(600);
        try_listen(folder.path(), control, answers.clone(), patience).expect("listening");
        let name = format!("{}{}", prefix(folder.path()), std::process::id());
        let address = SocketAddr::from_abstract_name(name).expect("a name");
        let call = || UnixStream::connect_addr(&address).expect("connected");
        let silent: Vec<UnixStream> = (1..CALLERS_MAX).map(|_| call()).collect();
        let told = asked(call(), "dance\n");
        assert_eq!(told, "\"dance\" is nothing that this server knows");
        wait::until("only the silent callers are left", || {
            answers.0.load(Ordering::Acquire) == CALLERS_MAX - 1
        });
        let _last = call();
        // The oldest goes in its place.
        let told = asked(call(), "sing\n");
        assert_eq!(told, "\"sing\" is nothing that this server knows");
        let told = read_until(|_| false, &silent[0], 1_000, None).expect("an answer");
        assert_eq!(told.as_bytes(), TOO_MANY);
        wait::until("the other silent callers are left", || {
            answers.0.load(Ordering::Acquire) == CALLERS_MAX - 1
        });
    }
}
