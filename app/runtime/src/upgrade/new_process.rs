//! The new process of an upgrade: it gets the listening sockets of the old one, and says when it serves.

use super::{FAILED, HAND_OVER, HandedSocket, READY, SocketUse, sockets};
use crate::locks::lock;
use rustix::net::sockopt::{ipv6_v6only, socket_peercred};
use rustix::net::{SocketAddrUnix, getsockname};
use rustix::process::{Uid, geteuid};
use sampan_http::Acceptor;
use sampan_project::config::ListenAddress;
use std::env;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::net::{Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// The longest time that the old process may take to send its sockets.
const RECEIVE_TIME_MAX: Duration = Duration::from_secs(10);

/// The old process, and what it has handed over.
struct OldProcess {
    stream: Mutex<Option<UnixStream>>,
    sockets: Mutex<Vec<HandedSocket>>,
    /// True until this process serves: the files of the Unix sockets are the old one's, which may go on.
    keeps_files: Arc<AtomicBool>,
}

/// Returns the old process; `None` if this one was started by hand.
fn old_process() -> Result<Option<&'static OldProcess>, String> {
    static OLD: OnceLock<Result<Option<OldProcess>, String>> = OnceLock::new();
    let old = OLD.get_or_init(|| {
        let Some(name) = env::var_os(HAND_OVER) else {
            return Ok(None);
        };
        let connected = connect(name.as_encoded_bytes());
        let connected = connected.map_err(|error| {
            format!("{HAND_OVER}: cannot get the sockets of the old process: {error}")
        });
        connected.map(Some)
    });
    old.as_ref().map(Option::as_ref).map_err(Clone::clone)
}

/// Reports whether this process was started by an upgrade.
pub(crate) fn is_upgrade() -> bool {
    env::var_os(HAND_OVER).is_some()
}

