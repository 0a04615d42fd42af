//! The socket that connections come in by: TCP or Unix, bound here or passed by the parent process.

use std::fs::{self, Permissions};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::limits::Limits;

/// The longest time that the end waits for the connection that wakes the acceptor.
const WAKE_TIME_MAX: Duration = Duration::from_millis(200);

/// A socket that listens.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: Socket,
    is_tcp: bool,
    /// True if another process has the socket too, and goes on listening.
    is_shared: bool,
    /// Removed with it.
    file: Option<SocketFile>,
}

/// The file of a Unix socket, which goes with the listener.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    inode: u64,
    /// True while another process listens on it.
    is_kept: Arc<AtomicBool>,
}

impl SocketFile {
    /// The socket at a path; `None` if there is none.
    fn at(path: &Path, is_kept: Arc<AtomicBool>) -> Option<Self> {
        inode_of(path).map(|inode| Self {
            path: path.to_owned(),
            inode,
            is_kept,
        })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Another server may have put its own in this place meanwhile.
        if !self.is_kept.load(Relaxed) && inode_of(&self.path) == Some(self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Listener {
    /// Listens on an address, which can be used again at once after an earlier process has ended. All addresses of IPv6
    /// are those of IPv4 too, unless `is_only_v6`.
    pub(crate) fn tcp(address: SocketAddr, is_only_v6: bool, limits: &Limits) -> io::Result<Self> {
        let domain = Domain::for_address(address);
        let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        if is_only_v6 {
            socket.set_only_v6(true)?;
        }
        socket.bind(&address.into())?;
        socket.listen(limits.backlog_max)?;
        Ok(Self {
            socket,
            is_tcp: true,
            is_shared: false,
            file: None,
        })
    }

    /// Listens on a path. What a server that was killed has left there is replaced.
    pub(crate) fn unix(
        path: &Path,
        mode: u32,
        owner: Option<(u32, u32)>,
        limits: &Limits,
    ) -> io::Result<Self> {
        let address = SockAddr::unix(path)?;
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        match socket.bind(&address) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_left_over(path)? => {
                fs::remove_file(path)?;
                socket.bind(&address)?;
            }
            bound => bound?,
        }
        let file = SocketFile::at(path, Arc::default());
        // Clients cannot connect before it listens, so none connects with other rights.
        fs::set_permissions(path, Permissions::from_mode(mode))?;
        if let Some((user, group)) = owner {
            std::os::unix::fs::chown(path, Some(user), Some(group))?;
        }
        socket.listen(limits.backlog_max)?;
        Ok(Self {
            socket,
            is_tcp: false,
            is_shared: false,
            file,
        })
    }

    /// A socket that listens already, and that another process may have too.
    pub(crate) fn handed_over(socket: OwnedFd) -> io::Result<Self> {
        let socket = Socket::from(socket);
        if !socket.is_listener()? {
            let fault = "the socket does not listen";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, fault));
        }
        socket.set_nonblocking(false)?;
        let is_tcp = matches!(socket.domain()?, Domain::IPV4 | Domain::IPV6);
        Ok(Self {
            socket,
            is_tcp,
            is_shared: true,
            file: None,
        })
    }

    /// Has the file of a Unix socket removed with this one, unless `is_kept` is true then.
    pub(crate) fn own_file(&mut self, is_kept: Arc<AtomicBool>) {
        let address = self.local_addr().ok();
        self.file = address.and_then(|address| SocketFile::at(address.as_pathname()?, is_kept));
    }

    /// Leaves the file of a Unix socket where it is.
    pub(crate) fn keep_file(&self) {
        if let Some(file) = &self.file {
            file.is_kept.store(true, Relaxed);
        }
    }

    /// Returns another descriptor of the socket.
    pub(crate) fn duplicate(&self) -> io::Result<OwnedFd> {
        self.socket.as_fd().try_clone_to_owned()
    }

    /// Makes one `accept` that blocks return, here or in another process that has the socket.
    pub(crate) fn knock(&self) {
        let knocked = self.local_addr().and_then(|address| connect(&address));
        if knocked.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            // The other process has removed the file of a Unix socket that it does not use: no client can come.
            let _ = self.socket.shutdown(Shutdown::Both);
        }
    }

    pub(crate) fn local_addr(&self) -> io::Result<SockAddr> {
        self.socket.local_addr()
    }

    pub(crate) fn tcp_addr(&self) -> io::Result<SocketAddr> {
        let address = self.local_addr()?.as_socket();
        address.ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    /// Waits for a connection, which is ready for a worker then.
    pub(crate) fn accept(&self) -> io::Result<Option<TcpStream>> {
        let (socket, _) = self.socket.accept()?;
        let is_ready = socket.set_nonblocking(true).is_ok()
            // Answers are written whole, so waiting for more to send only delays them.
            && (!self.is_tcp || socket.set_tcp_nodelay(true).is_ok());
        // The type stands for any stream socket: what is called on it later does not depend on the family.
        Ok(is_ready.then(|| TcpStream::from(OwnedFd::from(socket))))
    }

    /// Undoes what the end of another process has done to a socket that both have ([`Listener::wake`]).
    pub(crate) fn block_again(&self) -> io::Result<()> {
        self.socket.set_nonblocking(false)
    }

    /// Makes an `accept` that blocks return. False if that cannot be done.
    pub(crate) fn wake(&self) -> bool {
        // It sees the end only after one more connection. With the listener no longer blocking it then takes what is
        // queued.
        let _ = self.socket.set_nonblocking(true);
        let woken = self.local_addr().and_then(|address| connect(&address));
        if woken.is_err() && !self.is_shared {
            // A full queue or a filter in between; this ends the accept too, at the cost of the queue.
            return self.socket.shutdown(Shutdown::Both).is_ok();
        }
        woken.is_ok()
    }
}

fn connect(address: &SockAddr) -> io::Result<()> {
    let Some(address) = address.as_socket() else {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        return socket.connect(address);
    };
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    let address = SocketAddr::new(ip, address.port());
    TcpStream::connect_timeout(&address, WAKE_TIME_MAX).map(drop)
}

fn inode_of(path: &Path) -> Option<u64> {
    let metadata = fs::symlink_metadata(path).ok()?;
    metadata.file_type().is_socket().then(|| metadata.ino())
}

/// Reports whether a path is a socket without a listener.
fn is_left_over(path: &Path) -> io::Result<bool> {
    if inode_of(path).is_none() {
        return Ok(false);
    }
    let refused = connect(&SockAddr::unix(path)?).err();
    Ok(refused.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused))
}
