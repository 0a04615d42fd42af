//! The owner of a port that is in use.

use procfs::net::TcpState;
use procfs::process::{FDTarget, Process};
use std::collections::HashSet;
use std::net::SocketAddr;

/// The process that listens on an address, for a person to read: its id, its program and the folder that it runs in.
/// `None` where the system does not tell, as of the processes of other users.
pub(crate) fn of(address: SocketAddr) -> Option<String> {
    let entries = [procfs::net::tcp(), procfs::net::tcp6()]
        .into_iter()
        .flatten();
    let sockets: HashSet<u64> = entries
        .flatten()
        .filter(|entry| entry.state == TcpState::Listen)
        .filter(|entry| entry.local_address.port() == address.port())
        .map(|entry| entry.inode)
        .collect();
    let mut processes = procfs::process::all_processes().ok()?.flatten();
    let owner = processes.find(|process| has_one_of(process, &sockets))?;
    let shown = |text: &str| text.replace(char::is_control, "?");
    let program = shown(&owner.stat().ok()?.comm);
    let folder = owner
        .cwd()
        .ok()
        .map(|folder| shown(&folder.to_string_lossy()));
    let place = folder.map_or_else(String::new, |folder| format!(" in {folder}"));
    Some(format!("process {} ({program}{place})", owner.pid))
}

fn has_one_of(process: &Process, sockets: &HashSet<u64>) -> bool {
    let files = process.fd().into_iter().flatten().flatten();
    let mut targets = files.map(|file| file.target);
    targets.any(|target| matches!(target, FDTarget::Socket(inode) if sockets.contains(&inode)))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    #[test]
    fn the_process_that_listens_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let address = listener.local_addr().expect("an address");
        let told = super::of(address).expect("found");
        let id = std::process::id();
        assert!(told.starts_with(&format!("process {id} (")), "{told}");
        assert!(told.contains(" in /"), "{told}");
    }
}
