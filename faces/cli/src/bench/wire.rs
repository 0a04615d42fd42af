//! The way of a connection's bytes to the server: as they are, or by TLS.
//!
//! The certificate of the server is not checked, as other load programs do not: nothing secret is sent.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientConnection, Resumption};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme, StreamOwned};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// TLS with a server.
#[derive(Clone, Debug)]
pub(crate) struct TlsTarget {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsTarget {
    /// TLS with the server of this name. `resumes` has further connections take up the session of earlier ones.
    ///
    /// # Errors
    /// The host is neither a name nor an address.
    pub(crate) fn new(host: &str, resumes: bool) -> Result<Self, String> {
        let told = |error: &dyn std::fmt::Display| format!("https://{host}: {error}");
        let name = ServerName::try_from(host.to_owned()).map_err(|error| told(&error))?;
        let provider = Arc::new(default_provider());
        let verifier = AnyCertificate(Arc::clone(&provider));
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| told(&error))?;
        let mut config = builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        if !resumes {
            config.resumption = Resumption::disabled();
        }
        let config = Arc::new(config);
        Ok(Self { config, name })
    }

    /// Begins a session with the server.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(crate) fn session(&self) -> io::Result<ClientConnection> {
        let session = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
        session.map_err(io::Error::other)
    }
}

/// A verifier that takes every certificate, and checks that the server has its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// A connection's bytes on their way. Reading and writing do not wait.
pub(super) enum Wire {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Wire {
    /// The way to a server by this socket, which may still be connecting.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(super) fn new(socket: TcpStream, tls: Option<&TlsTarget>) -> io::Result<Self> {
        Ok(match tls {
            None => Self::Plain(socket),
            Some(tls) => Self::Tls(Box::new(StreamOwned::new(tls.session()?, socket))),
        })
    }

    pub(super) fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(tls) => &tls.sock,
        }
    }

    /// Reports whether what was written waits for the socket.
    pub(super) fn wants_write(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(tls) => tls.conn.wants_write(),
        }
    }

    /// Reports whether no byte of a request can be on its way yet.
    pub(super) fn is_handshaking(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(tls) => tls.conn.is_handshaking(),
        }
    }

    /// Reports whether bytes may be left that the socket does not tell of.
    pub(super) fn keeps_bytes(&self) -> bool {
        matches!(self, Self::Tls(_))
    }
}

impl Read for Wire {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(space),
            Self::Tls(tls) => match tls.read(space) {
                // An end without `close_notify` is one too: answers tell themselves where they end.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                read => read,
            },
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Tls(tls) => tls.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Tls(tls) => tls.flush(),
        }
    }
}
