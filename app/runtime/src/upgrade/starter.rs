//! A small process that starts the new one of an upgrade, because a confined process can start none.
//!
//! It is the same executable with the same arguments, started before the server confines itself. The server and it
//! speak in lines over its standard input: `start NAME`, `look` and `kill`; it answers each. All that a server that is
//! taken over can have it do is to start this program again as it was started. It ends with the server.

use super::{HAND_OVER, StartedProgram};
use crate::locks::lock;
use rustix::thread::set_name;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR2};
use std::env;
use std::ffi::CStr;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

/// The name of the process that starts others, in lists of processes.
pub(super) const STARTER_NAME: &CStr = c"sampan-starter";
/// The variable that makes a process the starter, with the path of the program that it starts.
pub(super) const STARTER: &str = "SAMPAN_STARTER";
/// The file of the program that runs, also where another has taken its name.
const THIS_PROGRAM: &str = "/proc/self/exe";
/// Variables that are meant for the old process only, by its number.
const OF_OLD_PROCESS: [&str; 6] = [
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    "WATCHDOG_PID",
    "SYSTEMD_EXEC_PID",
    STARTER,
];

/// Starts the new process of an upgrade.
#[derive(Clone, Debug)]
pub(crate) enum Starter {
    /// This process does it.
    Here,
    /// Another process does it.
    Apart(Arc<Mutex<StarterProcess>>),
    /// No process can: the reason.
    Missing(String),
}

/// The process that starts others, seen from the server.
#[derive(Debug)]
pub(crate) struct StarterProcess {
    stream: BufReader<UnixStream>,
    _process: Child,
}

/// The new process of an upgrade, while it starts.
pub(super) enum NewProcess {
    Here(Child),
    Apart(Arc<Mutex<StarterProcess>>, u32),
}

impl Starter {
    /// Starts the process that starts others.
    pub(crate) fn apart(program: &StartedProgram) -> Self {
        match StarterProcess::begin(program) {
            Ok(process) => Self::Apart(Arc::new(Mutex::new(process))),
            Err(error) => Self::Missing(format!(
                "a confined process cannot start another, and the one that could did not start: {error}"
            )),
        }
    }

    /// Starts the program again. It finds the name of the old process's socket in its environment.
    pub(super) fn start(&self, program: &StartedProgram, name: &str) -> Result<NewProcess, String> {
        let told = |fault: String| format!("cannot start {}: {fault}", program.path().display());
        match self {
            Self::Here => {
                let child = command(program, name).spawn();
                child
                    .map(NewProcess::Here)
                    .map_err(|error| told(error.to_string()))
            }
            Self::Apart(process) => {
                let answer = lock(process).ask(&format!("start {name}")).map_err(told)?;
                let pid = answer.strip_prefix("pid ").and_then(|pid| pid.parse().ok());
                let pid = pid.ok_or_else(|| told(answer.clone()))?;
                Ok(NewProcess::Apart(Arc::clone(process), pid))
            }
            Self::Missing(fault) => Err(told(fault.clone())),
        }
    }
}

impl NewProcess {
    pub(super) fn id(&self) -> u32 {
        match self {
            Self::Here(child) => child.id(),
            Self::Apart(_, pid) => *pid,
        }
    }

    /// Returns how the process has ended, if it has.
    pub(super) fn end(&mut self) -> Option<String> {
        match self {
            Self::Here(child) => child
                .try_wait()
                .ok()
                .flatten()
                .map(|status| status.to_string()),
            Self::Apart(process, _) => match lock(process).ask("look") {
                Ok(answer) => answer.strip_prefix("ended ").map(str::to_owned),
                Err(fault) => Some(fault),
            },
        }
    }

    /// Ends the process.
    pub(super) fn kill(&mut self) {
        match self {
            Self::Here(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
            Self::Apart(process, _) => drop(lock(process).ask("kill")),
        }
    }
}

impl StarterProcess {
    fn begin(program: &StartedProgram) -> io::Result<Self> {
        let (own, other) = UnixStream::pair()?;
        let mut arguments = env::args_os();
        let mut command = Command::new(THIS_PROGRAM);
        if let Some(called) = arguments.next() {
            command.arg0(called);
        }
        command.args(arguments).env(STARTER, program.path());
        let process = command.stdin(Stdio::from(OwnedFd::from(other))).spawn()?;
        Ok(Self {
            stream: BufReader::new(own),
            _process: process,
        })
    }

    fn ask(&mut self, line: &str) -> Result<String, String> {
        let mut answer = String::new();
        let asked = writeln!(self.stream.get_mut(), "{line}");
        let heard = asked.and_then(|()| self.stream.read_line(&mut answer));
        match heard {
            Ok(0) => Err("the process that starts others has ended".to_owned()),
            Ok(_) => Ok(answer.trim_end().to_owned()),
            Err(error) => Err(format!("the process that starts others: {error}")),
        }
    }
}

/// Returns the command that starts a program in the place of this one.
fn command(program: &StartedProgram, name: &str) -> Command {
    let mut command = program.command();
    command.env(HAND_OVER, name);
    for variable in OF_OLD_PROCESS {
        command.env_remove(variable);
    }
    command
}

/// Starts processes for a confined server, if this process was started for that, until the server ends. Returns the
/// exit status then. To be called before the program does anything else.
pub fn serve_as_starter() -> Option<i32> {
    let program = StartedProgram::at(env::var_os(STARTER)?.into());
    // For people, and for a supervisor, which must not take it for a server.
    let _ = set_name(STARTER_NAME);
    // What ends the server must not end this process before: the server decides that.
    for signal in [SIGHUP, SIGINT, SIGTERM, SIGUSR2] {
        let _ = signal_hook::flag::register(signal, Arc::default());
    }
    Some(match answer_server(&program) {
        Ok(()) => 0,
        Err(_) => 1,
    })
}

fn answer_server(program: &StartedProgram) -> io::Result<()> {
    let stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut answers = stream.try_clone()?;
    let mut started: Option<Child> = None;
    for line in BufReader::new(stream).lines() {
        let line = line?;
        let answer = match line.split_once(' ') {
            Some(("start", name)) => match command(program, name).stdin(Stdio::null()).spawn() {
                Ok(child) => format!("pid {}", started.insert(child).id()),
                Err(error) => error.to_string(),
            },
            _ => after(&line, started.as_mut()),
        };
        writeln!(answers, "{}", answer.replace('\n', " "))?;
    }
    Ok(())
}

/// Carries out a line about the process that was started.
fn after(line: &str, started: Option<&mut Child>) -> String {
    let Some(child) = started else {
        return "ended before it began".to_owned();
    };
    if line == "kill" {
        let _ = child.kill();
        let _ = child.wait();
    }
    match child.try_wait() {
        Ok(Some(status)) => format!("ended {status}"),
        Ok(None) => "runs".to_owned(),
        Err(error) => format!("ended {error}"),
    }
}
