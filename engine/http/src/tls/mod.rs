//! TLS for a listener: its certificates, the keys of its tickets, and which clients it believes.
//!
//! A [`Tls`] is read from files once and again whenever they change; connections that are open keep what they began
//! with. All connections of a listener, on all workers, share the keys of session tickets, so a client resumes its
//! session on any of them. What becomes of the bytes is the driver's (`driver/wire/`).

mod acme;
mod certificates;
mod info;
#[cfg(test)]
mod tests;
mod x509;

use std::fmt;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{Ticketer, default_provider};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{
    ClientHello, NoServerSessionStorage, ProducesTickets, ResolvesServerCert,
    UnbufferedServerConnection, WebPkiClientVerifier,
};
use rustls::sign::CertifiedKey;
use rustls::{CommonState, RootCertStore, ServerConfig};

use self::certificates::{Certificates, read_chain};

pub use self::acme::AcmeFiles;
pub use self::certificates::{CertificateFiles, TlsError};
pub use self::info::{ClientCertificate, TlsInfo};

/// The protocols that the server speaks over TLS (ALPN), the preferred one first.
const PROTOCOLS: [&[u8]; 2] = [HTTP2, HTTP1];

/// The name of HTTP/1.1 in that list (RFC 7301 section 6).
const HTTP1: &[u8] = b"http/1.1";

/// The name of HTTP/2 in that list (RFC 9113 section 3.2).
const HTTP2: &[u8] = b"h2";

/// The files that TLS of a listener is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsSettings {
    /// The certificates. A client gets the first that is for the name that it asks for, else the first. One that asks
    /// for no name gets the first that is for the IP address that it has connected to, else the first for any address.
    pub certificates: Vec<CertificateFiles>,
    /// The certificates that an ACME client keeps, behind those.
    pub acme: Option<AcmeFiles>,
    /// The clients that must or may show a certificate.
    pub clients: Option<ClientAuth>,
    /// True if HTTP/2 is offered beside HTTP/1.1.
    pub takes_http2: bool,
    /// The value of the field `Strict-Transport-Security` that answers get which have none (RFC 6797 section 6.1).
    pub strict_transport: Option<String>,
}

/// The rule for certificates of clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientAuth {
    /// The authorities that issue them (PEM).
    pub authorities: PathBuf,
    /// True if clients without one are turned away.
    pub is_required: bool,
}

/// TLS of a listener. Clones are the same.
#[derive(Clone)]
pub struct Tls(Arc<TlsState>);

struct TlsState {
    settings: TlsSettings,
    /// The part for the connections to come.
    current: RwLock<Arc<ServerSide>>,
    /// The files as they were when they were last read, well or not; none where the system could not read one of them
    /// for the moment. Held while they are read.
    seen: Mutex<Vec<Option<FileVersion>>>,
}

/// The part of a [`Tls`] that is replaced as a whole.
struct ServerSide {
    config: ServerConfig,
    certificates: Arc<Certificates>,
    /// The folder of answers to `tls-alpn-01`.
    challenges: Option<Arc<Path>>,
    strict_transport: Option<Arc<str>>,
    /// False if a certificate is missing that may be readable later.
    is_whole: bool,
}

/// The version of a file, by what the system says of it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileVersion {
    inode: u64,
    changed: (i64, i64),
    bytes: u64,
}

impl FileVersion {
    fn of(file: &Path) -> Option<Self> {
        let metadata = fs::metadata(file).ok()?;
        Some(Self {
            inode: metadata.ino(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            bytes: metadata.len(),
        })
    }
}

impl Tls {
    /// Reads the files. Also returns warnings, about certificates that have expired or are going to soon.
    ///
    /// # Errors
    /// The first file that cannot be used, and why.
    pub fn read(settings: TlsSettings) -> Result<(Self, Vec<String>), TlsError> {
        let mut seen: Vec<_> = settings.files().map(FileVersion::of).collect();
        let ticketer = new_ticketer(&settings)?;
        let (current, warnings) = ServerSide::read(&settings, ticketer, true)?;
        if !current.is_whole {
            seen.fill(None);
        }
        let tls = Self(Arc::new(TlsState {
            settings,
            current: RwLock::new(Arc::new(current)),
            seen: Mutex::new(seen),
        }));
        Ok((tls, warnings))
    }

