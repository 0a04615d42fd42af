//! Clients in a process of their own, which is this program with another command: they have memory and open files that
//! are not the server's, or thousands of open files.

use std::fmt::Display;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use tokio::task::LocalSet;

use crate::error::Error;
use crate::peers::children::Child;

/// The line that a client process prints once it is ready.
pub(super) const READY: &str = "ready";

/// The longest time until then.
const READY_SECONDS_MAX: u64 = 60;

/// A running client process, which reads lines until it is dropped.
pub(super) struct ClientProcess {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    _child: Child,
}

impl ClientProcess {
    /// Starts the client by `place`, which makes a command of a program, and waits until it is ready.
    ///
    /// # Errors
    ///
    /// When it does not become ready, with its own words.
    pub(super) fn open(
        place: impl FnOnce(PathBuf) -> Command,
        arguments: &[&str],
    ) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = place(program);
        command.args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Child::start(&mut command).map_err(|error| error.to_string())?;
        let pipes = child.pipes();
        let pipes = pipes.stdin.take().zip(pipes.stdout.take());
        let (input, output) = pipes.ok_or("no pipes")?;
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            // The receiver is gone where the client was too slow.
            let _ = sender.send((read_line(&mut output), output));
        });
        let (line, output) = receiver
            .recv_timeout(Duration::from_secs(READY_SECONDS_MAX))
            .map_err(|_| format!("it was not ready after {READY_SECONDS_MAX} s"))?;
        match line?.as_str() {
            READY => Ok(Self {
                input,
                output,
                _child: child,
            }),
            fault => Err(fault.to_owned()),
        }
    }

    /// Sends a line, and returns the next one of the client.
    ///
    /// # Errors
    ///
    /// When the client is gone.
    pub(super) fn ask(&mut self, line: &str) -> Result<String, String> {
        writeln!(self.input, "{line}").map_err(|error| error.to_string())?;
        read_line(&mut self.output)
    }
}

fn read_line(output: &mut BufReader<ChildStdout>) -> Result<String, String> {
    let mut line = String::new();
    match output.read_line(&mut line) {
        Ok(0) => Err("the client is gone".to_owned()),
        Ok(_) => Ok(line.trim().to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Prints the fault of a client process, if there is one, where [`ClientProcess`] reads it. Returns true if there is
/// none.
pub(super) fn told<E: Display>(served: &Result<(), E>) -> bool {
    if let Err(fault) = served {
        println!("{fault}");
    }
    served.is_ok()
}

/// Runs a client on this thread, and prints its fault.
///
/// # Errors
///
/// When there is no runtime.
pub(super) fn serve_on_runtime(serve: impl Future<Output = io::Result<()>>) -> Result<bool, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(told(&LocalSet::new().block_on(&runtime, serve)))
}
