//! WebSockets that another process holds open and puts under load: `cargo xtask bench socket-client`.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{ChildStdin, ChildStdout, Stdio};

use super::LoadResult;
use super::socket_client::READY;
use crate::peers::children::Child;
use crate::peers::placement::Placement;
use crate::routes::sockets::SocketLoad;

/// A running client process; its sockets are open until it is dropped.
pub(crate) struct Sockets {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    _child: Child,
}

impl Sockets {
    /// Starts the client on the processors of the load, and waits until all sockets are open and have been used.
    ///
    /// # Errors
    ///
    /// When it cannot open them all, with its own words.
    pub(crate) fn open(
        placement: &Placement,
        address: SocketAddr,
        load: &SocketLoad,
    ) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = placement.load(program);
        command.args(["socket-client", &address.to_string(), load.path, &load.text]);
        command.arg(load.sockets.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Child::start(&mut command).map_err(|error| error.to_string())?;
        let pipes = child.pipes();
        let (input, output) = pipes
            .stdin
            .take()
            .zip(pipes.stdout.take())
            .ok_or("no pipes")?;
        let mut sockets = Self {
            input,
            output: BufReader::new(output),
            _child: child,
        };
        match sockets.line()?.as_str() {
            READY => Ok(sockets),
            fault => Err(fault.to_owned()),
        }
    }

    /// Sends messages for so long.
    ///
    /// # Errors
    ///
    /// When a message is not answered, or wrongly.
    pub(crate) fn run(&mut self, seconds: u32) -> Result<LoadResult, String> {
        writeln!(self.input, "{seconds}").map_err(|error| error.to_string())?;
        let line = self.line()?;
        LoadResult::from_line(&line).ok_or(line)
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(0) => Err("the sockets are gone".to_owned()),
            Ok(_) => Ok(line.trim().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}
