//! The listening sockets of a server: on the addresses of its configuration, or those that the parent process handed
//! over (`LISTEN_FDS`, as systemd does, or an [upgrade](crate::upgrade)).

mod certificates;
mod port_owner;
mod rights;

pub(crate) use certificates::ServerCertificates;
pub(crate) use rights::User;

use crate::app_config::AppConfig;
use crate::upgrade::{SocketUse, new_process};
use listenfd::ListenFd;
use sampan_http::{Acceptor, Limits, Proxies, Tls};
use sampan_project::config::ListenAddress;
use sampan_serve::is_trusted;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;

/// The listeners, and their names in the log.
pub(crate) struct Listening {
    pub(crate) acceptor: Acceptor,
    pub(crate) name: String,
    pub(crate) usage: SocketUse,
}

/// Listens on everything, with the files of Unix sockets owned by `user` if there is one. Ports speak TLS if there is
/// any, Unix sockets do not.
///
/// # Errors
/// One line that says which address cannot be had, why, and what to do.
pub(crate) fn open(
    config: &AppConfig,
    limits: &Limits,
    user: Option<&User>,
    tls: Option<&Tls>,
) -> Result<Vec<Listening>, String> {
    let mut handed_over = new_process::handed_over()?;
    if handed_over.is_empty() {
        // A start that fails may be tried again, with the same sockets.
        let copies = self::handed_over()?
            .iter()
            .map(|socket| socket.as_fd().try_clone_to_owned());
        let copies = copies.collect::<io::Result<Vec<_>>>();
        handed_over = copies.map_err(|error| format!("cannot use LISTEN_FDS: {error}"))?;
    }
    if handed_over.is_empty() {
        let listen = new_process::without_heard(SocketUse::Listen, &config.base.listen)?;
        let open = |address| {
            let taken = new_process::take(SocketUse::Listen, address)?.map(Listening::of);
            let listening =
                taken.map_or_else(|| bind(address, config, limits, user), Result::Ok)?;
            Ok(listening.with_tls(tls).with_proxies(config))
        };
        return listen.into_iter().map(open).collect();
    }
    let used = handed_over.into_iter().map(|socket| {
        let acceptor = Acceptor::from_handed_over(socket);
        let acceptor =
            acceptor.map_err(|error| format!("cannot use a socket of LISTEN_FDS: {error}"))?;
        let listening = Listening::of(acceptor).with_tls(tls).with_proxies(config);
        Ok(Listening {
            name: format!("{} (handed over)", listening.name),
            usage: SocketUse::HandedOver,
            ..listening
        })
    });
    used.collect()
}

/// Listens for plain HTTP that is to be sent on to HTTPS.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_plain(
    config: &AppConfig,
    limits: &Limits,
    user: Option<&User>,
) -> Result<Vec<Listening>, String> {
    let Some(tls) = &config.base.tls else {
        return Ok(Vec::new());
    };
    let open = |address| {
        let taken = new_process::take(SocketUse::Redirect, address)?.map(Listening::of);
        let bind = || {
            let option = "[tls] redirect_listen";
            bind_as(address, &tls.redirect_listen, config, limits, user, option)
        };
        let listening = taken.map_or_else(bind, Result::Ok)?;
        Ok(Listening {
            usage: SocketUse::Redirect,
            ..listening.with_proxies(config)
        })
    };
    let listen = new_process::without_heard(SocketUse::Redirect, &tls.redirect_listen)?;
    listen.into_iter().map(open).collect()
}

/// Listens for those who ask for the measurements, if they have an address of their own.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_metrics(
    config: &AppConfig,
    limits: &Limits,
    user: Option<&User>,
) -> Result<Option<Listening>, String> {
    let settings = &config.serving.metrics;
    let Some(address) = settings.listen.filter(|_| settings.is_enabled) else {
        return Ok(None);
    };
    let address = ListenAddress::Tcp(address);
    let taken = new_process::take(SocketUse::Metrics, &address)?.map(Listening::of);
    let bind = || bind_as(&address, &[], config, limits, user, "[metrics] listen");
    let listening = taken.map_or_else(bind, Result::Ok)?;
    Ok(Some(Listening {
        usage: SocketUse::Metrics,
        ..listening
    }))
}

impl Listening {
    fn of(acceptor: Acceptor) -> Self {
        Self {
            name: name_of(&acceptor),
            acceptor,
            usage: SocketUse::Listen,
        }
    }

    /// Has the trusted proxies tell the client's address, where the configuration says that they do.
    fn with_proxies(self, config: &AppConfig) -> Self {
        let trusted = config.serving.proxies().to_vec();
        if trusted.is_empty() {
            return self;
        }
        let proxies = Proxies::new(move |peer| is_trusted(&trusted, peer.ip()));
        Self {
            acceptor: self.acceptor.with_proxies(proxies),
            ..self
        }
    }

