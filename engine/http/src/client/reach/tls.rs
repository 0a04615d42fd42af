//! TLS with another server: the authorities that are believed, and what is wrong with a certificate in words.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::lookup::Lookups;
use crate::client::fault::{ClientFault, ClientFaultKind};
use crate::client::settings::{ClientSettings, Roots};

/// The protocols that are offered over TLS (RFC 7301), the preferred one first.
const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// The side of a client in TLS. Authorities are read when the first server is connected by it.
#[derive(Default)]
pub(in crate::client) struct TlsClient(OnceCell<Arc<ClientConfig>>);

impl TlsClient {
    /// Does the handshake with a host. HTTP/2 is offered if the settings say so and `offers_http2` is true.
    pub(super) async fn handshake<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        settings: &Arc<ClientSettings>,
        lookups: &Lookups,
        (host, stream): (&str, S),
        offers_http2: bool,
    ) -> Result<TlsStream<S>, ClientFault> {
        let fault = |text: String| ClientFault::new(ClientFaultKind::Tls, text);
        let made = self.0.get_or_try_init(|| async {
            let settings = Arc::clone(settings);
            // Files are read, which blocks.
            let made = lookups.run(move || config(&settings)).await;
            made.unwrap_or_else(|| Err("no thread reads the authorities".to_owned()))
        });
        let config = made.await.map_err(fault)?;
        let config = match offers_http2 && settings.offers_http2 {
            true => {
                let mut config = ClientConfig::clone(config);
                config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
                Arc::new(config)
            }
            false => Arc::clone(config),
        };
        let bare = host.trim_matches(['[', ']']).to_owned();
        let name = ServerName::try_from(bare);
        let name = name.map_err(|_| fault(format!("{host} is no name for TLS")))?;
        let secured = TlsConnector::from(config).connect(name, stream).await;
        secured.map_err(|error| fault(format!("TLS with {host} failed: {}", shown(&error))))
    }
}

/// Reads the authorities.
fn config(settings: &ClientSettings) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    match settings.roots {
        Roots::System => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        Roots::Webpki => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
    }
    if let Some(file) = &settings.authorities {
        add_file(&mut roots, file)?;
    }
    if roots.is_empty() {
        return Err(
            "this system trusts no authorities: install its package ca-certificates, or write in [fetch]: \
             roots = \"webpki\""
                .to_owned(),
        );
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![HTTP1.to_vec()];
    Ok(Arc::new(config))
}

/// Reads the file of more authorities, if the settings name one.
///
/// # Errors
/// It cannot be read, or has no certificate.
pub(in crate::client) fn check_authorities(settings: &ClientSettings) -> Result<(), String> {
    match &settings.authorities {
        Some(file) => add_file(&mut RootCertStore::empty(), file),
        None => Ok(()),
    }
}

fn add_file(roots: &mut RootCertStore, file: &Path) -> Result<(), String> {
    let fault = |error: &dyn std::fmt::Display| format!("ca: {}: {error}", file.display());
    let found = CertificateDer::pem_file_iter(file).map_err(|error| fault(&error))?;
    let mut count = 0;
    for one in found {
        let one = one.map_err(|error| fault(&error))?;
        roots.add(one).map_err(|error| fault(&error))?;
        count += 1;
    }
    match count {
        0 => Err(fault(&"it has no certificate")),
        _ => Ok(()),
    }
}

/// Returns the reason for which a handshake failed.
fn shown(error: &io::Error) -> String {
    let inner = error.get_ref();
    let Some(error) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof => "the server closed the connection".to_owned(),
            _ => error.to_string(),
        };
    };
    let rustls::Error::InvalidCertificate(fault) = error else {
        return match error {
            rustls::Error::InvalidMessage(_) => {
                "the server does not speak TLS on this port".to_owned()
            }
            error => error.to_string(),
        };
    };
    match fault {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the server's certificate has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the server's certificate is not valid yet: is the clock of this machine right?".to_owned()
        }
        CertificateError::NotValidForNameContext { presented, .. } => {
            let names: Vec<_> = presented.iter().map(|name| bare(name)).collect();
            let names = names.join(", ");
            format!("the server's certificate is for another name ({names})")
        }
        CertificateError::NotValidForName => {
            "the server's certificate is for another name".to_owned()
        }
        // A signature is bad too where another authority has the name of one that is believed.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "the server's certificate is not from an authority that is believed: if it should be, name a file with the \
             authority in [fetch]: ca = \"FILE\""
                .to_owned()
        }
        CertificateError::Revoked => "the server's certificate was revoked".to_owned(),
        fault => format!("the server's certificate cannot be used: {fault}"),
    }
}

/// Returns a name of a certificate without the form in which rustls shows it: `DnsName("a.test")`.
fn bare(name: &str) -> &str {
    let inner = name
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(name).trim_matches('"')
}