    /// Reads the files again, for the connections to come. Returns warnings as [`Tls::read`].
    ///
    /// # Errors
    /// As [`Tls::read`]; then everything stays as it was.
    pub fn renew(&self) -> Result<Vec<String>, TlsError> {
        let mut seen = self.seen();
        *seen = self.versions();
        self.read_again(&mut seen)
    }

    /// Reads the files again if one has changed since they were last read; `None` if none has. A file that is not there
    /// has not changed: its successor is about to come. After an error that is [passing](TlsError::is_passing) they
    /// are read again each time.
    pub fn renew_if_changed(&self) -> Option<Result<Vec<String>, TlsError>> {
        let mut seen = self.seen();
        let mut has_changed = false;
        for (seen, now) in seen.iter_mut().zip(self.versions()) {
            if now.is_some() && *seen != now {
                *seen = now;
                has_changed = true;
            }
        }
        has_changed.then(|| self.read_again(&mut seen))
    }

    /// Reads the files, while no other thread does. Forgets that it has seen them if that may go well the next time.
    fn read_again(&self, seen: &mut [Option<FileVersion>]) -> Result<Vec<String>, TlsError> {
        let outcome = self.replace();
        if outcome.as_ref().is_err_and(|error| error.is_passing) {
            seen.fill(None);
        }
        outcome
    }

    /// Replaces the part for the connections to come.
    fn replace(&self) -> Result<Vec<String>, TlsError> {
        let settings = &self.0.settings;
        // A resumed session is not checked against authorities again, so tickets end where those may have changed.
        let ticketer = match &settings.clients {
            Some(_) => new_ticketer(settings)?,
            None => Arc::clone(&self.current().config.ticketer),
        };
        let (fresh, warnings) = ServerSide::read(settings, ticketer, false)?;
        let mut current = self
            .0
            .current
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(fresh);
        Ok(warnings)
    }

    fn seen(&self) -> MutexGuard<'_, Vec<Option<FileVersion>>> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The versions of the files now.
    fn versions(&self) -> Vec<Option<FileVersion>> {
        self.0.settings.files().map(FileVersion::of).collect()
    }

    fn current(&self) -> Arc<ServerSide> {
        let current = self
            .0
            .current
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current)
    }

    /// Begins a connection on the server's side, to this address of it. Also returns where the name that its client
    /// asks for is found.
    pub(crate) fn accept(
        &self,
        local: Option<IpAddr>,
    ) -> io::Result<(UnbufferedServerConnection, Arc<AskedName>)> {
        let current = self.current();
        let asked = Arc::new(AskedName {
            certificates: Arc::clone(&current.certificates),
            challenges: current.challenges.clone(),
            local: local.map(|address| address.to_canonical()),
            name: OnceLock::new(),
            strict_transport: current.strict_transport.clone(),
        });
        let mut config = current.config.clone();
        config.cert_resolver = Arc::clone(&asked) as Arc<dyn ResolvesServerCert>;
        let connection = UnbufferedServerConnection::new(Arc::new(config));
        Ok((connection.map_err(io::Error::other)?, asked))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = &self.0.settings;
        f.debug_struct("Tls")
            .field("settings", settings)
            .finish_non_exhaustive()
    }
}

impl TlsSettings {
    fn files(&self) -> impl Iterator<Item = &Path> {
        let pairs = self.certificates.iter();
        let pairs = pairs.flat_map(|files| [files.certificate.as_path(), files.key.as_path()]);
        let authorities = self
            .clients
            .iter()
            .map(|clients| clients.authorities.as_path());
        let kept = self.acme.iter().flat_map(|acme| &acme.certificates);
        pairs.chain(authorities).chain(kept.map(PathBuf::as_path))
    }
}

