//! The processors on which the server and the load run, and the number of threads of each.

use std::process::Command;

/// Open files that the load and the servers may need: 8,000 connections, and some.
const FILES_MAX: u32 = 16_384;

/// The processors of both sides, as lists for `taskset -c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    server: String,
    load: String,
    load_threads: usize,
}

impl Placement {
    /// The server on its first `threads` processors, the load on the next ones. Where there are not enough for
    /// both, they share all: the CPU time of a request can still be told, its latency hardly.
    pub(crate) fn new(threads: usize, processors: usize) -> Self {
        let list = |from: usize, to: usize| {
            (from..to)
                .map(|id| id.to_string())
                .collect::<Vec<_>>()
                .join(",")
        };
        if threads < processors {
            let load_threads = threads.min(processors - threads);
            Self {
                server: list(0, threads),
                load: list(threads, threads + load_threads),
                load_threads,
            }
        } else {
            Self {
                server: list(0, processors),
                load: list(0, processors),
                load_threads: processors.min(threads),
            }
        }
    }

    /// Returns the placement of [`Placement::new`] for this machine.
    pub(crate) fn here(threads: usize) -> Self {
        Self::new(
            threads,
            std::thread::available_parallelism().map_or(1, usize::from),
        )
    }

    /// Server and load on all processors.
    pub(crate) fn everywhere() -> Self {
        Self::here(std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// The load's processors alone, for a server that belongs to the load.
    pub(crate) fn of_load(&self) -> Self {
        Self {
            server: self.load.clone(),
            load: self.load.clone(),
            load_threads: self.load_threads,
        }
    }

    /// Returns the number of threads that the load has.
    pub(crate) fn load_threads(&self) -> usize {
        self.load_threads
    }

    /// A command that runs on the server's processors.
    pub(crate) fn server(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        pinned(&self.server, program)
    }

    /// A command that runs on the load's processors.
    pub(crate) fn load(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        pinned(&self.load, program)
    }

    /// Moves this thread to the load's processors, for a load that it makes itself.
    ///
    /// # Errors
    ///
    /// When the system does not permit it.
    pub(crate) fn move_here(&self) -> Result<(), String> {
        let own = std::process::id().to_string();
        let moved = Command::new("taskset")
            .args(["-c", "-p", &self.load, &own])
            .output();
        match moved {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
            Err(error) => Err(format!("taskset: {error}")),
        }
    }

    /// Describes the placement for the report.
    pub(crate) fn describe(&self) -> String {
        format!(
            "server on processor {}, load on processor {}",
            self.server, self.load
        )
    }
}

/// A command on some processors, with enough open files where the system lets it have them.
fn pinned(processors: &str, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = with_files("taskset");
    command.args(["-c", processors]).arg(program);
    command
}

/// A command that may open [`FILES_MAX`] files where the system permits.
pub(crate) fn with_files(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            &format!("ulimit -S -n {FILES_MAX} 2>/dev/null; exec \"$0\" \"$@\""),
        ])
        .arg(program);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_and_load_are_apart_where_there_is_room() {
        let placed = |threads, processors| {
            let found = Placement::new(threads, processors);
            (found.server, found.load, found.load_threads)
        };
        let wanted =
            |server: &str, load: &str, threads| (server.to_owned(), load.to_owned(), threads);
        assert_eq!(placed(1, 2), wanted("0", "1", 1));
        assert_eq!(placed(2, 2), wanted("0,1", "0,1", 2));
        assert_eq!(placed(2, 8), wanted("0,1", "2,3", 2));
        assert_eq!(placed(1, 1), wanted("0", "0", 1));
    }

    #[test]
    fn a_command_gets_its_arguments_as_they_are() {
        let output = with_files("printf")
            .args(["%s|", "a b", "$c"])
            .output()
            .expect("sh runs");
        assert_eq!(output.stdout, b"a b|$c|");
    }
}
