//! Accepting: one thread that takes connections from the system and hands each to a worker.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use socket2::SockRef;

use super::listener::Listener;
use super::workers::Workers;
use crate::driver::Opening;
use crate::limits::Limits;
use crate::peer::Peer;
use crate::tls::Tls;

/// The time that accepting pauses when the system is out of files or memory.
const PAUSE: Duration = Duration::from_millis(50);
/// The longest time that an acceptor tries to leave a socket that another process may accept on.
const LEAVE_TIME_MAX: Duration = Duration::from_secs(2);

/// The orders to an accepting thread: go on, hand over what is queued and end, or end and leave the queue to another
/// process.
const GOES_ON: u8 = 0;
const STOPS: u8 = 1;
const LEAVES: u8 = 2;

/// A bound address. [`Acceptor::start`] begins to accept.
#[derive(Debug)]
pub struct Acceptor {
    listener: Listener,
    tls: Option<Tls>,
    proxies: Option<Proxies>,
}

/// Reports whether a peer is a proxy that tells the address of its client by the PROXY protocol.
#[derive(Clone)]
pub struct Proxies(Arc<dyn Fn(Peer) -> bool + Send + Sync>);

impl Proxies {
    /// The peers for which `is_proxy` holds.
    pub fn new(is_proxy: impl Fn(Peer) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(is_proxy))
    }

    /// Reports whether the peer of a socket is one. A peer that has gone is none.
    fn has_opened(&self, socket: &TcpStream) -> bool {
        let address = SockRef::from(socket).peer_addr();
        address.is_ok_and(|address| (self.0)(Peer::of(&address)))
    }
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proxies")
    }
}

impl Acceptor {
    /// Binds and listens. The address can be used again at once after an earlier process has ended.
    ///
    /// # Errors
    /// Those of the system; `AddrInUse` and `PermissionDenied` are the usual ones.
    pub fn bind(address: SocketAddr, limits: &Limits) -> io::Result<Acceptor> {
        Self::bind_beside(address, [], limits)
    }

    /// Binds as [`Acceptor::bind`], beside these addresses of the server. All addresses of IPv6 (`[::]`) are those of
    /// IPv4 too, unless there is one of IPv4 with the same port.
    ///
    /// # Errors
    /// As [`Acceptor::bind`].
    pub fn bind_beside(
        address: SocketAddr,
        others: impl IntoIterator<Item = SocketAddr>,
        limits: &Limits,
    ) -> io::Result<Acceptor> {
        let is_all_of_v6 = address.is_ipv6() && address.ip().is_unspecified();
        let is_same_port = |other: SocketAddr| other.is_ipv4() && other.port() == address.port();
        // For port 0 the system chooses one for each.
        let is_only_v6 =
            is_all_of_v6 && address.port() != 0 && others.into_iter().any(is_same_port);
        Listener::tcp(address, is_only_v6, limits).map(Acceptor::of)
    }

    /// Listens on a Unix socket at `path`, with these rights, and owned by this user and group if they are given. A
    /// socket without a listener is replaced. The file is removed with the acceptor.
    ///
    /// # Errors
    /// Those of the system; `AddrInUse` if a process listens there, or the file is not a socket.
    pub fn bind_unix(
        path: &Path,
        mode: u32,
        owner: Option<(u32, u32)>,
        limits: &Limits,
    ) -> io::Result<Acceptor> {
        Listener::unix(path, mode, owner, limits).map(Acceptor::of)
    }

    /// A socket that the parent process has bound, TCP or Unix. It is assumed to go on listening when this ends.
    ///
    /// # Errors
    /// It does not listen.
    pub fn from_handed_over(socket: OwnedFd) -> io::Result<Acceptor> {
        Listener::handed_over(socket).map(Acceptor::of)
    }

    /// Has the file of a Unix socket that was handed over removed with the acceptor, unless `is_kept` is true then:
    /// while the other process may go on. [`Accepting::leave`] sets it.
    #[must_use]
    pub fn with_file(mut self, is_kept: Arc<AtomicBool>) -> Self {
        self.listener.own_file(is_kept);
        self
    }

    fn of(listener: Listener) -> Self {
        Self {
            listener,
            tls: None,
            proxies: None,
        }
    }

    /// Has clients begin with a handshake of TLS.
    #[must_use]
    pub fn with_tls(self, tls: Tls) -> Self {
        Self {
            tls: Some(tls),
            ..self
        }
    }

    /// Has these peers begin with a header of the PROXY protocol. Without one they are refused.
    #[must_use]
    pub fn with_proxies(self, proxies: Proxies) -> Self {
        Self {
            proxies: Some(proxies),
            ..self
        }
    }