    /// Has a port speak TLS.
    fn with_tls(self, tls: Option<&Tls>) -> Self {
        match tls {
            Some(tls) if self.acceptor.local_addr().is_ok() => Self {
                acceptor: self.acceptor.with_tls(tls.clone()),
                name: self.name.replacen("http://", "https://", 1),
                usage: self.usage,
            },
            _ => self,
        }
    }
}

/// Reports whether the ports can be listened on, for those who want to know before anything else.
///
/// # Errors
/// One line that says which address cannot be had, why, and what to do.
pub fn check(config: &AppConfig) -> Result<(), String> {
    if handed_over()?.is_empty() {
        for address in &config.base.listen {
            if let ListenAddress::Tcp(_) = address {
                bind(address, config, &config.serving.http, None)?;
            }
        }
    }
    Ok(())
}

fn bind(
    address: &ListenAddress,
    config: &AppConfig,
    limits: &Limits,
    user: Option<&User>,
) -> Result<Listening, String> {
    bind_as(
        address,
        &config.base.listen,
        config,
        limits,
        user,
        config.base.option_names.listen,
    )
}

/// Listens on an address that `option` names, and that may be one of a list.
fn bind_as(
    address: &ListenAddress,
    list: &[ListenAddress],
    config: &AppConfig,
    limits: &Limits,
    user: Option<&User>,
    option: &str,
) -> Result<Listening, String> {
    let acceptor = match address {
        ListenAddress::Tcp(address) => {
            let others = list.iter().filter_map(|other| match other {
                ListenAddress::Tcp(other) => Some(*other),
                ListenAddress::Unix(_) => None,
            });
            Acceptor::bind_beside(*address, others, limits)
        }
        ListenAddress::Unix(path) => {
            Acceptor::bind_unix(path, config.base.socket_mode, user.map(User::ids), limits)
        }
    };
    let acceptor = acceptor.map_err(|error| fault(address, &error, option))?;
    Ok(Listening::of(acceptor))
}

fn name_of(acceptor: &Acceptor) -> String {
    let address = acceptor.local_addr().map(ListenAddress::Tcp);
    let address = address
        .ok()
        .or_else(|| acceptor.path().map(ListenAddress::Unix));
    address.map_or_else(|| "a socket".to_owned(), |address| address.to_string())
}

/// The sockets of `LISTEN_FDS`, if that is meant for this process.
fn handed_over() -> Result<&'static [OwnedFd], String> {
    static TAKEN: OnceLock<Result<Vec<OwnedFd>, String>> = OnceLock::new();
    let taken = TAKEN.get_or_init(|| {
        let mut sockets = ListenFd::from_env();
        let mut take = |index| -> io::Result<Option<OwnedFd>> {
            match sockets.take_tcp_listener(index) {
                Ok(socket) => Ok(socket.map(OwnedFd::from)),
                Err(_) => Ok(sockets.take_unix_listener(index)?.map(OwnedFd::from)),
            }
        };
        let all = (0..).map_while(|index| take(index).transpose());
        all.collect::<io::Result<_>>().map_err(|error| {
            format!("LISTEN_FDS: {error}; it must be sockets that listen, TCP or Unix")
        })
    });
    taken.as_deref().map_err(Clone::clone)
}

/// Returns the reason why an address cannot be listened on, and what to do.
fn fault(address: &ListenAddress, error: &io::Error, option: &str) -> String {
    match (address, error.kind()) {
        (ListenAddress::Tcp(address), io::ErrorKind::AddrInUse) => {
            let (by, who) = match port_owner::of(*address) {
                Some(owner) => (format!(" by {owner}"), "it"),
                None => (String::new(), "the other program"),
            };
            let port = address.port();
            format!("port {port} is in use{by}: stop {who}, or choose another with {option}")
        }
        (ListenAddress::Tcp(address), io::ErrorKind::PermissionDenied) => {
            format!(
                "not allowed to listen on {address}: choose a port above 1023 with {option}, or run with the right to \
                 do so"
            )
        }
        (ListenAddress::Tcp(address), io::ErrorKind::AddrNotAvailable) => {
            format!("{address} is no address of this machine: choose another with {option}")
        }
        (ListenAddress::Tcp(address), _) => format!("cannot listen on {address}: {error}"),
        (ListenAddress::Unix(path), io::ErrorKind::AddrInUse) => {
            format!(
                "{} is in use, or no socket: stop the other program, remove the file, or choose another with {option}",
                path.display()
            )
        }
        (ListenAddress::Unix(path), io::ErrorKind::NotFound) => {
            format!(
                "cannot listen on {}: its folder does not exist",
                path.display()
            )
        }
        (ListenAddress::Unix(path), _) => {
            format!("cannot listen on {}: {error}", path.display())
        }
    }
}
