//! The side of the commands: finds the servers of a project, and asks them.

use super::wire::{DONE, RELOAD, REPLACED, UPGRADE, prefix, read_until};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_peercred};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use rustix::process::{Uid, geteuid};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// The longest time that a server may take to accept a connection, and to take a request.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(2);
/// The longest time that root waits for the server of another user, which may never answer. A user's own server may
/// take as long as the project wants.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10 * 60);
/// The longest answer that is read, in bytes.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;
/// The list of the Unix sockets of this network namespace.
const SOCKETS: &str = "/proc/net/unix";

/// A request to all servers of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlRequest {
    /// Load the project anew.
    Reload,
    /// Start the executable again, and give it the listening sockets.
    Upgrade,
}

/// The answer of a server to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlAnswer {
    /// The id of its process.
    pub pid: u32,
    /// The result of the request.
    pub outcome: ControlOutcome,
}

/// The result of a request to a server. Each text is a line about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlOutcome {
    /// The server did what it was asked for.
    Done(String),
    /// The server did nothing: an upgrade has put another process in its place, and it ends.
    Replaced(String),
    /// The request failed: the reason.
    Failed(String),
}

impl ControlOutcome {
    /// Reads the answer of a server.
    fn of(told: String) -> Self {
        if told.is_empty() {
            return Self::Failed("it ended before it answered".to_owned());
        }
        if let Some(done) = told.strip_prefix(DONE) {
            return Self::Done(done.to_owned());
        }
        match told.strip_prefix(REPLACED) {
            Some(replaced) => Self::Replaced(replaced.to_owned()),
            None => Self::Failed(told),
        }
    }
}

/// Sends a request to all servers of the project in a folder, and waits for their answers. The folder is in its
/// canonical form.
///
/// # Errors
/// The system does not say which there are.
pub fn ask_servers(root: &Path, request: ControlRequest) -> Result<Vec<ControlAnswer>, String> {
    let line = match request {
        ControlRequest::Reload => RELOAD,
        ControlRequest::Upgrade => UPGRADE,
    };
    let answers = server_pids(root)?.into_iter();
    let answers = answers.map(|pid| (pid, ask(root, pid, line)));
    let told = answers.filter_map(|(pid, told)| {
        let outcome = match told {
            Ok(None) => return None,
            Ok(Some(told)) => ControlOutcome::of(told),
            // It has ended since it was listed.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return None,
            Err(error) => ControlOutcome::Failed(format!("it does not answer: {error}")),
        };
        Some(ControlAnswer { pid, outcome })
    });
    Ok(told.collect())
}

/// The processes that serve the project in a folder, but for those of other users.
pub fn server_pids(root: &Path) -> Result<BTreeSet<u32>, String> {
    let list = std::fs::read_to_string(SOCKETS);
    let list = list.map_err(|error| format!("cannot read {SOCKETS}: {error}"))?;
    let mut pids = pids(&list, &prefix(root));
    // There need be no process with the number that a name has.
    pids.retain(|pid| {
        let process = std::fs::metadata(format!("/proc/{pid}"));
        process.is_ok_and(|process| is_obeyed_by(Uid::from_raw(process.uid())))
    });
    Ok(pids)
}

/// Reports whether servers of a user may answer this process.
fn is_obeyed_by(user: Uid) -> bool {
    let own = geteuid();
    own == Uid::ROOT || user == own || user == Uid::ROOT
}

/// The processes that listen on names with this beginning. The list has connections too.
fn pids(list: &str, prefix: &str) -> BTreeSet<u32> {
    let names = list.lines().filter_map(|line| line.split_once(" @"));
    names
        .filter_map(|(_, name)| name.strip_prefix(prefix)?.parse().ok())
        .collect()
}

