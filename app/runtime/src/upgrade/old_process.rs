//! The old process of an upgrade: it starts the new one, sends it the listening sockets, and waits until it serves.

use super::starter::{NewProcess, Starter};
use super::{FAILED, HandedSocket, READY, StartedProgram, sockets};
use crate::locks::lock;
use crate::server::events::Stopper;
use rustix::net::sockopt::socket_peercred;
use sampan_host::log::Level;
use sampan_log::Logger;
use std::env;
use std::io::{self, ErrorKind, Read};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// The longest time that the new process may take to accept connections.
const START_TIME_MAX: Duration = Duration::from_secs(120);
/// The interval at which a process that starts is looked at.
const PAUSE: Duration = Duration::from_millis(10);
/// The most bytes of what the new process says.
const LINE_BYTES_MAX: usize = 4096;
/// The result of an upgrade: a line about it, or the reason of the failure.
pub(crate) type UpgradeOutcome = Result<String, String>;

/// Asks for upgrades, also before the server has started.
#[derive(Clone)]
pub struct UpgradeRequests {
    asked: Sender<Option<Sender<UpgradeOutcome>>>,
    replaced_by: Arc<OnceLock<u32>>,
}

/// The receiver of requests for an upgrade.
pub(crate) struct UpgradeInbox {
    asked: Receiver<Option<Sender<UpgradeOutcome>>>,
    replaced_by: Arc<OnceLock<u32>>,
}

/// The upgrade that goes on, if there is one.
pub(crate) struct Upgrading(Arc<Mutex<()>>);

impl Upgrading {
    /// Waits until no new process starts. A server that was told to end has killed it then.
    pub(crate) fn wait_until_over(&self) {
        drop(lock(&self.0));
    }
}

impl UpgradeRequests {
    pub(crate) fn new() -> (Self, UpgradeInbox) {
        let (sender, inbox) = channel();
        let replaced_by = Arc::<OnceLock<u32>>::default();
        let inbox = UpgradeInbox {
            asked: inbox,
            replaced_by: Arc::clone(&replaced_by),
        };
        let asked = sender;
        (Self { asked, replaced_by }, inbox)
    }

    /// Returns the number of the process that an upgrade has put in the place of this one, which ends.
    pub(crate) fn replaced_by(&self) -> Option<u32> {
        self.replaced_by.get().copied()
    }

    /// Asks for an upgrade, and waits for none.
    pub(crate) fn ask(&self) {
        let _ = self.asked.send(None);
    }

    /// Asks for an upgrade, and waits for what comes of it.
    pub(crate) fn ask_and_wait(&self) -> UpgradeOutcome {
        let gone = || "this server cannot be upgraded: it ends, or sampan dev runs it".to_owned();
        let (reply, outcome) = channel();
        self.asked.send(Some(reply)).map_err(|_| gone())?;
        outcome.recv().map_err(|_| gone())?
    }
}

impl UpgradeInbox {
    /// Starts the thread that carries upgrades out, by the starter. `before` is called before another process starts,
    /// `sockets` gives the listening sockets, and `leave` is called once another process serves: it leaves the sockets
    /// to that one. No other process starts once `stopper` has told the server to end.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(crate) fn serve(
        self,
        (program, starter): (StartedProgram, Starter),
        before: impl Fn() + Send + 'static,
        sockets: impl Fn() -> io::Result<Vec<HandedSocket>> + Send + 'static,
        leave: impl Fn() + Send + 'static,
        (stopper, logger): (Stopper, Logger),
    ) -> Result<Upgrading, String> {
        let upgrading = Upgrading(Arc::default());
        let turn = Arc::clone(&upgrading.0);
        let body = move || {
            while let Ok(asked) = self.asked.recv() {
                logger.text(
                    Level::Info,
                    format!("upgrade: starting {}", program.path().display()),
                );
                let held = lock(&turn);
                before();
                let outcome = replace(&program, &starter, &sockets, &stopper);
                let told = match &outcome {
                    Ok(pid) => {
                        let _ = self.replaced_by.set(*pid);
                        let text = format!("upgrade: process {pid} serves now, this one ends");
                        logger.text(Level::Info, text);
                        crate::systemd::is_replaced_by(*pid);
                        drop(held);
                        leave();
                        Ok(format!("process {pid} serves now"))
                    }
                    Err(fault) => {
                        let text = format!("not upgraded, this process serves on: {fault}");
                        logger.text(Level::Error, text.clone());
                        Err(text)
                    }
                };
                if let Some(reply) = asked {
                    let _ = reply.send(told);
                }
                if outcome.is_ok() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("sampan-upgrade".into())
            .spawn(body);
        thread
            .map(|_| upgrading)
            .map_err(|error| format!("cannot start a thread: {error}"))
    }
}

/// Starts another process in the place of this one, and waits until it accepts connections. Returns its number.
fn replace(
    program: &StartedProgram,
    starter: &Starter,
    sockets: &impl Fn() -> io::Result<Vec<HandedSocket>>,
    stopper: &Stopper,
) -> Result<u32, String> {
    refuse_where_the_end_matters()?;
    refuse_at_the_end(stopper)?;
    let told = |error: io::Error| format!("cannot hand the sockets over: {error}");
    let name = next_name();
    let address = SocketAddr::from_abstract_name(&name).map_err(told)?;
    let listener = UnixListener::bind_addr(&address).map_err(told)?;
    listener.set_nonblocking(true).map_err(told)?;
    let child = starter.start(program, &name)?;
    let mut starting = StartingProcess {
        child: Some(child),
        deadline: Instant::now() + START_TIME_MAX,
        stopper,
    };
    let stream = starting.connection(&listener)?;
    let sockets = sockets().map_err(told)?;
    sockets::send(&stream, &sockets).map_err(told)?;
    drop(sockets);
    starting.until_ready(stream)
}

/// Refuses where the end of this process would take the new one with it.
pub(crate) fn refuse_where_the_end_matters() -> Result<(), String> {
    let own = std::process::id();
    if own == 1 {
        let fault = "the end of process 1 ends its container: start a container of the new version";
        return Err(fault.to_owned());
    }
    let of_systemd = env::var("SYSTEMD_EXEC_PID").is_ok_and(|pid| pid == own.to_string());
    if of_systemd && env::var_os("NOTIFY_SOCKET").is_none() {
        let fault = "systemd would end the new process with this one: the unit needs Type=notify";
        return Err(fault.to_owned());
    }
    Ok(())
}

/// Refuses where this process was told to end: a new one would go on instead.
fn refuse_at_the_end(stopper: &Stopper) -> Result<(), String> {
    match stopper.is_stopped() {
        true => Err("the server was told to end".to_owned()),
        false => Ok(()),
    }
}

/// Returns a name for the socket of one upgrade.
fn next_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("sampan/upgrade/{}/{number}", std::process::id())
}