fn connect(name: &[u8]) -> io::Result<OldProcess> {
    let stream = UnixStream::connect_addr(&UnixAddress::from_abstract_name(name)?)?;
    let user = socket_peercred(&stream)?.uid;
    if user != geteuid() && user != Uid::ROOT {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    stream.set_read_timeout(Some(RECEIVE_TIME_MAX))?;
    let sockets = sockets::receive(&stream)?;
    Ok(OldProcess {
        stream: Mutex::new(Some(stream)),
        sockets: Mutex::new(sockets),
        keeps_files: Arc::new(AtomicBool::new(true)),
    })
}

/// Takes the socket of an address that the old process listened on. The file of a Unix socket is this process's own
/// once it [`serves`].
///
/// # Errors
/// The sockets do not arrive: one line.
pub(crate) fn take(usage: SocketUse, address: &ListenAddress) -> Result<Option<Acceptor>, String> {
    let Some(old) = old_process()? else {
        return Ok(None);
    };
    let mut sockets = lock(&old.sockets);
    let is_it = |one: &HandedSocket| one.usage == usage && listens_on(&one.socket, address);
    let Some(position) = sockets.iter().position(is_it) else {
        return Ok(None);
    };
    let socket = sockets.swap_remove(position).socket;
    let acceptor = Acceptor::from_handed_over(socket);
    acceptor
        .map(|acceptor| Some(acceptor.with_file(Arc::clone(&old.keeps_files))))
        .map_err(|error| format!("cannot use the old process's socket of {address}: {error}"))
}

/// Returns those of `addresses` that need a socket of their own. The others are all addresses of IPv4 beside all of
/// IPv6, where the old process has one socket for both: the system gives no other with its port.
///
/// # Errors
/// As [`take`].
pub(crate) fn without_heard(
    usage: SocketUse,
    addresses: &[ListenAddress],
) -> Result<Vec<&ListenAddress>, String> {
    let Some(old) = old_process()? else {
        return Ok(addresses.iter().collect());
    };
    let sockets = lock(&old.sockets);
    let sockets = sockets.iter().filter(|one| one.usage == usage);
    let for_both: Vec<u16> = sockets
        .filter_map(|one| port_for_both(&one.socket))
        .collect();
    let own = addresses
        .iter()
        .filter(|address| !is_heard(address, addresses, &for_both));
    Ok(own.collect())
}

/// Reports whether a socket for both families, of one of these ports, is kept and hears an address of IPv4 too.
fn is_heard(address: &ListenAddress, addresses: &[ListenAddress], for_both: &[u16]) -> bool {
    let ListenAddress::Tcp(SocketAddr::V4(wanted)) = address else {
        return false;
    };
    let all_of_v6 = SocketAddr::from((Ipv6Addr::UNSPECIFIED, wanted.port()));
    wanted.ip().is_unspecified()
        && for_both.contains(&wanted.port())
        && addresses.contains(&ListenAddress::Tcp(all_of_v6))
}

/// Returns the port of a socket for all addresses of IPv6 and of IPv4.
fn port_for_both(socket: &OwnedFd) -> Option<u16> {
    let bound = SocketAddr::try_from(getsockname(socket).ok()?).ok()?;
    let is_for_both = bound.is_ipv6() && bound.ip().is_unspecified();
    (is_for_both && !ipv6_v6only(socket).ok()?).then_some(bound.port())
}

/// Returns the sockets that the old process got by `LISTEN_FDS`.
///
/// # Errors
/// As [`take`].
pub(crate) fn handed_over() -> Result<Vec<OwnedFd>, String> {
    let Some(old) = old_process()? else {
        return Ok(Vec::new());
    };
    let sockets = lock(&old.sockets);
    let handed = sockets
        .iter()
        .filter(|one| one.usage == SocketUse::HandedOver);
    let copies = handed.map(|one| one.socket.as_fd().try_clone_to_owned());
    copies
        .collect::<io::Result<_>>()
        .map_err(|error| format!("cannot use a socket of the old process: {error}"))
}

/// Returns the files of the old process's Unix sockets that this one does not use: [`serves`] removes them.
pub(crate) fn unused_files() -> Vec<PathBuf> {
    let Ok(Some(old)) = old_process() else {
        return Vec::new();
    };
    let sockets = lock(&old.sockets);
    let unused = sockets.iter().filter(|one| is_removed(one));
    let paths = unused.filter_map(|one| path_of(&one.socket));
    paths.collect()
}

/// Reports whether a socket that is left over goes, with its file. That of `LISTEN_FDS` belongs to another program.
fn is_removed(socket: &HandedSocket) -> bool {
    socket.usage != SocketUse::HandedOver
}

/// Returns the path of a Unix socket.
fn path_of(socket: &OwnedFd) -> Option<PathBuf> {
    let bound = SocketAddrUnix::try_from(getsockname(socket).ok()?).ok()?;
    let path = bound.path()?;
    Some(PathBuf::from(OsStr::from_bytes(path.to_bytes())))
}

/// Tells the old process that connections are accepted here. Closes what is left of its sockets, and removes their
/// files.
pub(crate) fn serves() {
    if let Ok(Some(old)) = old_process() {
        old.keeps_files.store(false, Ordering::Relaxed);
        let left = std::mem::take(&mut *lock(&old.sockets)).into_iter();
        let unused = left.filter(is_removed);
        for acceptor in unused.map(|one| Acceptor::from_handed_over(one.socket)) {
            drop(acceptor.map(|acceptor| acceptor.with_file(Arc::clone(&old.keeps_files))));
        }
    }
    tell(READY);
}

/// Tells the old process that this one does not start.
pub fn failed(fault: &str) {
    tell(&format!("{FAILED}{}", fault.replace('\n', " ")));
}

fn tell(line: &str) {
    let Ok(Some(old)) = old_process() else {
        return;
    };
    lock(&old.sockets).clear();
    if let Some(mut stream) = lock(&old.stream).take() {
        // An old process that has gone needs to know nothing.
        let _ = stream.write_all(format!("{line}\n").as_bytes());
    }
}

/// Reports whether a socket listens on an address. Port 0 stands for any.
fn listens_on(socket: &OwnedFd, address: &ListenAddress) -> bool {
    match address {
        ListenAddress::Tcp(wanted) => {
            let bound = getsockname(socket).ok();
            let bound = bound.and_then(|bound| SocketAddr::try_from(bound).ok());
            bound.is_some_and(|bound| {
                bound.ip() == wanted.ip() && (wanted.port() == 0 || bound.port() == wanted.port())
            })
        }
        ListenAddress::Unix(path) => {
            path_of(socket).is_some_and(|bound| bound.as_os_str() == path.as_os_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    #[test]
    fn sockets_are_found_by_their_address() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("app.sock");
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = tcp.local_addr().expect("an address");
        let unix = UnixListener::bind(&path).expect("a socket");
        let (tcp, unix) = (OwnedFd::from(tcp), OwnedFd::from(unix));
        let at = |text: &str| ListenAddress::Tcp(text.parse().expect("an address"));
        assert!(listens_on(&tcp, &ListenAddress::Tcp(address)));
        assert!(listens_on(&tcp, &at("127.0.0.1:0")));
        assert!(!listens_on(&tcp, &at("127.0.0.1:1")));
        assert!(!listens_on(&tcp, &at("0.0.0.0:0")));
        assert!(!listens_on(&tcp, &ListenAddress::Unix(path.clone())));
        assert!(listens_on(&unix, &ListenAddress::Unix(path)));
        assert!(!listens_on(&unix, &ListenAddress::Unix("/other".into())));
        assert!(!listens_on(&unix, &ListenAddress::Tcp(address)));
    }

    #[test]
    fn a_socket_for_both_families_is_not_bound_a_second_time() {
        let at = |text: &str| ListenAddress::Tcp(text.parse().expect("an address"));
        let (v4, v6, local) = (at("0.0.0.0:80"), at("[::]:80"), at("127.0.0.1:80"));
        let both = [v4.clone(), v6.clone()];
        assert!(is_heard(&v4, &both, &[80]));
        assert!(!is_heard(&v6, &both, &[80]));
        assert!(!is_heard(&v4, &both, &[81]));
        assert!(!is_heard(&v4, std::slice::from_ref(&v4), &[80]));
        // It asks for less than the socket hears.
        assert!(!is_heard(&local, &[local.clone(), v6], &[80]));
        let v4 = TcpListener::bind("0.0.0.0:0").expect("a port");
        assert_eq!(port_for_both(&OwnedFd::from(v4)), None);
        // Not every machine has IPv6.
        if let Ok(v6) = TcpListener::bind("[::]:0") {
            let port = v6.local_addr().expect("an address").port();
            let v6 = OwnedFd::from(v6);
            let is_for_both = ipv6_v6only(&v6) == Ok(false);
            assert_eq!(port_for_both(&v6), is_for_both.then_some(port));
        }
    }
}
