//! TLS, as `sslmode` of libpq says it ("SSL Support" in PostgreSQL's documentation).

use super::wire::{Address, Wire};
use crate::config::{TlsConfig, TlsMode};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use sha2::{Digest, Sha256, Sha384, Sha512};
use std::io;
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsConnector;

/// The message that asks for TLS: its length and its number.
const REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// The protocol that is offered within TLS. PostgreSQL 17 and later insist on it where TLS comes first.
const ALPN: &[u8] = b"postgresql";

/// The side of a client in TLS; `None` where none is wanted.
#[derive(Clone)]
pub(crate) struct TlsClient {
    mode: TlsMode,
    is_direct: bool,
    config: Option<Arc<ClientConfig>>,
}

impl TlsClient {
    /// Reads the files of certificates.
    ///
    /// # Errors
    /// The file, and what is wrong with it.
    pub(crate) fn new(settings: &TlsConfig) -> Result<Self, String> {
        let config = match settings.mode {
            TlsMode::Disable => None,
            _ => Some(Arc::new(config(settings)?)),
        };
        Ok(Self {
            mode: settings.mode,
            is_direct: settings.is_direct,
            config,
        })
    }

    /// Begins TLS on a connection, if it is wanted and the server has it.
    ///
    /// # Errors
    /// The reason for which it is not possible.
    pub(crate) async fn secure(
        &self,
        mut wire: Box<dyn Wire>,
        address: &Address,
    ) -> Result<Secured, TlsFault> {
        let (Some(config), Address::Tcp(host, _)) = (&self.config, address) else {
            return Ok(Secured::plain(wire));
        };
        if !self.is_direct {
            wire.write_all(&REQUEST).await?;
            wire.flush().await?;
            // One byte: anything more would be read as TLS.
            match (wire.read_u8().await?, self.mode) {
                (b'S', _) => {}
                (b'N', TlsMode::Prefer) => return Ok(Secured::plain(wire)),
                (b'N', _) => {
                    let message =
                        "the server has no TLS, and sslmode asks for it: set ssl = on there";
                    return Err(TlsFault::Refused(message.to_owned()));
                }
                _ => {
                    let message = "the server does not speak PostgreSQL's protocol";
                    return Err(TlsFault::Refused(message.to_owned()));
                }
            }
        }
        let name = ServerName::try_from(host.clone());
        let name = name.map_err(|_| TlsFault::Refused(format!("{host} is no name for TLS")))?;
        let secured = TlsConnector::from(Arc::clone(config))
            .connect(name, wire)
            .await;
        let secured = secured.map_err(|error| TlsFault::Refused(shown(&error)))?;
        let certificates = secured.get_ref().1.peer_certificates();
        let end_point = certificates.and_then(|certificates| end_point(certificates.first()?));
        Ok(Secured {
            end_point,
            wire: Box::new(secured),
        })
    }
}

/// A connection, with TLS or without.
pub(crate) struct Secured {
    pub(crate) wire: Box<dyn Wire>,
    /// The data that binds a login to the connection of TLS.
    pub(crate) end_point: Option<Vec<u8>>,
}

impl Secured {
    fn plain(wire: Box<dyn Wire>) -> Self {
        Self {
            wire,
            end_point: None,
        }
    }
}

/// Returns the hash of a certificate by the hash of its signature, SHA-256 in the place of older ones (RFC 5929,
/// section 4.1). Signatures that do not name a hash have none.
fn end_point(certificate: &CertificateDer<'_>) -> Option<Vec<u8>> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let algorithm = parsed.signature_algorithm.algorithm.to_id_string();
    Some(match &*algorithm {
        // MD5, SHA-1 and SHA-256, with RSA and with ECDSA.
        "1.2.840.113549.1.1.4"
        | "1.2.840.113549.1.1.5"
        | "1.2.840.113549.1.1.11"
        | "1.2.840.10045.4.1"
        | "1.2.840.10045.4.3.2" => Sha256::digest(certificate).to_vec(),
        "1.2.840.113549.1.1.12" | "1.2.840.10045.4.3.3" => Sha384::digest(certificate).to_vec(),
        "1.2.840.113549.1.1.13" | "1.2.840.10045.4.3.4" => Sha512::digest(certificate).to_vec(),
        _ => return None,
    })
}

/// TLS that did not begin.
pub(crate) enum TlsFault {
    /// The connection ended.
    Io(io::Error),
    /// The server has none, or none that is believed.
    Refused(String),
}

impl From<io::Error> for TlsFault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn config(settings: &TlsConfig) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let checks_chain = settings.mode >= TlsMode::VerifyCa || settings.authorities.is_some();
    let chain = match checks_chain {
        false => None,
        true => {
            let roots = Arc::new(roots(settings.authorities.as_deref())?);
            let verifier =
                WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
            Some(verifier.build().map_err(|error| error.to_string())?)
        }
    };
    let checks_name = settings.mode == TlsMode::VerifyFull;
    let verifier = Verifier {
        provider,
        chain,
        checks_name,
    };
    let builder = builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match &settings.own {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = certificates("sslcert", certificate)?;
            let key_of = PrivateKeyDer::from_pem_file(key);
            let key = key_of.map_err(|error| format!("sslkey: {}: {error}", key.display()))?;
            let with = builder.with_client_auth_cert(chain, key);
            with.map_err(|error| format!("sslcert: {}: {error}", certificate.display()))?
        }
    };
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(config)
}

fn roots(file: Option<&Path>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    match file {
        None => {
            let found = rustls_native_certs::load_native_certs().certs;
            roots.add_parsable_certificates(found);
            if roots.is_empty() {
                return Err(
                    "this system trusts no authorities: install its package ca-certificates, or name a file with \
                     sslrootcert=FILE"
                        .to_owned(),
                );
            }
        }
        Some(file) => {
            for certificate in certificates("sslrootcert", file)? {
                let added = roots.add(certificate);
                added.map_err(|error| format!("sslrootcert: {}: {error}", file.display()))?;
            }
        }
    }
    Ok(roots)
}

fn certificates(name: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let shown = file.display();
    let found =
        CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = found.map_err(|error| format!("{name}: {shown}: {error}"))?;
    match found.is_empty() {
        true => Err(format!("{name}: {shown}: it has no certificate")),
        false => Ok(found),
    }
}

/// Checks the certificate of a server as far as `sslmode` asks for it. That the server has its key is always checked.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// Checks that an authority has signed it; `None` believes any.
    chain: Option<Arc<WebPkiServerVerifier>>,
    /// Checks that it is that of the host.
    checks_name: bool,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(chain) = &self.chain else {
            return Ok(ServerCertVerified::assertion());
        };
        // The chain is checked before the name.
        match chain.verify_server_cert(certificate, others, name, ocsp, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_name => Ok(ServerCertVerified::assertion()),
            checked => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// Returns the reason for which a handshake failed.
fn shown(error: &io::Error) -> String {
    let inner = error.get_ref();
    let Some(error) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) else {
        return format!("TLS failed: {error}");
    };
    let rustls::Error::InvalidCertificate(fault) = error else {
        return format!("TLS failed: {error}");
    };
    match fault {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the server's certificate has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the server's certificate is not valid yet: is the clock of this machine right?".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "the server's certificate is for another name: connect by that name, or use sslmode=verify-ca".to_owned()
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "the server's certificate is not from an authority that is believed: name a file with the authority, \
             sslrootcert=FILE"
                .to_owned()
        }
        fault => format!("the server's certificate cannot be used: {fault}"),
    }
}
