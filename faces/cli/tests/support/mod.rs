//! The common parts of the tests of the command share: scratch folders, and the command as a running process.

#![allow(dead_code)] // Each test file uses its own part.

use sampan_testkit::{Client, wait};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use tempfile::TempDir;

/// A folder of a test's own, removed at its end.
pub(crate) struct Scratch(TempDir);

impl Scratch {
    /// A folder with these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (file, text) in files {
            fs::write(folder.path().join(file), text).expect("a file");
        }
        Self(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.path().join(name).display().to_string()
    }
}

/// A server in a process of its own; killed at the end, should it still run.
pub(crate) struct Process {
    child: Child,
    errors: Option<BufReader<ChildStderr>>,
    pub(crate) address: SocketAddr,
    /// The lines that it has said before it listened.
    pub(crate) first_lines: String,
}

impl Process {
    /// Starts a command that serves, and waits for the line that tells where.
    pub(crate) fn start(command: &mut Command) -> Self {
        Self::start_with_output(command, Stdio::null())
    }

    /// Starts the command with its standard output somewhere.
    #[allow(clippy::zombie_processes)] // Where this panics the test ends, and its children with it.
    pub(crate) fn start_with_output(command: &mut Command, output: Stdio) -> Self {
        let mut child = command
            .stderr(Stdio::piped())
            .stdout(output)
            .spawn()
            .expect("the command starts");
        let mut errors = BufReader::new(child.stderr.take().expect("piped"));
        let mut seen = String::new();
        loop {
            let mut line = String::new();
            let length = errors.read_line(&mut line).expect("UTF-8");
            seen.push_str(&line);
            assert!(length > 0, "the server did not start:\n{seen}");
            let address = line.split_once("listening on http");
            if let Some((_, rest)) = address.and_then(|(_, rest)| rest.split_once("://")) {
                let address = rest
                    .split(' ')
                    .next()
                    .unwrap_or_default()
                    .parse()
                    .expect("an address");
                return Self {
                    child,
                    errors: Some(errors),
                    address,
                    first_lines: seen,
                };
            }
        }
    }

    /// Starts a command and waits for a line with this text, before it serves.
    #[allow(clippy::zombie_processes)] // As above.
    pub(crate) fn start_until(command: &mut Command, text: &str) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let mut errors = BufReader::new(child.stderr.take().expect("piped"));
        let mut seen = String::new();
        while !seen.contains(text) {
            let length = errors.read_line(&mut seen).expect("UTF-8");
            assert!(length > 0, "it ended before {text:?}:\n{seen}");
        }
        Self {
            child,
            errors: Some(errors),
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            first_lines: seen,
        }
    }

    /// The id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address).expect("someone listens")
    }

    /// The memory that it has in use for data, in KiB: not the parts of the executable that it has read, most of all in
    /// the dev profile.
    pub(crate) fn memory_kib(&self) -> u64 {
        self.status_kib("RssAnon:")
    }

    /// The most memory that it had in use so far, in KiB.
    pub(crate) fn memory_peak_kib(&self) -> u64 {
        self.status_kib("VmHWM:")
    }

    fn status_kib(&self, name: &str) -> u64 {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("a process");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .expect("a line");
        line.trim()
            .trim_end_matches(" kB")
            .parse()
            .expect("a number")
    }

    /// The processor time that it has used in user code, in clock ticks (10 ms).
    pub(crate) fn cpu_ticks(&self) -> u64 {
        let line = fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        let line = line.expect("a process");
        // proc_pid_stat(5): `utime` is the 14th field, the 12th behind the name in brackets.
        let (_, fields) = line.rsplit_once(") ").expect("a name");
        let ticks = fields.split(' ').nth(11).expect("so many fields");
        ticks.parse().expect("a number")
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args([&format!("-{name}"), &self.child.id().to_string()])
            .status();
        assert!(status.expect("kill exists").success());
    }

    /// Begins to read what it says, to its end.
    pub(crate) fn read_errors(&mut self) -> LiveLog {
        let mut errors = self.errors.take().expect("it has not been read");
        let text = Arc::<Mutex<String>>::default();
        let seen = Arc::clone(&text);
        let reader = std::thread::spawn(move || {
            let mut line = String::new();
            while errors.read_line(&mut line).expect("UTF-8") > 0 {
                seen.lock().expect("no panic").push_str(&line);
                line.clear();
            }
        });
        LiveLog { text, reader }
    }

    /// Begins to read what it says, line by line.
    pub(crate) fn follow_errors(&mut self) -> Receiver<String> {
        let errors = self.errors.take().expect("it has not been read");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                // The test may have ended.
                let _ = sender.send(line);
            }
        });
        lines
    }

    /// Waits for the end: its exit status, and what it had to say.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let status = self.status();
        let mut text = String::new();
        if let Some(errors) = &mut self.errors {
            errors.read_to_string(&mut text).expect("UTF-8");
        }
        (status, text)
    }
}

impl Process {
    /// Waits for the end: its exit status alone.
    pub(crate) fn status(&mut self) -> Option<i32> {
        self.ended().code()
    }

    /// Waits for the end.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let ended = || self.child.try_wait().expect("a child");
        wait::found("the end of the server", ended)
    }
}

/// Sends a request without a body, which must not fail. Returns the text of its answer.
pub(crate) fn ask(process: &Process, method: &str, path: &str) -> String {
    let mut client = process.client();
    let answer = client.ask(method, path, &[], "").expect("an answer");
    assert!(answer.status < 300, "{method} {path}: {}", answer.text());
    answer.text()
}

/// Stops a server and expects that it ends well. Returns what it had to say.
pub(crate) fn ends_well(process: Process) -> String {
    process.signal("TERM");
    let (status, log) = process.end();
    assert_eq!(status, Some(0), "{log}");
    log
}

/// All that a process has said so far.
pub(crate) struct LiveLog {
    text: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
}

impl LiveLog {
    pub(crate) fn text(&self) -> String {
        self.text.lock().expect("no panic").clone()
    }

    /// Waits until it has said this.
    pub(crate) fn until(&self, part: &str) {
        self.until_times(part, 1);
    }

    /// Waits until it has said this so many times.
    pub(crate) fn until_times(&self, part: &str, times: usize) {
        wait::until(part, || self.text().matches(part).count() >= times);
    }

    /// Waits for the end of the process, and returns all that it has said.
    pub(crate) fn join(self) -> std::thread::Result<String> {
        self.reader.join()?;
        let text = self.text.lock().expect("no panic").clone();
        Ok(text)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
