//! Another process that holds the write lock of the database (`shim/lock.c`).

use super::{Project, shim};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A process that holds the write lock.
pub(crate) struct Locker {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Locker {
    /// Starts it. It holds the lock when this returns, this first time for at least `millis_max` and until
    /// [`Self::go_on`] is called.
    pub(crate) fn start(project: &Project, millis_max: u64) -> Self {
        let program = shim::build(Path::new("shim/lock.c"), &[], "bin");
        let mut child = Command::new(program)
            .arg(project.data().join("test.db-shm"))
            .arg(millis_max.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let mut locker = Self { child, output };
        let mut said = String::new();
        locker.output.read_line(&mut said).expect("UTF-8");
        assert_eq!(said, "held\n");
        locker
    }

    /// Lets it give the lock back for the first time.
    pub(crate) fn go_on(&mut self) {
        let input = self.child.stdin.as_mut().expect("piped");
        input.write_all(b"\n").expect("it listens");
    }

    /// Ends it: how often it held the lock, and the longest time, in milliseconds.
    pub(crate) fn stop(mut self) -> (u64, u64) {
        drop(self.child.stdin.take());
        let mut said = String::new();
        self.output.read_to_string(&mut said).expect("UTF-8");
        let status = self.child.wait().expect("a child");
        assert!(
            status.success(),
            "the process that holds the lock failed: {status}"
        );
        let numbers = said.trim().split_once(' ').expect("two numbers");
        (
            numbers.0.parse().expect("a number"),
            numbers.1.parse().expect("a number"),
        )
    }
}

impl Drop for Locker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
