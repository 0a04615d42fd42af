//! Servers with certificates that are made for a test.

use sampan_client::certificates::Identity;
use sampan_http::{CertificateFiles, TlsSettings};

/// The files of a certificate.
pub fn files(identity: &Identity) -> CertificateFiles {
    CertificateFiles {
        certificate: identity.certificate_file(),
        key: identity.key_file(),
    }
}

/// A server with this certificate alone.
pub fn settings(identity: &Identity) -> TlsSettings {
    TlsSettings {
        certificates: vec![files(identity)],
        acme: None,
        clients: None,
        takes_http2: true,
        strict_transport: None,
    }
}
