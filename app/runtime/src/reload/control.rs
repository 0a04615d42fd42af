//! The control socket of `sampan reload`: each listens on an abstract Unix socket whose name tells the project's
//! folder.
//!
//! Such a name needs no file, so nothing is left behind by a server that was killed, and the kernel lists them. They
//! are visible to every user of the machine, so a server asks the kernel who calls, and obeys its own user and root.

use super::requests::ReloadRequests;
use rustix::net::sockopt::socket_peercred;
use rustix::process::{Uid, geteuid};
use sampan_host::log::Level;
use sampan_log::Logger;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

/// The request of a caller, on a line.
const RELOAD: &str = "reload";
/// The prefix of the answer of a server that reloaded its project.
const DONE: &str = "done ";
/// The longest time that a caller may take to say what it wants.
const READ_TIME_MAX: Duration = Duration::from_secs(2);
/// The longest that a caller may say, in bytes.
const LINE_BYTES_MAX: u64 = 64;
/// The list of the Unix sockets of this network namespace.
const SOCKETS: &str = "/proc/net/unix";

/// The answer of a server to a request for a reload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReloadAnswer {
    /// The id of its process.
    pub pid: u32,
    /// The result, or the reason of the failure.
    pub outcome: Result<String, String>,
}

/// The beginning of the names of all servers of the project in a folder.
fn prefix(root: &Path) -> String {
    let digest = Sha256::digest(root.as_os_str().as_bytes());
    let hex: String = digest[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sampan/{hex}/")
}

/// Hears callers from now on, on a thread of its own. Where that cannot be the log is told, and the server goes on
/// without.
pub fn listen(root: &Path, requests: ReloadRequests, logger: &Logger) {
    if let Err(error) = try_listen(root, requests) {
        let text = format!("sampan reload cannot reach this server: {error}");
        logger.text(Level::Warn, text);
    }
}

fn try_listen(root: &Path, requests: ReloadRequests) -> io::Result<()> {
    let name = format!("{}{}", prefix(root), std::process::id());
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
    let body = move || {
        for caller in listener.incoming() {
            match caller {
                // A caller that has gone misses nothing.
                Ok(caller) => drop(answer(caller, &requests)),
                Err(_) => std::thread::sleep(READ_TIME_MAX),
            }
        }
    };
    let thread = std::thread::Builder::new().name("sampan-control".into());
    thread.stack_size(256 * 1024).spawn(body).map(drop)
}

fn answer(mut caller: UnixStream, requests: &ReloadRequests) -> io::Result<()> {
    let who = socket_peercred(&caller)?.uid;
    if who != geteuid() && who != Uid::ROOT {
        return caller.write_all(b"only the user of the server and root may do that\n");
    }
    caller.set_read_timeout(Some(READ_TIME_MAX))?;
    let mut line = String::new();
    BufReader::new((&caller).take(LINE_BYTES_MAX)).read_line(&mut line)?;
    let told = match line.trim_end() {
        RELOAD => requests
            .ask_and_wait()
            .map_or_else(|fault| fault, |done| format!("{DONE}{done}")),
        other => format!("{other:?} is nothing that this server knows"),
    };
    caller.write_all(told.as_bytes())
}

/// Has all servers of the project in a folder load it anew, and waits for their answers. The folder is in its canonical
/// form.
///
/// # Errors
/// The system does not say which there are.
pub fn reload_servers(root: &Path) -> Result<Vec<ReloadAnswer>, String> {
    let answers = server_pids(root)?.into_iter();
    let answers = answers.map(|pid| (pid, ask(&format!("{}{pid}", prefix(root)))));
    let told = answers.filter_map(|(pid, told)| {
        let outcome = match told {
            Ok(None) => return None,
            Ok(Some(told)) => match told.strip_prefix(DONE) {
                Some(done) => Ok(done.to_owned()),
                None => Err(told),
            },
            Err(error) => Err(format!("it does not answer: {error}")),
        };
        Some(ReloadAnswer { pid, outcome })
    });
    Ok(told.collect())
}

/// The processes that serve the project in a folder.
pub fn server_pids(root: &Path) -> Result<BTreeSet<u32>, String> {
    let list = std::fs::read_to_string(SOCKETS);
    let list = list.map_err(|error| format!("cannot read {SOCKETS}: {error}"))?;
    Ok(pids(&list, &prefix(root)))
}

/// The processes that listen on names with this beginning. The list has connections too.
fn pids(list: &str, prefix: &str) -> BTreeSet<u32> {
    let names = list.lines().filter_map(|line| line.split_once(" @"));
    names
        .filter_map(|(_, name)| name.strip_prefix(prefix)?.parse().ok())
        .collect()
}

/// `None` if it is another user's, who may have made the name up.
fn ask(name: &str) -> io::Result<Option<String>> {
    let mut server = UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)?;
    let (who, own) = (socket_peercred(&server)?.uid, geteuid());
    if own != Uid::ROOT && who != own && who != Uid::ROOT {
        return Ok(None);
    }
    server.write_all(format!("{RELOAD}\n").as_bytes())?;
    let mut told = String::new();
    server.read_to_string(&mut told)?;
    Ok(Some(told))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
