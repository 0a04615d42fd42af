//! `sampan health`: asks a server how it is, for the health checks of containers and for people.

use crate::bench::wire::TlsTarget;
use crate::say;
use rustls::StreamOwned;
use sampan_project::config::{EnvFile, Flags, ListenAddress};
use sampan_runtime::AppConfig;
use sampan_serve::is_trusted;
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use url::Url;

/// The path that is asked where a URL has none.
const PATH: &str = "/_sampan/health";
/// The most bytes of an answer.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;
/// The variable with the token, as servers read it too.
const TOKEN: &str = "SAMPAN_HEALTH_TOKEN";

/// The arguments of `sampan health`.
#[derive(clap::Args)]
pub(crate) struct HealthArgs {
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
    #[command(flatten)]
    asked: AskedArgs,
    /// The configuration file [default: sampan.toml in the project's folder, if there is one].
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    config: Option<PathBuf>,
    /// A value of the configuration, such as server.listen=127.0.0.1:8081.
    #[arg(long, value_name = "SECTION.KEY=VALUE", conflicts_with = "url")]
    set: Vec<String>,
}

/// The question, and the form of the answer.
#[derive(clap::Args)]
pub(crate) struct AskedArgs {
    /// Ask only if the process answers, not if it can answer requests.
    #[arg(long)]
    live: bool,
    /// The longest time that the server may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    timeout: u16,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The server that is asked.
struct Target {
    /// The server, for people.
    shown: String,
    address: Address,
    /// TLS with it.
    tls: Option<TlsTarget>,
    /// True if it takes connections of this machine for those of a proxy, which begin with a header of the PROXY
    /// protocol.
    is_for_proxies: bool,
    /// The value of the field `Host`.
    host: String,
    path: String,
}

enum Address {
    Tcp(Vec<SocketAddr>),
    Unix(PathBuf),
}

pub(crate) fn run(args: HealthArgs) -> Result<i32, String> {
    let target = match args.url {
        Some(url) => Target::of_url(&url)?,
        None => Target::of_project(&Flags {
            path: args.project,
            config: args.config,
            set: args.set,
            env_file: EnvFile::OfProject,
            ..Flags::default()
        })?,
    };
    ask(target, &args.asked)
}

/// Asks the server that serves the project of these flags.
pub(crate) fn ask_own(flags: &Flags, asked: &AskedArgs) -> Result<i32, String> {
    ask(Target::of_project(flags)?, asked)
}

fn ask(mut target: Target, asked: &AskedArgs) -> Result<i32, String> {
    if asked.live {
        target.path += "/live";
    }
    let time_max = Duration::from_secs(asked.timeout.max(1).into());
    let answer = target.answer(time_max).and_then(|text| parsed(&text));
    let is_well = matches!(&answer, Ok((200, _)));
    let line = match (answer, asked.json) {
        (Ok((_, body)), true) => body.to_string(),
        (Ok((_, body)), false) => shown(&body),
        (Err(fault), true) => {
            json!({ "status": "unreachable", "reason": fault, "url": target.shown }).to_string()
        }
        (Err(fault), false) => format!("unreachable: {}: {fault}", target.shown),
    };
    say(line)?;
    Ok(i32::from(!is_well))
}

impl Target {
    fn of_url(text: &str) -> Result<Self, String> {
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
            shown: url.to_string(),
            address: Address::Tcp(addresses.collect()),
            tls: tls.transpose()?,
            is_for_proxies: false,
            host: format!("{host}{own_port}"),
            path: match url.path() {
                "/" => PATH.to_owned(),
                path => path.trim_end_matches('/').to_owned(),
            },
        })
    }

    /// Finds the server of a project on this machine: by a Unix socket or a port of plain HTTP, if it has one.
    fn of_project(flags: &Flags) -> Result<Self, String> {
        let config = AppConfig::resolve(flags)?;
        let path = config.serving.health.path.clone();
        let path = path.ok_or("[health] enabled is false: the server answers no such question")?;
        let tls = config.base.tls.as_ref();
        let listen = config.base.listen.iter();
        let plain = tls.iter().flat_map(|tls| &tls.redirect_listen);
        let is_unix = |address: &&ListenAddress| matches!(address, ListenAddress::Unix(_));
        let unix = listen.clone().find(is_unix);
        let found = unix.or_else(|| plain.clone().next());
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
        let serving = &config.serving;
        Ok(Self {
            is_for_proxies: serving.proxy_protocol && is_trusted(&serving.trusted_proxies, own),
            shown,
            address,
            tls: tls.transpose()?,
            host,
            path,
        })
    }

    /// Returns all bytes of the answer.
    fn answer(&self, time_max: Duration) -> Result<Vec<u8>, String> {
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
        let token = std::env::var(TOKEN).unwrap_or_default();
        let token = match token.trim() {
            "" => String::new(),
            token => format!("Authorization: Bearer {token}\r\n"),
        };
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: application/json\r\n{token}Connection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        stream.flush()?;
        let mut answer = Vec::new();
        match stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer) {
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

/// Returns the status and the body of an answer.
fn parsed(answer: &[u8]) -> Result<(u16, Value), String> {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text
        .split_once("\r\n\r\n")
        .ok_or("its answer is not one of HTTP/1.1")?;
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let status = status.ok_or("its answer is not one of HTTP/1.1")?;
    let body: Option<Value> = serde_json::from_str(body).ok();
    match body.filter(|body| body["status"].is_string()) {
        Some(body) => Ok((status, body)),
        None => Err(format!(
            "it answered {status}, which is no answer of [health]: is it another server, or is [health] path another?"
        )),
    }
}

/// Returns a line for people: the status, and what is wrong.
fn shown(body: &Value) -> String {
    let status = body["status"].as_str().unwrap_or_default();
    let Some(checks) = body["checks"].as_object() else {
        return status.to_owned();
    };
    let failed = checks.iter().filter(|(_, check)| check["status"] != "ok");
    let failed = failed.map(|(name, check)| match check["reason"].as_str() {
        Some(reason) => format!("{name}: {reason}"),
        None => format!("{name} failed"),
    });
    let failed: Vec<String> = failed.collect();
    match failed.is_empty() {
        true => status.to_owned(),
        false => format!("{status}: {}", failed.join("; ")),
    }
}