/// A process that starts. It is killed if it is dropped before it serves.
struct StartingProcess<'a> {
    child: Option<NewProcess>,
    deadline: Instant,
    stopper: &'a Stopper,
}

impl StartingProcess<'_> {
    /// Returns an error if the process has ended, its time is over, or this process was told to end. Pauses else.
    fn go_on(&mut self) -> Result<(), String> {
        let Some(child) = &mut self.child else {
            return Ok(());
        };
        if let Some(status) = child.end() {
            self.child = None;
            return Err(format!("the new process ended before it served: {status}"));
        }
        if Instant::now() >= self.deadline {
            let seconds = START_TIME_MAX.as_secs();
            return Err(format!("the new process did not serve within {seconds} s"));
        }
        refuse_at_the_end(self.stopper)?;
        std::thread::sleep(PAUSE);
        Ok(())
    }

    /// Waits for the connection of the new process. Others are closed.
    fn connection(&mut self, listener: &UnixListener) -> Result<UnixStream, String> {
        let pid = self.child.as_ref().map(NewProcess::id);
        loop {
            match listener.accept() {
                Ok((stream, _)) => {
                    let caller = socket_peercred(&stream).map(|peer| peer.pid.as_raw_pid() as u32);
                    if caller.ok() == pid && stream.set_nonblocking(false).is_ok() {
                        return Ok(stream);
                    }
                    self.go_on()?;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.go_on()?,
                Err(error) => return Err(format!("cannot hear the new process: {error}")),
            }
        }
    }

    /// Waits for what the new process says.
    fn until_ready(mut self, mut stream: UnixStream) -> Result<u32, String> {
        let told = |error: io::Error| format!("cannot hear the new process: {error}");
        stream.set_nonblocking(true).map_err(told)?;
        let mut said = Vec::new();
        let mut piece = [0; 512];
        let mut end = None;
        loop {
            match (stream.read(&mut piece), end.take()) {
                (Ok(len), _) if len > 0 => said.extend_from_slice(&piece[..len]),
                (Err(error), _) if error.kind() != ErrorKind::WouldBlock => {
                    return Err(told(error));
                }
                (_, Some(fault)) => return Err(fault),
                // Its last words are read before its end is told.
                (_, None) => end = self.go_on().err(),
            }
            if said.len() > LINE_BYTES_MAX {
                return Err("the new process says too much".to_owned());
            }
            let Some(line) = said.strip_suffix(b"\n") else {
                continue;
            };
            let line = String::from_utf8_lossy(line);
            if let Some(fault) = line.strip_prefix(FAILED) {
                return Err(fault.to_owned());
            }
            refuse_at_the_end(self.stopper)?;
            if line == READY
                && let Some(child) = self.child.take()
            {
                return Ok(child.id());
            }
            return Err(format!("the new process says {line:?}"));
        }
    }
}

impl Drop for StartingProcess<'_> {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            child.kill();
        }
    }
}
