//! A server as a process: its start, its signals, its log, its memory and descriptors.

use crate::flat::Sample;
use crate::project::Project;
use crate::run::{Place, Site};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use sampan_testkit::wait;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStderr, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The longest time that a server may take to say where it listens.
const START_TIME_MAX: Duration = Duration::from_secs(60);
/// The longest time that a server may take to end after SIGTERM.
const END_TIME_MAX: Duration = Duration::from_secs(40);

/// A running server.
pub(crate) struct Server {
    child: Child,
    pub(crate) site: Arc<Site>,
    pub(crate) place: Place,
    pub(crate) born: Instant,
    pub(crate) samples: Vec<Sample>,
    log: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a process and waits until it listens. It is not among those that clients ask yet.
    pub(crate) fn start(
        project: &Project,
        program: &Path,
        site: &Arc<Site>,
        life: u64,
    ) -> Result<Self, String> {
        let told = |error: std::io::Error| format!("{}: {error}", project.name);
        let language = project.language(site.run.seed, life);
        let mut command = project.command(program, language);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().map_err(told)?;
        let errors = child.stderr.take();
        let mut log = File::options();
        let log = log.create(true).append(true).open(project.log());
        let mut log = log.map_err(told)?;
        writeln!(log, "--- process {life}, {language}").map_err(told)?;
        let (sender, address) = channel();
        let reader = errors.map(|errors| {
            let site = Arc::clone(site);
            std::thread::spawn(move || follow(errors, log, &site, &sender))
        });
        let address = first(&address).ok_or_else(|| {
            let _ = child.kill();
            let _ = child.wait();
            let said = fs::read_to_string(project.log()).unwrap_or_default();
            let at = said.floor_char_boundary(said.len().saturating_sub(2000));
            format!("{} did not start:\n{}", project.name, &said[at..])
        })?;
        Ok(Self {
            child,
            site: Arc::clone(site),
            place: Place { address, life },
            born: Instant::now(),
            samples: Vec::new(),
            log: reader,
        })
    }

    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid() {
            // A process that has ended is found by `has_ended`.
            let _ = kill_process(pid, signal);
        }
    }

    /// Makes all files of the process too large to be written (EFBIG), or ends that.
    pub(crate) fn limit_files(&self, is_limited: bool) -> Result<(), String> {
        let limit = Rlimit {
            current: is_limited.then_some(0),
            maximum: None,
        };
        let set = prlimit(self.pid(), Resource::Fsize, limit);
        set.map(|_| ()).map_err(|error| error.to_string())
    }

    /// Returns the status of a process that has ended by itself.
    pub(crate) fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Ends it as a crash would (SIGKILL). No client takes it for an answer that is missing.
    pub(crate) fn kill(mut self) -> Vec<Sample> {
        self.site.moves_to(None);
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.join_log();
        std::mem::take(&mut self.samples)
    }

    /// Ends it in good order (SIGTERM).
    pub(crate) fn stop(&mut self) {
        self.signal(Signal::TERM);
        let end = Instant::now() + END_TIME_MAX;
        loop {
            match self.has_ended() {
                Some(status) if status.success() => break,
                Some(status) => {
                    self.site
                        .fail(format_args!("ended with {status} after SIGTERM"));
                    break;
                }
                None if Instant::now() > end => {
                    self.site.fail("did not end after SIGTERM");
                    break;
                }
                None => wait::dawdle(Duration::from_millis(20)),
            }
        }
        self.site.moves_to(None);
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.join_log();
    }

    fn join_log(&mut self) {
        if let Some(log) = self.log.take() {
            let _ = log.join();
        }
    }

    /// Looks at memory and descriptors.
    pub(crate) fn sample(&mut self) {
        let pid = self.child.id();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = memory.and_then(|text| text.trim().trim_end_matches(" kB").parse::<u64>().ok());
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).map(Iterator::count);
        if let (Some(kib), Ok(descriptors)) = (kib, descriptors) {
            self.samples.push(Sample {
                age: self.born.elapsed(),
                bytes: kib * 1024,
                descriptors: descriptors as u64,
            });
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn first(address: &Receiver<SocketAddr>) -> Option<SocketAddr> {
    address.recv_timeout(START_TIME_MAX).ok()
}

/// Copies the log into its file, tells the address, and judges each line.
fn follow(errors: ChildStderr, mut log: File, site: &Site, address: &Sender<SocketAddr>) {
    for line in BufReader::new(errors).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line).into_owned();
        // The log of a run that found something is worth more than this one line.
        let _ = writeln!(log, "{line}");
        if let Some((_, rest)) = line.split_once("listening on http://") {
            let listens = rest.split([' ', '\n']).next().unwrap_or_default().parse();
            if let Ok(listens) = listens {
                let _ = address.send(listens);
            }
        }
        judge(&line, site);
    }
}

/// Records a line that tells of an error. A full disk explains those that are not a panic, a stop those that tell of
/// limits of time.
fn judge(line: &str, site: &Site) {
    let is_error = line.contains(" ERROR ");
    let is_panic = line.contains("panicked at");
    let is_sum = line.contains(" more like this in the last second");
    let is_late = line.contains("code=timeout") && site.logs_stops();
    let is_explained = is_late || site.logs_full_disks(is_sum);
    if is_panic || (is_error && !is_explained) {
        site.fail(format_args!("the log has: {line}"));
    }
}
