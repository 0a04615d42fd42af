//! Certificates that are made for a test, and clients that trust them. What cannot be is a panic: the test fails.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair, SanType,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tempfile::TempDir;

use crate::tunnel::tunnel;

/// A certificate with its key, in files of their own.
pub struct Identity {
    folder: TempDir,
    /// The certificate.
    pub certificate: CertificateDer<'static>,
    /// Its key.
    pub key: KeyPair,
}

impl Identity {
    /// One that signs itself, for these names.
    pub fn new(names: &[&str]) -> Identity {
        Identity::changed(names, |_| {})
    }

    /// One that differs from the usual.
    pub fn changed(names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Identity {
        let mut params = params(names);
        change(&mut params);
        let key = KeyPair::generate().expect("made for a test");
        let certificate = params.self_signed(&key).expect("made for a test");
        Identity::write(&certificate, key)
    }

    fn write(certificate: &Certificate, key: KeyPair) -> Identity {
        let identity = Identity {
            folder: tempfile::tempdir().expect("made for a test"),
            certificate: certificate.der().clone(),
            key,
        };
        std::fs::write(identity.certificate_file(), certificate.pem()).expect("made for a test");
        std::fs::write(identity.key_file(), identity.key.serialize_pem()).expect("made for a test");
        identity
    }

    /// The file of the certificate (PEM).
    pub fn certificate_file(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
    }

    /// The file of the key (PEM).
    pub fn key_file(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    /// Puts the files of another in the place of this one's.
    pub fn overwrite_with(&self, other: &Identity) {
        for file in ["certificate.pem", "key.pem"] {
            replace(
                &self.folder.path().join(file),
                &other.folder.path().join(file),
            );
        }
    }

    /// Connects through a tunnel that trusts this certificate.
    pub fn tunnel(&self, server: SocketAddr) -> TcpStream {
        tunnel(
            server,
            Arc::new(trusting(&[&self.certificate])),
            "localhost",
        )
        .expect("made for a test")
    }

    /// Connects through a tunnel that trusts this certificate and speaks HTTP/2.
    pub fn tunnel_for_http2(&self, server: SocketAddr) -> TcpStream {
        let mut config = trusting(&[&self.certificate]);
        config.alpn_protocols = vec![b"h2".to_vec()];
        tunnel(server, Arc::new(config), "localhost").expect("made for a test")
    }
}

/// Puts a copy in the place of a file, as programs that renew certificates do.
fn replace(file: &Path, by: &Path) {
    let fresh = file.with_extension("fresh");
    std::fs::copy(by, &fresh).expect("made for a test");
    std::fs::rename(fresh, file).expect("made for a test");
}

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    CertificateParams::new(names).expect("made for a test")
}

/// An authority, which issues certificates to clients.
pub struct Authority {
    identity: Identity,
    params: CertificateParams,
}

impl Default for Authority {
    fn default() -> Authority {
        Authority::new()
    }
}

impl Authority {
    /// A new one.
    pub fn new() -> Authority {
        let mut params = params(&[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "Authority");
        let key = KeyPair::generate().expect("made for a test");
        let certificate = params.self_signed(&key).expect("made for a test");
        Authority {
            identity: Identity::write(&certificate, key),
            params,
        }
    }

    /// The file of its certificate (PEM).
    pub fn file(&self) -> PathBuf {
        self.identity.certificate_file()
    }

    /// A certificate for a client of this name.
    pub fn issue(&self, name: &str) -> Identity {
        let mut params = params(&[]);
        params.subject_alt_names = vec![SanType::Rfc822Name(
            "a@example.org".try_into().expect("made for a test"),
        )];
        params.distinguished_name = rcgen::DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::OrganizationName, "Example");
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("made for a test");
        let issuer = Issuer::from_params(&self.params, &self.identity.key);
        let certificate = params.signed_by(&key, &issuer).expect("made for a test");
        Identity::write(&certificate, key)
    }
}

/// A client that trusts these certificates.
pub fn trusting(certificates: &[&CertificateDer<'static>]) -> ClientConfig {
    client_of(rustls::DEFAULT_VERSIONS, certificates, None)
}

/// A client of these versions that trusts these certificates, and may have one of its own.
pub fn client_of(
    versions: &[&'static rustls::SupportedProtocolVersion],
    certificates: &[&CertificateDer<'static>],
    own: Option<&Identity>,
) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots.add((*certificate).clone()).expect("made for a test");
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .expect("made for a test")
        .with_root_certificates(roots);
    match own {
        None => builder.with_no_client_auth(),
        Some(own) => {
            let key = PrivateKeyDer::try_from(own.key.serialize_der()).expect("made for a test");
            let chain = vec![own.certificate.clone()];
            builder
                .with_client_auth_cert(chain, key)
                .expect("made for a test")
        }
    }
}

/// A connection over TLS.
pub type Secured = StreamOwned<ClientConnection, TcpStream>;

/// Connects as a client that asks for `name`. The handshake happens with the first byte.
pub fn connect(server: SocketAddr, config: &Arc<ClientConfig>, name: &str) -> Secured {
    let socket = TcpStream::connect(server).expect("made for a test");
    let time = std::time::Duration::from_secs(20);
    socket
        .set_read_timeout(Some(time))
        .expect("made for a test");
    socket.set_nodelay(true).expect("made for a test");
    let name = name.to_owned().try_into().expect("made for a test");
    let tls = ClientConnection::new(Arc::clone(config), name).expect("made for a test");
    StreamOwned::new(tls, socket)
}
