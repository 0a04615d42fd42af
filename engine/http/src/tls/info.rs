//! The facts about a TLS connection that handlers can see.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use rustls::{CipherSuite, CommonState, ProtocolVersion};

use super::x509::{CertificateFields, push_hex};

/// A TLS connection as its handshake has settled it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsInfo {
    /// `TLSv1.3` or `TLSv1.2`.
    pub version: &'static str,
    /// The cipher suite by its name in IANA's registry, such as `TLS_AES_128_GCM_SHA256`.
    pub cipher: &'static str,
    /// The host name that the client asked for (SNI), in small letters; `None` if it named none, as for an IP address.
    pub server_name: Option<Box<str>>,
    /// The client's certificate, if it has shown one; then it was issued by an authority that the server trusts.
    pub client: Option<ClientCertificate>,
    /// True if the two have agreed on HTTP/2.
    pub(crate) is_http2: bool,
    /// See [`TlsSettings::strict_transport`](super::TlsSettings::strict_transport).
    pub(crate) strict_transport: Option<Arc<str>>,
}

/// A certificate by which a client has proved its identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The subject, the most specific part first: `CN=alice,O=Example` (RFC 4514).
    pub subject: String,
    /// The SHA-256 digest of the certificate, as small hexadecimal digits.
    pub fingerprint: String,
}

impl TlsInfo {
    /// Reads the facts after the handshake.
    pub(super) fn new(
        state: &CommonState,
        server_name: Option<Box<str>>,
        strict_transport: Option<Arc<str>>,
    ) -> Self {
        let suite = state.negotiated_cipher_suite();
        let certificates = state.peer_certificates().unwrap_or_default();
        Self {
            version: match state.protocol_version() {
                Some(ProtocolVersion::TLSv1_2) => "TLSv1.2",
                _ => "TLSv1.3",
            },
            cipher: suite.map_or("", |suite| suite_name(suite.suite())),
            server_name,
            client: certificates.first().map(|own| ClientCertificate::new(own)),
            is_http2: state.alpn_protocol() == Some(super::HTTP2),
            strict_transport,
        }
    }
}

impl ClientCertificate {
    fn new(certificate: &[u8]) -> Self {
        let mut fingerprint = String::with_capacity(64);
        push_hex(&mut fingerprint, digest(&SHA256, certificate).as_ref());
        let subject = CertificateFields::read(certificate).map(|fields| fields.subject());
        Self {
            subject: subject.unwrap_or_default(),
            fingerprint,
        }
    }
}

/// The names of TLS 1.3 have no version in IANA's registry; rustls gives them one.
fn suite_name(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        other => other.as_str().unwrap_or_default(),
    }
}
