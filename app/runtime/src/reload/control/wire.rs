//! The names of the sockets, the words of callers and servers, and how each reads the other.

use sampan_project::archive::format::hex;
use sha2::{Digest, Sha256};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// The request of a caller, on a line.
pub(super) const RELOAD: &str = "reload";
pub(super) const UPGRADE: &str = "upgrade";
/// The prefix of the answer of a server that did what it was asked for.
pub(super) const DONE: &str = "done ";
/// The prefix of the answer of a server that does nothing any more, because an upgrade has put another in its place.
pub(super) const REPLACED: &str = "replaced ";

/// The beginning of the names of all servers of the project in a folder.
pub(super) fn prefix(root: &Path) -> String {
    let digest = Sha256::digest(root.as_os_str().as_bytes());
    format!("sampan/{}/", hex(&digest[..16]))
}

/// Reads until `is_whole` says so, or to the end, within a time if there is one.
pub(super) fn read_until(
    is_whole: impl Fn(&[u8]) -> bool,
    peer: &UnixStream,
    bytes_max: u64,
    time_max: Option<Duration>,
) -> io::Result<String> {
    let deadline = time_max.map(|time_max| Instant::now() + time_max);
    let mut limited = peer.take(bytes_max);
    let (mut told, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        if let Some(deadline) = deadline {
            let rest = deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            peer.set_read_timeout(Some(rest))?;
        }
        match limited.read(&mut piece) {
            Ok(0) => return Ok(String::from_utf8_lossy(&told).into_owned()),
            Ok(len) => {
                told.extend_from_slice(&piece[..len]);
                if is_whole(&told) {
                    return Ok(String::from_utf8_lossy(&told).into_owned());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            Err(error) => return Err(error),
        }
    }
}
