//! Certificates that an ACME client keeps in files: they may be missing at first, and prove domains by `tls-alpn-01`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::server::ClientHello;
use rustls::sign::CertifiedKey;

use super::certificates::{CertificateFiles, read_chain, read_signing_key};

/// The protocol of `tls-alpn-01` (RFC 8737 section 4). A connection ends with its handshake.
pub(super) const PROTOCOL: &[u8] = b"acme-tls/1";

/// The files that an ACME client keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcmeFiles {
    /// Files with a certificate, its chain and its private key (PEM) each. Those that are missing are still to come.
    pub certificates: Vec<PathBuf>,
    /// The folder of the certificates that answer `tls-alpn-01`: `NAME.pem`, by the name that the authority asks for.
    pub challenges: PathBuf,
}

impl AcmeFiles {
    /// Returns the certificates as pairs of files.
    pub(super) fn pairs(&self) -> impl Iterator<Item = CertificateFiles> {
        self.certificates.iter().map(|file| CertificateFiles {
            certificate: file.clone(),
            key: file.clone(),
        })
    }
}

/// Reports whether a client wants nothing but to see the answer to `tls-alpn-01`.
pub(super) fn is_challenge(hello: &ClientHello<'_>) -> bool {
    let mut protocols = hello.alpn().into_iter().flatten();
    protocols.next() == Some(PROTOCOL) && protocols.next().is_none()
}

/// Returns the answer to `tls-alpn-01` for the name that a client asks for.
pub(super) fn answer(folder: &Path, hello: &ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
    // Of letters, digits, '-', '_' and '.', and never empty between two dots.
    let name = hello.server_name()?;
    let file = folder.join(format!("{name}.pem"));
    let chain = read_chain(&file).ok()?;
    let key = read_signing_key(&file).ok()?;
    // Not compared: the certificate has an extension that those who check certificates do not know (section 3).
    Some(Arc::new(CertifiedKey::new(chain, key)))
}