    /// The address, with the port that the system chose for port 0.
    ///
    /// # Errors
    /// Those of the system, and that it is a Unix socket.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.tcp_addr()
    }

    /// The path of a Unix socket; `None` if it is none, or has no path.
    pub fn path(&self) -> Option<PathBuf> {
        let address = self.listener.local_addr().ok()?;
        address.as_pathname().map(Path::to_owned)
    }

    /// Accepts for these workers on a thread of its own. `note` gets a line for the log when accepting has to
    /// pause, once until it has worked again.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(
        self,
        workers: Workers,
        note: impl Fn(&str) + Send + 'static,
    ) -> io::Result<Accepting> {
        let listener = Arc::new(self.listener);
        let (tls, proxies) = (self.tls, self.proxies);
        let order = Arc::new(AtomicU8::new(GOES_ON));
        let thread = {
            let (listener, order) = (listener.clone(), order.clone());
            std::thread::Builder::new()
                .name("accept".into())
                .spawn(move || {
                    accept(
                        &listener,
                        tls.as_ref(),
                        proxies.as_ref(),
                        &workers,
                        &order,
                        &note,
                    );
                })?
        };
        Ok(Accepting {
            listener,
            order,
            thread: Some(thread),
        })
    }
}

/// An acceptor at work. Dropping it stops it.
#[derive(Debug)]
pub struct Accepting {
    listener: Arc<Listener>,
    /// `GOES_ON`, `STOPS` or `LEAVES`.
    order: Arc<AtomicU8>,
    thread: Option<JoinHandle<()>>,
}

impl Accepting {
    /// Returns the address, with the port that the system chose for port 0.
    ///
    /// # Errors
    /// Those of the system, and that it is a Unix socket.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.tcp_addr()
    }

    /// Returns the listening socket, for another process. It keeps no socket open.
    pub fn socket(&self) -> ListeningSocket {
        ListeningSocket(Arc::downgrade(&self.listener))
    }

    /// Stops accepting on a socket that another process accepts on too. Connections that the system has queued are
    /// left to that one, and the file of a Unix socket stays.
    pub fn leave(mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        self.listener.keep_file();
        self.order.store(LEAVES, Relaxed);
        let deadline = Instant::now() + LEAVE_TIME_MAX;
        // Each connection that wakes it may be taken by the other process instead.
        while !thread.is_finished() && Instant::now() < deadline {
            self.listener.knock();
            std::thread::sleep(Duration::from_millis(1));
        }
        if thread.is_finished() {
            let _ = thread.join();
        }
    }

    /// Stops accepting and closes the listener. Connections that the system has queued are handed over first.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        self.order.store(STOPS, Relaxed);
        let deadline = Instant::now() + LEAVE_TIME_MAX;
        // A thread that cannot be woken ends with the process. Another process that has the socket may take the
        // connection that was to wake it.
        while self.listener.wake() && Instant::now() < deadline {
            let next = Instant::now() + PAUSE;
            while !thread.is_finished() && Instant::now() < next {
                std::thread::sleep(Duration::from_millis(1));
            }
            if thread.is_finished() {
                let _ = thread.join();
                return;
            }
        }
    }
}

impl Drop for Accepting {
    fn drop(&mut self) {
        self.end();
    }
}

/// A socket that an [`Accepting`] listens on. It does not keep the socket open.
#[derive(Clone, Debug)]
pub struct ListeningSocket(Weak<Listener>);

impl ListeningSocket {
    /// Returns another descriptor of the socket; `None` once nothing accepts on it.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub fn duplicate(&self) -> io::Result<Option<OwnedFd>> {
        let listener = self.0.upgrade();
        listener.map(|listener| listener.duplicate()).transpose()
    }

    /// Reports whether nothing accepts on the socket here any more.
    pub fn is_left(&self) -> bool {
        self.0.strong_count() == 0
    }
}

fn accept(
    listener: &Listener,
    tls: Option<&Tls>,
    proxies: Option<&Proxies>,
    workers: &Workers,
    order: &AtomicU8,
    note: &dyn Fn(&str),
) {
    let mut noted = false;
    loop {
        match listener.accept() {
            Ok(socket) => {
                noted = false;
                if let Some(socket) = socket {
                    let opening = Opening {
                        tls,
                        is_proxied: proxies.is_some_and(|proxies| proxies.has_opened(&socket)),
                    };
                    workers.place(socket, opening, order.load(Relaxed) != GOES_ON);
                }
                if order.load(Relaxed) == LEAVES {
                    return;
                }
            }
            // All queued connections are handed over, or the listener was shut down.
            Err(_) if order.load(Relaxed) != GOES_ON => return,
            Err(error) if concerns_one_connection(&error) => {}
            // Another process that has the socket was ending.
            Err(error)
                if error.kind() == io::ErrorKind::WouldBlock && listener.block_again().is_ok() => {}
            Err(error) => {
                if !noted {
                    noted = true;
                    note(&format!("accepting pauses: {error}"));
                }
                std::thread::sleep(PAUSE);
            }
        }
    }
}

/// Reports whether the error is about the connection that would have been accepted (accept(2)), so that the next
/// call can go well at once.
fn concerns_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Interrupted
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    ) || matches!(
        error.raw_os_error(),
        Some(
            libc::EPROTO
                | libc::EPERM
                | libc::ENETDOWN
                | libc::ENETUNREACH
                | libc::EHOSTDOWN
                | libc::EHOSTUNREACH
        )
    )
}