impl ServerSide {
    /// Reads the files. `is_first` is true at the start, which a certificate that an ACME client will renew does not
    /// prevent.
    fn read(
        settings: &TlsSettings,
        ticketer: Arc<dyn ProducesTickets>,
        is_first: bool,
    ) -> Result<(Self, Vec<String>), TlsError> {
        let (mut certificates, mut warnings) = Certificates::read(&settings.certificates)?;
        let mut is_whole = true;
        for files in settings.acme.iter().flat_map(AcmeFiles::pairs) {
            match certificates.add(&files, true) {
                _ if !files.certificate.exists() => {}
                Ok(warning) => warnings.extend(warning),
                Err(fault) if is_first => {
                    is_whole &= !fault.is_passing;
                    warnings.push(fault.to_string());
                }
                Err(fault) => return Err(fault),
            }
        }
        let certificates = Arc::new(certificates);
        let provider = Arc::new(default_provider());
        let verifier = match &settings.clients {
            Some(clients) => verifier(clients, &provider)?,
            None => WebPkiClientVerifier::no_client_auth(),
        };
        let resolver = Arc::clone(&certificates) as Arc<dyn ResolvesServerCert>;
        let builder = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
            .map_err(|error| settings.refused(&error))?;
        let mut config = builder
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(resolver);
        // All ciphers are strong; the order is that of rustls, AES-256-GCM first.
        config.ignore_client_order = true;
        let protocols = PROTOCOLS.into_iter();
        let protocols = protocols.filter(|name| settings.takes_http2 || *name != HTTP2);
        config.alpn_protocols = protocols.map(<[u8]>::to_vec).collect();
        if settings.acme.is_some() {
            config.alpn_protocols.push(acme::PROTOCOL.to_vec());
        }
        // Tickets hold sessions, so that the server keeps none.
        config.ticketer = ticketer;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        let server = Self {
            config,
            certificates,
            challenges: settings
                .acme
                .as_ref()
                .map(|acme| Arc::from(&*acme.challenges)),
            strict_transport: settings.strict_transport.as_deref().map(Arc::from),
            is_whole,
        };
        Ok((server, warnings))
    }
}

impl TlsSettings {
    /// An error of rustls that is about no file.
    fn refused(&self, error: &rustls::Error) -> TlsError {
        let first = self.certificates.first();
        let file = first.map(|files| &*files.certificate);
        TlsError::new(file.unwrap_or(Path::new("")), error.to_string())
    }
}

/// Makes the keys of tickets, which change every six hours; a ticket is good for twelve.
fn new_ticketer(settings: &TlsSettings) -> Result<Arc<dyn ProducesTickets>, TlsError> {
    Ticketer::new().map_err(|error| settings.refused(&error))
}

/// Makes what checks the certificates of clients.
fn verifier(
    clients: &ClientAuth,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let file = &clients.authorities;
    let fault = |error: &dyn fmt::Display| {
        let reason = format!("holds an authority that cannot be used: {error}");
        TlsError::new(file, reason)
    };
    let mut roots = RootCertStore::empty();
    for authority in read_chain(file)? {
        roots.add(authority).map_err(|error| fault(&error))?;
    }
    let mut verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    if !clients.is_required {
        verifier = verifier.allow_unauthenticated();
    }
    verifier.build().map_err(|error| fault(&error))
}

/// Chooses the certificate of one connection, and keeps the name that its client has asked for: rustls tells it only
/// here.
#[derive(Debug)]
pub(crate) struct AskedName {
    certificates: Arc<Certificates>,
    challenges: Option<Arc<Path>>,
    /// The address that the client has connected to.
    local: Option<IpAddr>,
    name: OnceLock<Box<str>>,
    strict_transport: Option<Arc<str>>,
}

impl AskedName {
    /// The facts about its connection, after the handshake.
    pub(crate) fn info(&self, state: &CommonState) -> TlsInfo {
        TlsInfo::new(
            state,
            self.name.get().cloned(),
            self.strict_transport.clone(),
        )
    }
}

impl ResolvesServerCert for AskedName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        if let Some(name) = hello.server_name() {
            // rustls has made its letters small.
            let _ = self.name.set(name.into());
        }
        match &self.challenges {
            Some(folder) if acme::is_challenge(&hello) => acme::answer(folder, &hello),
            _ => self.certificates.choose(&hello, self.local),
        }
    }
}

/// Reports whether a connection was only to see the answer to `tls-alpn-01`.
pub(crate) fn ends_with_handshake(state: &CommonState) -> bool {
    state.alpn_protocol() == Some(acme::PROTOCOL)
}
