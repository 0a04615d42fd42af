//! A server that a command asks by one request: the one of a URL, or of the project here.

use crate::bench::wire::TlsTarget;
use rustls::StreamOwned;
use sampan_project::config::{EnvFile, Flags, ListenAddress};
use sampan_runtime::AppConfig;
use sampan_serve::is_trusted;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use url::Url;

/// A question to servers.
pub(super) struct Question {
    /// The path that is asked where a URL has none.
    pub(super) path: &'static str,
    /// The most bytes of an answer.
    pub(super) answer_bytes_max: u64,
    /// The variable with the token, as servers read it too.
    pub(super) token: &'static str,
    /// Returns the path at the server of a project.
    ///
    /// # Errors
    /// The server does not answer it.
    pub(super) own_path: fn(&AppConfig) -> Result<String, String>,
    /// Returns the address for this question alone, which speaks plain HTTP, if the server of a project has one.
    pub(super) own_address: fn(&AppConfig) -> Option<SocketAddr>,
}

/// The arguments that name a server.
#[derive(clap::Args)]
pub(super) struct AskedServerArgs {
    /// The server [default: the one of the project here, on this machine]. The certificate of an https:// URL is not
    /// checked.
    #[arg(value_name = "URL")]
    url: Option<String>,
    /// The project's folder, or a file in it, to find its server.
    #[arg(
        long,
        value_name = "DIR|FILE",
        default_value = ".",
        conflicts_with = "url"
    )]
    project: PathBuf,
    // Shown behind the options of the command.
    /// The configuration file [default: sampan.toml in the project's folder, if there is one].
    #[arg(long, value_name = "FILE", conflicts_with = "url", display_order = 100)]
    config: Option<PathBuf>,
    /// A value of the configuration, such as server.listen=127.0.0.1:8081.
    #[arg(
        long,
        value_name = "SECTION.KEY=VALUE",
        conflicts_with = "url",
        display_order = 101
    )]
    set: Vec<String>,
    /// A file of variables, as that of sampan run [default: .env in the project's folder, if there is one].
    #[arg(long, value_name = "FILE", conflicts_with = "url", display_order = 102)]
    env_file: Option<PathBuf>,
}

impl AskedServerArgs {
    /// Returns the server for a question.
    ///
    /// # Errors
    /// As [`AskedServer::of_url`] and [`AskedServer::of_project`].
    pub(super) fn ask(self, question: &'static Question) -> Result<AskedServer, String> {
        if let Some(url) = &self.url {
            return AskedServer::of_url(question, url);
        }
        let flags = Flags {
            path: self.project,
            config: self.config,
            set: self.set,
            env_file: self.env_file.map_or(EnvFile::OfProject, EnvFile::At),
            ..Flags::default()
        };
        AskedServer::of_project(question, &flags)
    }
}

/// The server that is asked.
pub(super) struct AskedServer {
    question: &'static Question,
    /// The server, for people.
    pub(super) shown: String,
    address: Address,
    /// TLS with it.
    tls: Option<TlsTarget>,
    /// True if it takes connections of this machine for those of a proxy, which begin with a header of the PROXY
    /// protocol.
    is_for_proxies: bool,
    /// The value of the field `Host`.
    host: String,
    pub(super) path: String,
    /// The token, in place of that of the variable.
    token: Option<String>,
}

enum Address {
    Tcp(Vec<SocketAddr>),
    Unix(PathBuf),
}