/// Sends a line to a server, and returns its answer. `None` if another process has made its name up.
fn ask(root: &Path, pid: u32, line: &str) -> io::Result<Option<String>> {
    let name = format!("{}{pid}", prefix(root));
    let mut server = connect(&name, CONNECT_TIME_MAX)?;
    let peer = socket_peercred(&server)?;
    let is_named = u32::try_from(peer.pid.as_raw_pid()) == Ok(pid);
    if !is_named || !is_obeyed_by(peer.uid) {
        return Ok(None);
    }
    server.write_all(format!("{line}\n").as_bytes())?;
    let is_trusted = peer.uid == geteuid() || peer.uid == Uid::ROOT;
    let time_max = Some(ANSWER_TIME_MAX).filter(|_| !is_trusted);
    read_until(|_| false, &server, ANSWER_BYTES_MAX, time_max).map(Some)
}

/// Connects to the name of a server, within a time: a process that does not accept keeps others waiting.
fn connect(name: &str, time_max: Duration) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // It counts for connecting and for sending.
    set_socket_timeout(&socket, Timeout::Send, Some(time_max))?;
    let address = SocketAddrUnix::new_abstract_name(name.as_bytes())?;
    match rustix::net::connect(&socket, &address) {
        Ok(()) => Ok(UnixStream::from(socket)),
        Err(Errno::AGAIN) => Err(io::ErrorKind::TimedOut.into()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};

    #[test]
    fn servers_are_found_by_their_folder() {
        let (here, there) = (prefix(Path::new("/srv/a")), prefix(Path::new("/srv/b")));
        assert_ne!(here, there);
        let line = |name: &str| format!("0000: 00000002 00000000 00010000 0001 01 123 @{name}\n");
        let list = format!(
            "Num RefCount Protocol Flags Type St Inode Path\n{}{}{}{}",
            line(&format!("{here}17")),
            line(&format!("{here}17")),
            line(&format!("{there}18")),
            line(&format!("{here}x")),
        );
        assert_eq!(pids(&list, &here), BTreeSet::from([17]));
    }

    /// Listens on the name of a process, for a folder.
    fn listen_as(root: &Path, pid: u32) -> UnixListener {
        let name = format!("{}{pid}", prefix(root));
        let address = SocketAddr::from_abstract_name(name).expect("a name");
        UnixListener::bind_addr(&address).expect("a socket")
    }

    #[test]
    fn a_name_that_another_process_made_up_is_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let (init, own) = (1, std::process::id());
        // The number of no process.
        let _absent = listen_as(folder.path(), u32::MAX);
        let _others = listen_as(folder.path(), init);
        let _own = listen_as(folder.path(), own);
        let pids = server_pids(folder.path()).expect("a list");
        assert!(pids.contains(&own) && !pids.contains(&u32::MAX), "{pids:?}");
        let answer = ask(folder.path(), init, RELOAD);
        assert_eq!(answer.expect("connected"), None);
    }

    #[test]
    fn a_server_that_never_answers_is_given_up() {
        let (own, mut other) = UnixStream::pair().expect("a pair");
        let time = Some(Duration::from_millis(10));
        let read = |time| read_until(|_| false, &own, ANSWER_BYTES_MAX, time);
        let fault = read(time).expect_err("too late");
        assert_eq!(fault.kind(), io::ErrorKind::TimedOut);
        other.write_all(b"done").expect("sent");
        drop(other);
        assert_eq!(read(None).expect("an answer"), "done");
    }

    #[test]
    fn a_server_that_never_accepts_is_given_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let pid = std::process::id();
        let listener = listen_as(folder.path(), pid);
        rustix::net::listen(&listener, 0).expect("a shorter queue");
        let name = format!("{}{pid}", prefix(folder.path()));
        // The queue has room for one.
        let _waiting = connect(&name, CONNECT_TIME_MAX).expect("connected");
        let fault = connect(&name, Duration::from_millis(10)).expect_err("too late");
        assert_eq!(fault.kind(), io::ErrorKind::TimedOut);
    }
}
