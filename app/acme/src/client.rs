//! HTTPS to the authority: a connection a request, with limits on time and size.

use bytes::Bytes;
use http::header::{HOST, RETRY_AFTER, USER_AGENT};
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// The longest time of a request.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(30);
/// The longest time in which one of several addresses has to answer, so that one of a network that drops everything
/// leaves time for the others.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(4);
/// The largest answer: a chain of certificates has some kilobytes.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// A client of one authority. Clones are the same.
#[derive(Clone)]
pub(crate) struct DirectoryClient {
    tls: TlsConnector,
    /// The pause that the authority asked for with its last refusal.
    asked_pause: Arc<Mutex<Option<Duration>>>,
}

type ConnectError = Box<dyn std::error::Error + Send + Sync>;
type Answering = Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>>;

impl DirectoryClient {
    /// A client that trusts the authorities in a file, or else those of the system.
    pub(crate) fn new(authorities: Option<&Path>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        match authorities {
            Some(file) => {
                let fault = |error: &dyn std::fmt::Display| {
                    format!("directory_ca: {}: {error}", file.display())
                };
                let found = CertificateDer::pem_file_iter(file).map_err(|error| fault(&error))?;
                for one in found {
                    let one = one.map_err(|error| fault(&error))?;
                    roots.add(one).map_err(|error| fault(&error))?;
                }
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                if roots.is_empty() {
                    return Err(
                        "this system trusts no authorities: install its package ca-certificates, or set directory_ca"
                            .to_owned(),
                    );
                }
            }
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let config = builder.with_root_certificates(roots).with_no_client_auth();
        Ok(Self {
            tls: TlsConnector::from(Arc::new(config)),
            asked_pause: Arc::default(),
        })
    }

    /// Takes the pause that the authority asked for with its last refusal.
    pub(crate) fn take_asked_pause(&self) -> Option<Duration> {
        self.asked_pause
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    async fn ask(
        self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Result<BytesResponse, ConnectError> {
        let (mut parts, body) = request.into_parts();
        let target = std::mem::take(&mut parts.uri);
        let host = target.host().ok_or("a URL without a host")?;
        let host = host.trim_matches(['[', ']']).to_owned();
        let is_plain = target.scheme_str() == Some("http");
        if is_plain && !is_of_this_machine(&host) {
            return Err("plain HTTP: the directory must have a URL with https".into());
        }
        let port = target.port_u16().unwrap_or(if is_plain { 80 } else { 443 });
        let authority = target
            .authority()
            .map_or("", |authority| authority.as_str());
        parts
            .headers
            .insert(HOST, HeaderValue::from_str(authority)?);
        let agent = concat!("sampan/", env!("CARGO_PKG_VERSION"));
        parts
            .headers
            .insert(USER_AGENT, HeaderValue::from_static(agent));
        let path = target.path_and_query().map_or("/", |path| path.as_str());
        parts.uri = path.parse::<Uri>()?;
        let request = Request::from_parts(parts, body);
        let socket = connect(&host, port).await;
        let socket = socket.map_err(|error| format!("cannot connect to {authority}: {error}"))?;
        let response = if is_plain {
            exchange(socket, request).await?
        } else {
            let name = ServerName::try_from(host)?;
            let secured = self.tls.connect(name, socket).await;
            exchange(secured.map_err(|error| shown(authority, &error))?, request).await?
        };
        if response.status().is_client_error() || response.status().is_server_error() {
            let asked = response.headers().get(RETRY_AFTER).and_then(retry_after);
            *self
                .asked_pause
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = asked;
        }
        Ok(BytesResponse::from(response))
    }
}

impl HttpClient for DirectoryClient {
    fn request(&self, request: Request<BodyWrapper<Bytes>>) -> Answering {
        let client = self.clone();
        Box::pin(async move {
            let answer = tokio::time::timeout(REQUEST_TIME_MAX, client.ask(request)).await;
            let late =
                |_| format!("no answer within {} seconds", REQUEST_TIME_MAX.as_secs()).into();
            answer.map_err(late).flatten().map_err(Error::Other)
        })
    }
}

/// Connects to a host.
async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let addresses: Vec<_> = tokio::net::lookup_host((host, port)).await?.collect();
    connect_to_one(&addresses, CONNECT_TIME_MAX).await
}

/// Connects to the first of these addresses that answers. Each has this time, but the last all that is left.
async fn connect_to_one(addresses: &[SocketAddr], time_max: Duration) -> io::Result<TcpStream> {
    let Some((last, others)) = addresses.split_last() else {
        return Err(io::Error::other("the name has no address"));
    };
    for address in others {
        let connected = tokio::time::timeout(time_max, TcpStream::connect(address)).await;
        if let Ok(Ok(socket)) = connected {
            return Ok(socket);
        }
    }
    TcpStream::connect(last).await
}

/// The fault of a handshake with the authority. Where the clock can be its cause, it is named.
fn shown(authority: &str, error: &io::Error) -> String {
    let text = error.to_string();
    let hint = match text.contains("expired") || text.contains("not valid yet") {
        true => {
            let now = httpdate::fmt_http_date(SystemTime::now());
            format!("; the clock of this machine says {now}")
        }
        false => String::new(),
    };
    format!("cannot connect to {authority} by TLS: {text}{hint}")
}

/// Sends a request, and receives the whole answer.
async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<BodyWrapper<Bytes>>,
) -> Result<Response<Full<Bytes>>, ConnectError> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // It ends with its sender.
    tokio::spawn(connection);
    let (parts, body) = sender.send_request(request).await?.into_parts();
    let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await?;
    Ok(Response::from_parts(parts, Full::new(body.to_bytes())))
}

fn is_of_this_machine(host: &str) -> bool {
    let is_loopback = |address: IpAddr| address.is_loopback();
    host == "localhost" || host.parse().is_ok_and(is_loopback)
}

/// Reads `Retry-After`: seconds or a date (RFC 9110 section 10.2.3).
fn retry_after(value: &HeaderValue) -> Option<Duration> {
    let text = value.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    date.duration_since(SystemTime::now()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use tokio::net::{TcpListener, TcpSocket};

    #[tokio::test]
    async fn an_address_that_does_not_answer_leaves_time_for_the_next() {
        let deaf = TcpSocket::new_v4().expect("a socket");
        deaf.bind((Ipv4Addr::LOCALHOST, 0).into()).expect("bound");
        let deaf = deaf.listen(1).expect("it listens");
        let silent = deaf.local_addr().expect("bound");
        // With its queue full the system drops what else comes.
        let time_max = Duration::from_millis(200);
        let mut queued = Vec::new();
        while let Ok(socket) = tokio::time::timeout(time_max, TcpStream::connect(silent)).await {
            queued.push(socket.expect("connected"));
        }
        let next = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let next = next.expect("bound");
        let address = next.local_addr().expect("bound");
        let socket = connect_to_one(&[silent, address], time_max).await;
        assert_eq!(
            socket.expect("connected").peer_addr().expect("known"),
            address
        );
    }
}