impl AskedServer {
    /// Returns the server of a URL.
    ///
    /// # Errors
    /// The text is no URL, or the system knows no address of its host.
    pub(super) fn of_url(question: &'static Question, text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| {
            format!("{text} is no URL ({error}): write http://127.0.0.1:8080, or none for the project here")
        })?;
        let port = match url.scheme() {
            "http" => 80,
            "https" => 443,
            _ => return Err(format!("{text}: only http:// and https:// can be asked")),
        };
        let host = url.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let addresses = (bare, url.port().unwrap_or(port)).to_socket_addrs();
        let addresses = addresses.map_err(|error| format!("{host}: {error}"))?;
        let tls = (url.scheme() == "https").then(|| TlsTarget::new(bare, false));
        let own_port = url.port().map_or(String::new(), |port| format!(":{port}"));
        Ok(Self {
            question,
            token: None,
            shown: url.to_string(),
            address: Address::Tcp(addresses.collect()),
            tls: tls.transpose()?,
            is_for_proxies: false,
            host: format!("{host}{own_port}"),
            path: match url.path() {
                "/" => question.path.to_owned(),
                path => path.trim_end_matches('/').to_owned(),
            },
        })
    }

    /// Sends this token, if it is one.
    pub(super) fn with_token(self, token: Option<String>) -> Self {
        Self { token, ..self }
    }

    /// Finds the server of a project on this machine: by a Unix socket or a port of plain HTTP, if it has one.
    ///
    /// # Errors
    /// There is no project, or its server cannot be asked.
    pub(super) fn of_project(question: &'static Question, flags: &Flags) -> Result<Self, String> {
        let config = AppConfig::resolve(flags)?;
        let path = (question.own_path)(&config)?;
        let own = (question.own_address)(&config).map(ListenAddress::Tcp);
        let tls = config.base.tls.as_ref();
        let listen = config.base.listen.iter();
        let plain = tls.iter().flat_map(|tls| &tls.redirect_listen);
        let is_unix = |address: &&ListenAddress| matches!(address, ListenAddress::Unix(_));
        let unix = listen.clone().find(is_unix);
        let found = own.as_ref().or(unix).or_else(|| plain.clone().next());
        let found = found.map(|address| (address, false));
        let found = found.or_else(|| Some((listen.clone().next()?, tls.is_some())));
        let (address, has_tls) = found.ok_or("[server] listen names no address")?;
        let (shown, address, host) = match address {
            ListenAddress::Unix(file) => (
                format!("unix:{}", file.display()),
                Address::Unix(file.clone()),
                "localhost".to_owned(),
            ),
            ListenAddress::Tcp(address) => {
                let address = reached(*address);
                if address.port() == 0 {
                    return Err("the system chose the port of the server: name its URL".to_owned());
                }
                let scheme = if has_tls { "https" } else { "http" };
                let shown = format!("{scheme}://{address}{path}");
                (shown, Address::Tcp(vec![address]), address.to_string())
            }
        };
        let tls = has_tls.then(|| TlsTarget::new("localhost", false));
        let own = match &address {
            Address::Tcp(addresses) => addresses.first().map(SocketAddr::ip),
            Address::Unix(_) => None,
        };
        let (serving, is_shared) = (&config.serving, (question.own_address)(&config).is_none());
        Ok(Self {
            question,
            token: None,
            is_for_proxies: is_shared
                && serving.proxy_protocol
                && is_trusted(&serving.trusted_proxies, own),
            shown,
            address,
            tls: tls.transpose()?,
            host,
            path,
        })
    }

    /// Returns all bytes of the answer.
    ///
    /// # Errors
    /// No server is there, or it takes longer.
    pub(super) fn answer(&self, time_max: Duration) -> Result<Vec<u8>, String> {
        let deadline = Instant::now() + time_max;
        let too_long = || format!("no answer within {} s (--timeout)", time_max.as_secs());
        let left = || match deadline.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(too_long()),
            left => Ok(left),
        };
        let told = |error: io::Error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => too_long(),
            _ => error.to_string(),
        };
        match &self.address {
            Address::Unix(file) => {
                let mut stream = UnixStream::connect(file).map_err(told)?;
                let left = Some(left()?);
                let set = stream.set_read_timeout(left);
                set.and_then(|()| stream.set_write_timeout(left))
                    .and_then(|()| self.introduce(&mut stream))
                    .map_err(told)?;
                self.exchange(stream).map_err(told)
            }
            Address::Tcp(addresses) => {
                let mut fault = "the host has no address".to_owned();
                for address in addresses {
                    let mut stream = match TcpStream::connect_timeout(address, left()?) {
                        Ok(stream) => stream,
                        Err(error) => {
                            fault = told(error);
                            continue;
                        }
                    };
                    let left = Some(left()?);
                    let set = stream.set_read_timeout(left);
                    set.and_then(|()| stream.set_write_timeout(left))
                        .and_then(|()| self.introduce(&mut stream))
                        .map_err(told)?;
                    return match &self.tls {
                        None => self.exchange(stream).map_err(told),
                        Some(tls) => {
                            let session = tls.session().map_err(told)?;
                            self.exchange(StreamOwned::new(session, stream))
                                .map_err(told)
                        }
                    };
                }
                Err(fault)
            }
        }
    }

    /// Says that the connection is the proxy's own, as its health checks do.
    fn introduce(&self, stream: &mut impl Write) -> io::Result<()> {
        match self.is_for_proxies {
            true => stream.write_all(b"PROXY UNKNOWN\r\n"),
            false => Ok(()),
        }
    }

    fn exchange(&self, mut stream: impl Read + Write) -> io::Result<Vec<u8>> {
        let (path, host) = (&self.path, &self.host);
        let of_variable = || std::env::var(self.question.token).unwrap_or_default();
        let token = self.token.clone().unwrap_or_else(of_variable);
        let token = match token.trim() {
            "" => String::new(),
            token => format!("Authorization: Bearer {token}\r\n"),
        };
        let head =
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{token}Connection: close\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        stream.flush()?;
        let mut answer = Vec::new();
        match stream
            .take(self.question.answer_bytes_max)
            .read_to_end(&mut answer)
        {
            // An end of TLS without `close_notify` is one too.
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
            _ => Ok(answer),
        }
    }
}

/// Returns the address by which this machine reaches a server that listens on all networks.
fn reached(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
